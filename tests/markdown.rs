//! `crawl export --format markdown`: the structure of the pages, the names of the files, and what is removed.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::helpers::{pipe, stored};
use crate::support::{Bench, code, crawl, prose, text, write};

/// An article with a list, code and a table.
fn article(seed: u64) -> String {
    format!(
        "<p>{} <a href='/other'>a link</a></p><h2>How it is done</h2><ul><li>{}<li>{}</ul><pre class=language-sh># a comment\nmake</pre><p>{}</p>",
        prose(seed, 12),
        prose(seed + 50, 2),
        prose(seed + 60, 2),
        prose(seed + 70, 8)
    )
}

fn exported(bench: &Bench, folder: &Path, flags: &[&str]) -> (i32, String) {
    let folder = folder.to_str().unwrap();
    let all = [&["export", "--format", "markdown", "--to", folder], flags].concat();
    let (exit, out, err) = pipe(&all, Some(&bench.data()), "");
    assert_eq!(out, "");
    (exit, err)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

const URLS: [&str; 4] = [
    "http://a.example/",
    "http://a.example/guide/lamps.html",
    "http://a.example/guide/Lamps.html",
    "http://b.example:8080/%2e%2e%2f%2e%2e%2fx?q=1",
];

fn bench() -> Bench {
    let bench = Bench::new();
    let pages: Vec<(&str, String)> =
        URLS.iter().zip(0..).map(|(url, seed)| (*url, article(seed * 7 + 1))).collect();
    stored(&bench, &pages, &[]);
    bench
}

#[test]
fn an_export_has_the_structure_of_the_pages_in_a_tree_by_host_and_path() {
    let bench = bench();
    let notes = bench.path("notes");
    let (exit, err) = exported(&bench, &notes, &[]);
    assert!(exit == 0 && err.contains("4 pages") && !err.contains("without headings"), "{err}");
    let home = read(&notes, "a.example/index.md");
    assert!(home.starts_with("---\nurl: \"http://a.example/\"\n"), "{home}");
    for part in [
        "\n# T\n",
        "\n## How it is done\n",
        "\n- ",
        "```sh\n# a comment\nmake\n```\n",
        "[a link](http://a.example/other)",
    ] {
        assert!(home.contains(part), "{part}: {home}");
    }
    assert!(read(&notes, "b.example_8080/_._.._x@q=1.md").contains("## How it is done"));
    // Names that differ in case only.
    let guide: Vec<String> = std::fs::read_dir(notes.join("a.example/guide"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().to_lowercase())
        .collect();
    assert!(guide.len() == 2 && guide[0] != guide[1], "{guide:?}");
    assert!(read(&notes, "index.md").contains("- [a.example](a.example.md): 3 pages\n"));
    assert!(read(&notes, "a.example.md").contains("(a.example/index.md)"));
    // The same bytes again, and no file is written twice.
    let before = std::fs::metadata(notes.join("a.example/index.md")).unwrap().modified().unwrap();
    assert_eq!(exported(&bench, &notes, &[]).0, 0);
    assert_eq!(read(&notes, "a.example/index.md"), home);
    assert_eq!(
        std::fs::metadata(notes.join("a.example/index.md")).unwrap().modified().unwrap(),
        before
    );
}

#[test]
fn files_of_pages_that_are_gone_are_removed_and_files_of_others_stay() {
    let bench = bench();
    let notes = bench.path("notes");
    assert_eq!(exported(&bench, &notes, &[]).0, 0);
    write(&notes.join("own.md"), "mine");
    write(&notes.join("a.example/own.md"), "mine");
    bench.run(&["forget", "b.example:8080", "--yes"]);
    let (exit, err) = exported(&bench, &notes, &[]);
    // The page, and the index page of its host.
    assert!(exit == 0 && err.contains("3 pages, 2 files of earlier exports removed"), "{err}");
    assert!(!notes.join("b.example_8080").exists() && !notes.join("b.example_8080.md").exists());
    assert!(!read(&notes, "index.md").contains("b.example"));
    assert_eq!(
        (read(&notes, "own.md"), read(&notes, "a.example/own.md")),
        ("mine".into(), "mine".into())
    );
    // A mistake in the name of a host removes nothing.
    let (exit, err) = exported(&bench, &notes, &["--host", "c.example"]);
    assert!(exit == 0 && err.contains("no page passes the filters"), "{err}");
    assert!(notes.join("a.example/index.md").exists());
    // A file in the way that no export wrote.
    let other = bench.path("other");
    std::fs::create_dir_all(other.join("a.example")).unwrap();
    write(&other.join("a.example/index.md"), "mine");
    let (exit, err) = exported(&bench, &other, &[]);
    assert!(exit == 1 && err.contains("no export wrote it"), "{exit}: {err}");
    assert_eq!(read(&other, "a.example/index.md"), "mine");
    // If all pages are gone, so are their files.
    bench.run(&["forget", "a.example", "--yes"]);
    let (exit, err) = exported(&bench, &notes, &[]);
    assert!(exit == 0 && err.contains("0 pages, "), "{err}");
    assert!(!notes.join("a.example/index.md").exists() && !notes.join("a.example.md").exists());
    assert_eq!(read(&notes, "a.example/own.md"), "mine");
}

#[test]
fn pages_without_an_archive_are_flat_and_the_export_says_so() {
    let bench = Bench::new();
    let file = bench.path("in.jsonl");
    let line = json!({"url": "http://a.example/1", "title": "One", "html": format!("<h1>One</h1>{}", article(3))});
    write(&file, format!("{line}\n"));
    let output = crawl()
        .arg("pages")
        .arg(&file)
        .arg("--no-warc")
        .arg("--data")
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let notes = bench.path("notes");
    let (exit, err) = exported(&bench, &notes, &[]);
    assert!(
        exit == 0 && err.contains("1 page without headings") && err.contains("--no-warc"),
        "{err}"
    );
    let page = read(&notes, "a.example/1.md");
    assert!(
        page.contains(
            "note: \"flat text: the archive has no copy of this page that can be read\"\n"
        ),
        "{page}"
    );
    assert!(page.contains("How it is done") && !page.contains("## How it is done"), "{page}");

    // An archive that somebody removed.
    let bench = self::bench();
    for file in std::fs::read_dir(bench.data().join("pages")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let (exit, err) = exported(&bench, &bench.path("notes"), &[]);
    assert!(exit == 0 && err.contains("4 pages without headings"), "{exit} {err}");
}

#[test]
fn a_file_in_place_of_the_folder_is_refused_and_stays() {
    let (bench, file) = (bench(), Bench::new());
    let file = file.path("notes");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    write(&file, "mine");
    let (exit, err) = exported(&bench, &file, &[]);
    assert!(exit == 1 && err.contains("is not a folder"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn several_directories_become_one_folder() {
    let (one, other) = (bench(), Bench::new());
    stored(&other, &[(URLS[0], article(1)), ("http://c.example/new", article(9))], &[]);
    let notes = one.path("both");
    let dirs = [one.data(), other.data()];
    let dirs: Vec<&str> = dirs.iter().flat_map(|dir| ["--data", dir.to_str().unwrap()]).collect();
    let folder = ["export", "--format", "markdown", "--to", notes.to_str().unwrap()];
    let (exit, _, err) = pipe(&[&folder[..], &dirs].concat(), None, "");
    // The first page is in both.
    assert!(exit == 0 && err.contains(&format!("{} pages", URLS.len() + 1)), "{err}");
    assert!(read(&notes, "c.example/new.md").contains("## How it is done"));
    assert!(read(&notes, "index.md").contains("b.example"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_one_error_and_leaves_no_half_file() {
    let bench = Bench::new();
    let pages: Vec<(String, String)> = (0..5)
        .map(|n| {
            (format!("http://a.example/{n}"), format!("<p>{}</p>", prose(n, 10 + 600 * (n / 4))))
        })
        .collect();
    let pages: Vec<(&str, String)> =
        pages.iter().map(|(url, page)| (url.as_str(), page.clone())).collect();
    stored(&bench, &pages, &[]);
    let notes = bench.path("notes");
    // A file size limit simulates the full disk.
    let command = format!(
        "trap '' XFSZ; ulimit -f 16; exec {} export --format markdown --to {} --data {}",
        env!("CARGO_BIN_EXE_crawl"),
        notes.display(),
        bench.data().display()
    );
    let output = Command::new("bash").arg("-c").arg(command).output().unwrap();
    let err = text(&output.stderr);
    assert!(code(&output) == 6 && err.matches("cannot write").count() == 1, "{err}");
    for entry in std::fs::read_dir(notes.join("a.example")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.extension().is_some_and(|end| end == "md"), "{path:?}");
        assert!(std::fs::read_to_string(&path).unwrap().ends_with(".\n"), "{path:?} is whole");
    }
    // With room the next export goes on in the same folder.
    let (exit, err) = exported(&bench, &notes, &[]);
    assert!(exit == 0 && err.contains("5 pages"), "{err}");
}

#[test]
fn extract_prints_a_page_as_markdown() {
    let bench = Bench::new();
    let file = bench.path("page.html");
    write(
        &file,
        format!("<html lang=en><title>Lamps</title><main><h1>Lamps</h1>{}</main>", article(1)),
    );
    let file = file.to_str().unwrap();
    let (exit, out, err) = pipe(&["extract", "--markdown", file], None, "");
    assert_eq!(exit, 0, "{err}");
    for part in ["# Lamps\n", "\n## How it is done\n", "```sh\n# a comment\n", "[a link](/other)"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(pipe(&["extract", "--markdown", "--text", file], None, "").0, 1);
}

#[test]
fn code_tables_and_headings_that_a_site_repeats_stay() {
    let bench = Bench::new();
    let notice =
        "Sign up for the bulletin of our harbour and you will not miss a single boat again.";
    let page = |seed: u64| {
        format!(
            "<h1>Boat {seed}</h1><p>{}</p><h2>How to start it</h2><pre>make all of the harbour boats run at the same time\n\
             make install everything in the harbour</pre><h2>What it costs in every season of the year</h2>\
             <table><tr><th>The season<th>Price of a day<tr><td>Summer months of the year<td>Ten pounds of silver</table>\
             <p>{}</p><h2>Our bulletin, for friends of all our boats in the harbour</h2><p>{notice}</p>",
            prose(seed, 12),
            prose(seed + 40, 8)
        )
    };
    let lines = (1..4).map(|seed| {
        json!({"url": format!("http://a.example/{seed}"), "html": page(seed * 1_000)}).to_string()
    });
    let pages = bench.path("pages.jsonl");
    write(&pages, lines.collect::<Vec<_>>().join("\n"));
    bench.run(&["pages", pages.to_str().unwrap()]);
    let notes = bench.path("notes");
    exported(&bench, &notes, &[]);
    let page = read(&notes, "a.example/1.md");
    for part in [
        "## How to start it\n\n```",
        "\nmake install everything in the harbour\n```",
        "## What it costs in every season of the year\n\n|",
        "Ten pounds of silver",
    ] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    assert!(!page.contains("Sign up") && !page.contains("Our bulletin"), "{page}");
}

#[cfg(unix)]
#[test]
fn two_exports_do_not_write_into_one_folder_at_once() {
    let bench = bench();
    let notes = bench.path("notes");
    std::fs::create_dir_all(&notes).unwrap();
    let other = std::fs::File::open(&notes).unwrap();
    other.try_lock().unwrap();
    let (exit, err) = exported(&bench, &notes, &[]);
    assert!(exit == 6 && err.contains("another export writes to this folder"), "{exit}: {err}");
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 0);
    drop(other);
    assert_eq!(exported(&bench, &notes, &[]).0, 0);
}

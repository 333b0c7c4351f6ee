//! How commands treat their arguments: files, folders, flags, output paths.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Bench, code, crawl, printed, prose, text, write};

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let bench = Bench::new();
    let folder = bench.path("tree");
    std::fs::create_dir(&folder).unwrap();
    write(&folder.join("a.html"), format!("<title>A</title><p>{}</p>", prose(1, 9)));
    bench.run(&["pages", folder.to_str().unwrap()]);
    let numbers = bench.path("numbers");
    write(&numbers, "1\n2\n");
    // A file where a folder is needed.
    let place = numbers.join("out").display().to_string();
    let data = bench.data().display().to_string();
    for args in [
        &["export", "--data", &data, "-o", &place][..],
        &["export", "--data", &data, "--format", "csv", "-o", &place],
        &["export", "--data", &data, "--format", "markdown", "-o", &place],
        &["duplicates", "export", "--data", &data, "-o", &place],
        &["find-all", "-i", numbers.to_str().unwrap(), "-o", &place],
    ] {
        let output = crawl().args(args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(code(&output), 6, "{args:?}: {said}");
        assert!(said.contains(&format!("cannot write {place}")), "{args:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn calibrate_follows_no_symlink_cycle() {
    let bench = Bench::new();
    let folder = bench.path("pages");
    std::fs::create_dir(&folder).unwrap();
    for seed in 0..3 {
        write(&folder.join(format!("{seed}.html")), format!("<p>{}</p>", prose(seed, 12)));
    }
    for link in ["l1", "l2"] {
        std::os::unix::fs::symlink(".", folder.join(link)).unwrap();
    }
    let output = crawl().arg("calibrate").arg(&folder).arg("--json").output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((row["pages"].as_u64(), row["unreadable"].as_u64()), (Some(3), Some(0)), "{row}");
}

/// A data directory of two pages, made by `crawl pages` with the given flags.
fn two_pages(bench: &Bench, flags: &[&str]) {
    let folder = bench.path("tree");
    std::fs::create_dir_all(&folder).unwrap();
    write(&folder.join("a.html"), format!("<title>A</title><p>{}</p>", prose(1, 9)));
    write(&folder.join("b.html"), format!("<title>A</title><p>{} More.</p>", prose(1, 9)));
    bench.run(&[&["pages", folder.to_str().unwrap()][..], flags].concat());
}

fn discarded(bench: &Bench) -> String {
    bench.log("discarded.jsonl")[0]["id"].to_string()
}

#[test]
fn files_are_known_by_their_bytes_and_what_a_folder_holds_beside_pages_is_counted() {
    let bench = Bench::new();
    let folder = bench.path("tree");
    std::fs::create_dir(&folder).unwrap();
    let page = |seed: u64| format!("<!doctype html><title>T</title><p>{}</p>", prose(seed, 9));
    for (number, name) in ["index.php", "no-ending", "a.html"].iter().enumerate() {
        write(&folder.join(name), page(number as u64));
    }
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";
    write(&folder.join("i.png"), png);
    write(&folder.join("s.css"), "p { color: red }");
    write(&folder.join("d.pdf"), "%PDF-1.4\nobj");
    let out = bench.run(&["pages", folder.to_str().unwrap()]);
    assert!(out.starts_with("3 pages") && out.contains("not read                 3"), "{out}");
    // A named file must be a page, otherwise it is an error.
    for (name, exit, said) in
        [("i.png", 7, "neither HTML, text"), ("d.pdf", 7, "neither HTML, text"), ("s.css", 0, "")]
    {
        let data = bench.path(&format!("{name}.data"));
        let path = folder.join(name);
        let run = crawl().arg("pages").arg(&path).arg("--data").arg(&data).output().unwrap();
        assert_eq!(code(&run), exit, "{name}: {}", text(&run.stderr));
        assert!(text(&run.stderr).contains(said), "{name}: {}", text(&run.stderr));
    }
}

#[test]
fn lines_on_stdin_may_be_gzipped() {
    let bench = Bench::new();
    let line =
        serde_json::json!({"url": "http://a.example/x", "title": "Given", "text": prose(5, 9)});
    let path = bench.path("x.jsonl.gz");
    let mut gz = flate2::write::GzEncoder::new(
        std::fs::File::create(&path).unwrap(),
        flate2::Compression::fast(),
    );
    writeln!(gz, "{line}").unwrap();
    gz.finish().unwrap();
    let run = crawl()
        .args(["pages", "-", "--data"])
        .arg(bench.data())
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!(code(&run), 0, "{}", text(&run.stderr));
    assert!(text(&run.stdout).starts_with("1 pages"), "{}", text(&run.stdout));
}

#[test]
fn bad_input_lines_are_reported_by_their_line_number_in_the_file() {
    let bench = Bench::new();
    let lines = bench.path("x.jsonl");
    write(&lines, "[1,2]\n{\"id\": true}\n");
    let run = crawl().arg("pages").arg(&lines).arg("--data").arg(bench.data()).output().unwrap();
    let said = text(&run.stderr);
    assert_eq!(code(&run), 7, "{said}");
    assert!(said.contains("line 1: not a JSON object"), "{said}");
    assert!(
        said.contains("line 2: invalid type: boolean `true`") && !said.contains("at line"),
        "{said}"
    );
}

#[test]
fn the_status_of_several_directories_has_the_types_of_one() {
    let bench = Bench::new();
    two_pages(&bench, &[]);
    let seen = bench.path("seen");
    let mut dedup = crawl()
        .args(["dedup", "--data"])
        .arg(&seen)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = dedup.stdin.take().unwrap();
    for id in ["a", "b", "c"] {
        let text = if id == "c" { prose(2, 9) } else { prose(1, 9) };
        writeln!(input, "{}", serde_json::json!({"id": id, "text": text})).unwrap();
    }
    drop(input);
    assert!(dedup.wait().unwrap().success());
    let seen = seen.display().to_string();
    let said = printed(&["status", "--data", &seen]);
    assert!(
        said.contains("documents          3") && said.contains("duplicates         1"),
        "{said}"
    );
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&printed(&[&["status", "--json"][..], args].concat())).unwrap()
    };
    let row = json(&["--data", &seen]);
    assert_eq!((&row["documents"], &row["duplicates"]), (&3.into(), &1.into()), "{row}");
    let data = bench.data().display().to_string();
    let (one, two) = (json(&["--data", &data]), json(&["--data", &data, "--data", &seen]));
    for row in [&one, &two] {
        assert!(row["running"].is_boolean() && row["data"].is_string(), "{row}");
    }
    assert_eq!(
        (one["dirs"].as_array().unwrap().len(), two["dirs"].as_array().unwrap().len()),
        (1, 2)
    );
    assert_eq!(two["dirs"][1], serde_json::json!({"data": seen, "running": false}));
    assert!(printed(&["status", "--data", &data, "--data", &seen]).contains("Together"));
}

#[test]
fn a_command_in_a_hint_can_be_copied() {
    let bench = Bench::new();
    two_pages(&bench, &[]);
    let id = discarded(&bench);
    let odd = bench.path("my data\u{1b}");
    std::fs::rename(bench.data(), &odd).unwrap();
    for args in [&["duplicates", "list"][..], &["duplicates", "show", &id]] {
        let run = crawl().args(args).arg("--data").arg(&odd).output().unwrap();
        let said = text(&run.stdout);
        assert_eq!(code(&run), 0, "{}", text(&run.stderr));
        assert!(said.contains("--data $'") && said.contains("my data\\x1b'"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said}");
    }
}

#[test]
fn a_search_without_an_index_reports_how_to_build_one() {
    let bench = Bench::new();
    two_pages(&bench, &["--no-index"]);
    for args in [&["search", "x"][..], &["export"]] {
        let run = crawl().args(args).arg("--data").arg(bench.data()).output().unwrap();
        let said = text(&run.stderr);
        assert_eq!(code(&run), 1, "{said}");
        assert!(said.contains("--no-index") && said.contains("`crawl pages "), "{said}");
    }
    // The advice in that error works.
    let data = bench.path("new").display().to_string();
    let pages = bench.data().join("pages").display().to_string();
    printed(&["pages", &pages, "--data", &data]);
    assert!(printed(&["search", "when", "--data", &data]).contains("1 of 1 found"));
}

#[test]
fn a_command_that_changed_nothing_fails_and_prints_no_success() {
    let bench = Bench::new();
    two_pages(&bench, &[]);
    let id = discarded(&bench);
    bench.run(&["duplicates", "restore", &id]);
    for args in [["duplicates", "restore", &id], ["duplicates", "keep", &id]] {
        let run = crawl().args(args).arg("--data").arg(bench.data()).output().unwrap();
        assert_eq!((code(&run), text(&run.stdout)), (1, String::new()), "{}", text(&run.stderr));
        assert!(text(&run.stderr).contains("not "), "{}", text(&run.stderr));
    }
    let ftp = crawl().args(["forget", "ftp://x/", "--data"]).arg(bench.data()).output().unwrap();
    assert_eq!(code(&ftp), 1, "{}", text(&ftp.stdout));
}

#[test]
fn small_command_line_mistakes_are_reported() {
    let bench = Bench::new();
    two_pages(&bench, &[]);
    let refused = |args: &[&str]| {
        let run = crawl().args(args).arg("--data").arg(bench.data()).output().unwrap();
        assert_eq!(code(&run), 1, "{args:?}: {}", text(&run.stdout));
        text(&run.stderr)
    };
    let said = refused(&["duplicates", "list", "--kind", "exat"]);
    assert!(said.contains("did you mean exact?"), "{said}");
    for command in [&["status"][..], &["search", "x"], &["duplicates", "list"]] {
        let said = refused(&[command, &["--config", "no-such-file"]].concat());
        assert!(said.contains("no-such-file"), "{said}");
    }
    let said = refused(&["--seeds", "s.txt", "--delay", "-1s"]);
    assert!(said.contains("is not a duration"), "{said}");
    let plan = crawl().args(["plan", "--pages", "-5"]).output().unwrap();
    assert_eq!(code(&plan), 1);
    assert!(text(&plan.stderr).contains("1e9 or 2^34"), "{}", text(&plan.stderr));
    let help = printed(&["duplicates", "--help"]);
    assert!(help.contains("Examples:\n  crawl duplicates list"), "{help}");
    let numbers = bench.path("numbers");
    write(&numbers, "\u{feff}10\n10\n");
    assert_eq!(printed(&["find-all", "-i", numbers.to_str().unwrap()]), "[10, 10]\n");
}

/// `crawl URL`, `--seeds URL`, flags of an earlier run, and the short help.
#[test]
fn a_url_is_a_seed_and_flags_of_earlier_runs_are_named_until_they_are_forgotten() {
    let server = crate::helpers::site();
    let bench = Bench::new();
    let run = |words: &[&str]| {
        let mut command = crawl();
        command.args(words).arg("--data").arg(bench.data());
        let output = command.output().unwrap();
        (code(&output), text(&output.stdout) + &text(&output.stderr))
    };
    let (exit, said) = run(&[&server.url("/"), "--max-pages", "1", "--delay", "0s"]);
    assert_eq!(exit, 3, "{said}");
    assert!(!said.contains("earlier runs"), "{said}");
    let (exit, said) = run(&["--delay", "0s"]);
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("--max-pages 1 (--forget-flags drops them)"), "{said}");
    assert!(!said.contains("--delay 0s ("), "given now: {said}");
    let (exit, said) = run(&["--forget-flags", "--delay", "0s"]);
    assert_eq!((exit, said.contains("earlier runs")), (0, false), "{said}");
    let (exit, said) = run(&["--seeds", &server.url("/")]);
    assert_eq!(exit, 0, "{said}");
    let (exit, said) = run(&["ftp://a.example/"]);
    assert_eq!(exit, 1, "{said}");

    let bare = crawl().output().unwrap();
    assert_eq!((code(&bare), text(&bare.stdout)), (0, printed(&["-h"])));
}

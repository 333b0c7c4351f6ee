//! Pages that another data directory has (`--against`), and references made from files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::helpers::{article, copy, id_of, pipe};
use crate::support::*;

/// Every file below a folder: its bytes and the time of its last change.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let time = std::fs::metadata(&path).unwrap().modified().unwrap();
            all.insert(path.clone(), (std::fs::read(&path).unwrap(), time));
        }
    }
    all
}

fn page(url: &str, text: &str) -> String {
    let html = format!("<title>A page</title><main><h1>A page</h1><p>{text}</p></main>");
    json!({"url": url, "html": html}).to_string() + "\n"
}

/// Passes pages through `crawl pages` into `data`. Returns the exit code and the error output.
fn pages(data: &Path, flags: &[&str], lines: &[String]) -> (i32, String) {
    let (exit, _, err) =
        pipe(&[&["pages", "-", "-q"], flags].concat(), Some(data), &lines.concat());
    (exit, err)
}

/// A bench with the data directory `reference` of another site: two articles.
fn with_reference() -> (Bench, PathBuf) {
    let bench = Bench::new();
    let reference = bench.path("reference");
    let lines = [1, 2].map(|n| page(&format!("http://old.example/{n}"), &prose(n, 14)));
    assert_eq!(pages(&reference, &[], &lines), (0, String::new()));
    (bench, reference)
}

/// An equal page, a nearly equal one, a new one, and a copy of the new one.
fn offered() -> [String; 4] {
    [
        page("http://new.example/equal", &prose(1, 14)),
        page("http://new.example/near", &format!("{} Printed on a Monday.", prose(2, 14))),
        page("http://new.example/unique", &prose(3, 14)),
        page("http://new.example/unique-copy", &prose(3, 14)),
    ]
}

fn exported(bench: &Bench) -> BTreeMap<String, Value> {
    let rows = json_lines(bench.run(&["export"]).as_bytes());
    rows.into_iter().map(|row| (row["url"].as_str().unwrap().to_owned(), row)).collect()
}

#[test]
fn a_page_that_another_crawl_has_is_discarded_and_its_line_names_store_and_document() {
    let (bench, reference) = with_reference();
    let store = reference.to_str().unwrap();
    let before = files(&reference);
    assert_eq!(pages(&bench.data(), &["--against", store], &offered()).0, 0);
    let log = bench.log("discarded.jsonl");
    let line = |path: &str| {
        log.iter().find(|line| line["url"] == format!("http://new.example{path}")).unwrap()
    };
    for (path, of, kind) in [("/equal", 1, "exact"), ("/near", 2, "near")] {
        let line = line(path);
        assert_eq!(line["against"], store);
        assert_eq!(line["of"], json!({"id": null, "url": format!("http://old.example/{of}")}));
        assert_eq!((&line["kind"], &line["evidence"]), (&json!(kind), &json!("text")), "{line}");
    }
    // A page of this directory is named before a page of a reference.
    let own = line("/unique-copy");
    assert_eq!(own["against"], Value::Null);
    assert_eq!(own["of"]["url"], "http://new.example/unique");
    assert_eq!(exported(&bench).keys().collect::<Vec<_>>(), ["http://new.example/unique"]);
    bench.checked();
    // The second time all are known, and the flag of the first run holds.
    let later = [page("http://new.example/later", &prose(1, 14))];
    assert_eq!(pages(&bench.data(), &[], &[&offered()[..], &later].concat()).0, 0);
    assert_eq!(bench.log("discarded.jsonl").len(), 4);
    assert_eq!(bench.log("discarded.jsonl")[3]["against"], store);
    assert!(files(&reference) == before, "nothing was written into the reference");
}

#[test]
fn the_store_of_a_data_directory_is_the_same_reference_and_without_texts_sketches_decide() {
    let (bench, reference) = with_reference();
    let store = reference.join("dedup");
    let alone = bench.path("alone");
    copy(&store, &alone.join("dedup"));
    for (name, against, evidence) in [("a", &store, "text"), ("b", &alone, "sketch")] {
        let data = bench.path(name);
        let against = against.to_str().unwrap();
        assert_eq!(pages(&data, &["--against", against], &offered()).0, 0);
        let log = json_lines(&std::fs::read(data.join("discarded.jsonl")).unwrap());
        let near = log.iter().find(|line| line["url"] == "http://new.example/near").unwrap();
        assert_eq!((&near["against"], &near["evidence"]), (&json!(against), &json!(evidence)));
    }
}

#[test]
fn a_marked_page_stays_and_names_all_stores_in_the_order_of_the_flags() {
    let (bench, reference) = with_reference();
    let other = bench.path("other");
    assert_eq!(pages(&other, &[], &[page("http://other.example/", &prose(1, 14))]).0, 0);
    let stores = [other.to_str().unwrap(), reference.to_str().unwrap()];
    let flags = ["--against-mark", "--against", stores[0], "--against", stores[1]];
    assert_eq!(pages(&bench.data(), &flags, &offered()).0, 0);
    let kept = exported(&bench);
    assert_eq!(kept["http://new.example/equal"]["against"], json!(stores));
    assert_eq!(kept["http://new.example/near"]["against"], json!([stores[1]]));
    assert_eq!(kept["http://new.example/unique"].get("against"), None);
    let log = bench.log("discarded.jsonl");
    assert_eq!(log.len(), 1, "the copy of a page of this directory");
    let hits = json_lines(bench.run(&["search", "river", "--json"]).as_bytes());
    for hit in hits {
        let url = hit["url"].as_str().unwrap();
        assert_eq!(hit.get("against"), kept[url].get("against"));
    }
    bench.checked();
}

#[test]
fn dedup_names_the_store_and_the_document_of_a_verdict() {
    let bench = Bench::new();
    let reference = bench.path("reference");
    let line = |id: &str, seed: u64| json!({"id": id, "text": prose(seed, 10)}).to_string() + "\n";
    let (exit, ..) = pipe(&["dedup"], Some(&reference), &(line("ref-1", 1) + &line("ref-2", 2)));
    assert_eq!(exit, 0);
    let store = reference.to_str().unwrap();
    let input = line("a", 1) + &line("b", 3) + &line("c", 3);
    let (exit, out, err) =
        pipe(&["dedup", "--against", store], Some(&bench.path("discards")), &input);
    assert_eq!(exit, 0, "{err}");
    let rows = json_lines(out.as_bytes());
    assert_eq!((&rows[0]["verdict"], &rows[0]["against"]), (&json!("duplicate"), &json!(store)));
    assert_eq!(rows[0]["of"], json!({"id": "ref-1"}));
    assert_eq!(rows[1]["verdict"], "new");
    assert_eq!((&rows[2]["of"]["id"], rows[2].get("against")), (&json!("b"), None));
    let flags = ["dedup", "--against", store, "--against-mark"];
    let (exit, out, err) = pipe(&flags, Some(&bench.data()), &input);
    assert_eq!(exit, 0, "{err}");
    let rows = json_lines(out.as_bytes());
    assert_eq!((&rows[0]["verdict"], &rows[0]["against"]), (&json!("new"), &json!([store])));
    assert_eq!((&rows[1]["verdict"], rows[1].get("against")), (&json!("new"), None));
    bench.checked();
}

#[test]
fn a_page_discarded_by_a_reference_can_be_shown_restored_discarded_again_and_kept() {
    let (bench, reference) = with_reference();
    let store = reference.to_str().unwrap();
    assert_eq!(pages(&bench.data(), &["--against", store], &offered()).0, 0);
    let rows = bench.rows(&[]);
    let (equal, near) = (id_of(&rows, "/equal"), id_of(&rows, "/near"));
    let shown = bench.object(&["duplicates", "show", &near, "--json"]);
    assert!(shown["of_text"].as_str().unwrap().contains(prose(2, 1).trim()), "{shown}");
    assert!(shown["text"].as_str().unwrap().contains("Printed on a Monday"));
    assert!(shown["reason"].as_str().unwrap().contains(store));
    for text in [
        bench.run(&["duplicates", "show", &equal]),
        bench.run(&["duplicates", "list"]),
        bench.run(&["duplicates", "list", "--csv"]),
        bench.run(&["explain", "http://new.example/equal"]),
    ] {
        assert!(text.contains(store) && text.contains("http://old.example/1"), "{text}");
    }
    let clusters = json_lines(bench.run(&["duplicates", "clusters", "--json"]).as_bytes());
    assert_eq!(clusters.len(), 3, "{clusters:?}");
    let report = bench.path("report.html");
    bench.run(&["duplicates", "report", report.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&report).unwrap().contains(store));
    // Pages that are discarded because of a reference stay so under other thresholds.
    bench.run(&["duplicates", "recheck", "--distance", "1", "--similarity", "0.9", "--apply"]);
    assert_eq!(bench.rows(&[]).iter().filter(|row| row["restored"].is_null()).count(), 3);
    bench.run(&["duplicates", "restore", &equal]);
    let kept = exported(&bench);
    assert_eq!(kept["http://new.example/equal"]["against"], json!([store]));
    bench.checked();
    bench.run(&["duplicates", "restore", "--undo", &equal]);
    assert!(!exported(&bench).contains_key("http://new.example/equal"));
    bench.checked();
    bench.run(&["duplicates", "keep", &near]);
    bench.run(&["duplicates", "restore", &equal]);
    let restored = ["http://new.example/equal", "http://new.example/near"];
    assert!(restored.iter().all(|url| exported(&bench).contains_key(*url)));
    bench.checked();
    // Copies of a restored page are copies of a page of this directory.
    let copies = [page("http://new.example/again", &prose(1, 14))];
    assert_eq!(pages(&bench.data(), &[], &copies).0, 0);
    let last = bench.log("discarded.jsonl").pop().unwrap();
    assert_eq!(last["of"]["url"], "http://new.example/equal");
    assert_eq!(last.get("against"), None);
    // Without the reference everything but its texts is there.
    std::fs::rename(&reference, bench.path("elsewhere")).unwrap();
    let shown = bench.object(&["duplicates", "show", &near, "--json"]);
    assert_eq!((&shown["of_text"], &shown["against"]), (&Value::Null, &json!(store)));
}

#[test]
fn a_resumed_crawl_knows_its_references_and_names_one_that_is_gone() {
    let bench = Bench::new();
    let reference = bench.path("reference");
    let server = Server::answering(
        std::sync::Arc::new(|path, _| match path.strip_prefix("/p") {
            Some(number) => number.parse().map_or_else(|_| missing(), article),
            None if path == "/" => {
                let link = |n: u64| format!("<a href=/p{n}>{n}</a> ");
                html((1..=6).map(link).collect::<String>() + &prose(99, 10))
            }
            None => missing(),
        }),
        Duration::ZERO,
    );
    let first = Bench::new();
    let seeds = [server.url("/p2"), server.url("/p5")];
    assert_eq!(code(&first.crawl(&seeds, &["--no-sitemaps"])), 0);
    copy(&first.data(), &reference);
    let store = reference.to_str().unwrap().to_owned();
    let flags = ["--against", &store, "--max-pages", "2", "--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 3);
    std::fs::rename(&reference, bench.path("away")).unwrap();
    let gone = bench.crawl(&[server.url("/")], &["--max-pages", "none"]);
    assert_eq!(code(&gone), 1);
    assert!(text(&gone.stderr).contains(&store), "{}", text(&gone.stderr));
    std::fs::rename(bench.path("away"), &reference).unwrap();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "none"])), 0);
    let mut discarded: Vec<String> = bench
        .log("discarded.jsonl")
        .iter()
        .filter(|line| line["against"] == store)
        .map(|line| line["url"].as_str().unwrap().to_owned())
        .collect();
    discarded.sort();
    assert_eq!(discarded, seeds);
    bench.checked();
    // A crawl that cannot start deletes nothing, and an empty value empties the list.
    std::fs::remove_dir_all(&reference).unwrap();
    let fresh = bench.crawl(&[server.url("/")], &["--fresh", "--yes", "--against", &store]);
    assert_eq!(code(&fresh), 1);
    assert_eq!(bench.log("discarded.jsonl").len(), 2);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--against="])), 0);
}

#[test]
fn a_reference_that_a_crawl_is_writing_is_read_as_of_its_last_commit() {
    let (writing, bench) = (Bench::new(), Bench::new());
    let server = Server::answering(
        std::sync::Arc::new(|path, _| {
            let number: u64 = path.trim_start_matches("/p").parse().unwrap_or(0);
            let Page { mut body, .. } = article(number + 1);
            body.extend(format!("<a href=/p{}>next</a>", number + 1).bytes());
            html(String::from_utf8(body).unwrap())
        }),
        Duration::from_millis(40),
    );
    let mut crawl = writing.spawn(&[server.url("/p0")], &["--no-sitemaps"]);
    writing.wait_until_committed(5);
    let store = writing.data();
    let html = text(&article(2).body);
    let copy = json!({"url": "http://new.example/copy", "html": html}).to_string() + "\n";
    let lines = [copy, offered()[2].clone()];
    let done = pages(&bench.data(), &["--against", store.to_str().unwrap()], &lines);
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    assert_eq!(done, (0, String::new()));
    let log = bench.log("discarded.jsonl");
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["of"]["url"], server.url("/p1"));
    writing.checked();
}

#[test]
fn a_reference_of_another_recipe_or_that_is_missing_or_damaged_is_refused() {
    let (bench, reference) = with_reference();
    let refused = |store: &Path, flags: &[&str]| {
        let store = store.to_str().unwrap();
        let data = bench.path("refused");
        let result = pages(&data, &[&["--against", store], flags].concat(), &offered());
        let kept = std::fs::read(data.join("discarded.jsonl")).unwrap_or_default();
        assert!(kept.is_empty() && !data.join("index").exists(), "nothing was decided");
        result
    };
    let (exit, said) = refused(&bench.path("nothing"), &[]);
    assert_eq!(exit, 1);
    assert!(said.contains("nothing: no store there"), "{said}");
    let file = bench.path("a file");
    write(&file, "no store");
    let (exit, said) = refused(&file, &[]);
    assert_eq!((exit, said.contains("a file: no store there")), (1, true), "{said}");
    let (exit, said) = refused(&reference, &["--recipe", "token-window-4"]);
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("token-window-4-6") && said.contains("content-words-tf-6"), "{said}");
    assert!(said.contains("--recipe"), "{said}");
    let (exit, said) = pages(&reference, &["--against", reference.to_str().unwrap()], &offered());
    assert_eq!(exit, 1);
    assert!(said.contains("the data directory of the job itself"), "{said}");
    // Damage in each file of the store, one after another.
    let names: Vec<PathBuf> = files(&reference.join("dedup")).into_keys().collect();
    let mut damaged = 0;
    for name in names {
        let file = name.file_name().unwrap().to_str().unwrap().to_owned();
        if !["MANIFEST", "seg-", "journal-"].iter().any(|start| file.starts_with(start)) {
            continue;
        }
        let good = std::fs::read(&name).unwrap();
        write(&name, &good[..good.len() / 2]);
        let (exit, said) = refused(&reference, &[]);
        if good.len() > 64 {
            assert_eq!(exit, 2, "{file}: {said}");
            assert!(said.contains(&file) && !said.contains("use another --data"), "{said}");
            damaged += 1;
        }
        write(&name, good);
    }
    assert!(damaged > 0);
    // Damage inside a segment is found by a look-up.
    let built = bench.path("built");
    let line = json!({"id": "a", "text": prose(1, 14)}).to_string();
    assert_eq!(pipe(&["reference", "build", "-"], Some(&built), &line).0, 0);
    let mut segments = files(&built.join("dedup")).into_keys();
    let segment = segments.find(|path| path.to_str().unwrap().contains("seg-")).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[200] ^= 1;
    write(&segment, bytes);
    let data = bench.path("met");
    let (exit, said) = pages(&data, &["--against", built.to_str().unwrap()], &offered());
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains(segment.file_name().unwrap().to_str().unwrap()), "{said}");
    assert_eq!(refused(&reference, &["--against", "also-nothing"]).0, 1);
}

#[cfg(unix)]
#[test]
fn a_reference_without_write_permission_is_enough() {
    use std::os::unix::fs::PermissionsExt;
    let (bench, reference) = with_reference();
    let mode = |write: bool| {
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for file in files(&reference).into_keys() {
            set(&file, if write { 0o644 } else { 0o444 });
        }
        for folder in ["dedup", "texts", "index", "pages", ""] {
            set(&reference.join(folder), if write { 0o755 } else { 0o555 });
        }
    };
    mode(false);
    let before = files(&reference);
    let done = pages(&bench.data(), &["--against", reference.to_str().unwrap()], &offered());
    let after = files(&reference);
    mode(true);
    assert_eq!(done.0, 0, "{}", done.1);
    assert!(after == before);
    assert_eq!(bench.log("discarded.jsonl").len(), 3);
}

#[test]
fn a_reference_is_built_from_texts_pages_and_json_lines_and_again_adds_nothing() {
    let bench = Bench::new();
    let item = |id: Option<u64>, seed: u64| {
        let mut item = json!({"text": prose(seed, 10)});
        if let Some(id) = id {
            item["id"] = id.into();
        }
        item.to_string() + "\n"
    };
    // Two files that count from 1, one without ids, and a line that is no document.
    write(&bench.path("one.jsonl"), item(Some(1), 1) + &item(Some(2), 2));
    write(&bench.path("two.jsonl"), item(Some(1), 3) + "nonsense\n" + &item(Some(2), 2));
    write(&bench.path("three.json"), item(None, 4));
    write(&bench.path("four.txt"), prose(5, 10));
    write(
        &bench.path("five.html"),
        format!("<title>A page</title><h1>A page</h1><p>{}</p>", prose(6, 10)),
    );
    write(&bench.path("six.parquet"), b"PAR1\0\0");
    let names = ["one.jsonl", "two.jsonl", "three.json", "four.txt", "five.html", "six.parquet"];
    let paths = names.map(|name| bench.path(name));
    let mut args = vec!["reference", "build", "--json"];
    args.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let reference = bench.path("reference");
    let build = || {
        let (exit, out, err) = pipe(&args, Some(&reference), "");
        (exit, json_lines(out.as_bytes()).remove(0), err)
    };
    let (exit, counts, err) = build();
    assert_eq!(exit, 7);
    assert_eq!(counts, json!({"added": 6, "known": 1, "bad": 2, "complete": true}));
    assert!(err.contains("two.jsonl:2") && err.contains("Parquet is not read"), "{err}");
    assert_eq!(build().1, json!({"added": 0, "known": 7, "bad": 2, "complete": true}));
    let store = reference.to_str().unwrap();
    let lines: Vec<String> =
        (1..=7).map(|n| page(&format!("http://new.example/{n}"), &prose(n, 10))).collect();
    assert_eq!(pages(&bench.data(), &["--against", store], &lines).0, 0);
    let log = bench.log("discarded.jsonl");
    let of: Vec<String> = log
        .iter()
        .map(|line| line["of"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(of, ["1", "2", "two.jsonl:1", "three.json:1", "four.txt", "five.html"]);
    bench.checked();
    let refused = pipe(&["reference", "build", "-"], Some(&bench.data()), &item(None, 1));
    assert_eq!(refused.0, 1, "a crawl is no place for other documents");
    assert!(refused.2.contains("it contains a crawl"), "{}", refused.2);
}

#[test]
fn a_reference_is_no_evidence_about_the_urls_of_a_site() {
    // Every page of this site is in the reference. The crawl must not skip its pattern, because further pages may be new.
    let (bench, reference) = (Bench::new(), Bench::new());
    let lines: Vec<String> =
        (0..30).map(|n| page(&format!("http://old.example/{n}"), &prose(n + 1, 12))).collect();
    assert_eq!(pages(&reference.data(), &[], &lines).0, 0);
    let server = Server::answering(
        std::sync::Arc::new(|path, _| match path.strip_prefix("/a/p") {
            Some(number) => number.parse::<u64>().map_or_else(
                |_| missing(),
                |n| {
                    html(format!(
                        "<title>A page</title><main><h1>A page</h1><p>{}</p></main>",
                        prose(n + 1, 12)
                    ))
                },
            ),
            None if path == "/" => {
                html((0..40).map(|n| format!("<a href=/a/p{n}>{n}</a> ")).collect::<String>())
            }
            None => missing(),
        }),
        Duration::ZERO,
    );
    let store = reference.data();
    let flags = ["--against", store.to_str().unwrap(), "--dust-pages", "10", "--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert_eq!(server.asked().iter().filter(|path| path.starts_with("/a/p")).count(), 40);
    let log = bench.log("discarded.jsonl");
    for number in 0..30 {
        let url = server.url(&format!("/a/p{number}"));
        assert!(log.iter().any(|line| line["url"] == url && line["against"].is_string()), "{url}");
    }
}

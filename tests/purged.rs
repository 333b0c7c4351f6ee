//! `forget --purge`: the bodies of removed pages leave archive, index and texts, and nothing else changes.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::helpers::{copy, paragraph, stored};
use crate::support::{Bench, Server, code, crawl, html, json_lines, prose, text};

const HOST: &str = "gone.example:80";
/// A word of each removed page.
const MARK: &str = "quixotrine";

fn page(n: u64) -> String {
    paragraph(&format!("{} The {MARK} number {n} sails home. {}", prose(n, 12), prose(n + 500, 12)))
}

/// Pages of a host that goes and of one that stays, and near copies of each.
fn two_hosts(pages: u64) -> Bench {
    let bench = Bench::new();
    let mut all = Vec::new();
    for n in 1..=pages {
        all.push((format!("http://gone.example/{n}"), page(n)));
        let stays = prose(n + 1000, 24);
        all.push((format!("http://stays.example/{n}"), paragraph(&stays)));
        if n % 5 == 0 {
            let near = stays.replacen("river", "rivulet", 1);
            all.push((format!("http://stays.example/print/{n}"), paragraph(&near)));
        }
    }
    let all: Vec<(&str, String)> =
        all.iter().map(|(url, html)| (url.as_str(), html.clone())).collect();
    stored(&bench, &all, &[]);
    bench
}

/// Returns the type, URL and block of each record; each file must be readable to its end.
fn records(data: &Path) -> Vec<(String, String, Vec<u8>)> {
    let mut paths: Vec<_> =
        std::fs::read_dir(data.join("pages")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let mut reader =
            hapax_warc::Reader::new(std::fs::File::open(path).unwrap(), 16 << 20).unwrap();
        while let Some(record) = reader.next_record().unwrap() {
            let header = |name: &str| record.header(name).unwrap_or_default().to_owned();
            found.push((header("warc-type"), header("warc-target-uri"), record.block.clone()));
        }
    }
    found
}

fn marked(data: &Path) -> usize {
    let has = |block: &[u8]| block.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    records(data).iter().filter(|(_, _, block)| has(block)).count()
}

/// Returns whether a file of the folder contains a word, as it is or in a zstd frame (RFC 8878), wherever that begins.
fn is_in_folder(folder: &Path, word: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let frames = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"\x28\xb5\x2f\xfd"));
        has(&bytes) || frames.map(|at| unpacked(&bytes[at..])).any(|frame| has(&frame))
    })
}

/// Returns the content of the zstd frame at the front, up to its end or the first damage.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    // An error leaves what was read before it.
    let _ = zstd::Decoder::new(bytes).unwrap().single_frame().read_to_end(&mut content);
    content
}

fn tried(bench: &Bench, args: &[&str]) -> (i32, String) {
    let output = crawl().args(args).arg("--data").arg(bench.data()).output().unwrap();
    (code(&output), text(&output.stdout) + &text(&output.stderr))
}

fn exported(bench: &Bench) -> Vec<(String, String)> {
    let rows = json_lines(bench.run(&["export"]).as_bytes());
    let mut rows: Vec<_> =
        rows.iter().map(|row| (row["url"].to_string(), row["text"].to_string())).collect();
    rows.sort();
    rows
}

#[test]
fn a_purged_host_leaves_archive_and_index_and_no_other_place_changes() {
    let bench = two_hosts(20);
    let before = records(&bench.data());
    assert_eq!(marked(&bench.data()), 20);
    assert!(is_in_folder(&bench.data().join("index"), MARK), "the test can find the word");
    let others = |all: Vec<(String, String)>| -> Vec<_> {
        all.into_iter().filter(|(url, _)| url.contains("stays.example")).collect()
    };
    let texts = others(exported(&bench));

    let (exit, said) = tried(&bench, &["forget", "--dry-run", "--purge", HOST]);
    assert!(exit == 0 && said.contains("in 1 file of the archive would be overwritten"), "{said}");
    let (exit, refused) = tried(&bench, &["forget", "--purge", HOST]);
    assert!(exit == 1 && refused.contains("--yes"), "{refused}");
    assert_eq!(records(&bench.data()), before, "neither has changed anything");

    let said = bench.run(&["forget", "--yes", "--purge", HOST]);
    assert!(said.contains("removed 20 pages; ") && said.contains("cannot bring"), "{said}");
    let now = records(&bench.data());
    assert_eq!((now.len(), marked(&bench.data())), (before.len(), 0));
    for (before, now) in before.iter().zip(&now) {
        if before.1.contains("gone.example") {
            assert!(now.0 == "metadata" && now.1.is_empty(), "{now:?}");
            assert!(now.2.iter().all(|byte| *byte == 0));
        } else {
            assert_eq!(before, now);
        }
    }
    for folder in ["index", "texts"] {
        assert!(!is_in_folder(&bench.data().join(folder), MARK), "{folder}");
    }
    assert_eq!(others(exported(&bench)), texts);
    bench.run(&["check"]);
    // Texts of discarded pages are read at their places in the archive.
    let near = json_lines(bench.run(&["duplicates", "list", "--json"]).as_bytes());
    assert!(!near.is_empty());
    bench.run(&["duplicates", "restore", near[0]["url"].as_str().unwrap()]);
    // The archive grows on, and another program's view of it is complete.
    stored(&bench, &[("http://new.example/", paragraph(&prose(5000, 30)))], &[]);
    bench.run(&["check"]);

    let (exit, said) = tried(&bench, &["forget", "--undo", HOST]);
    assert!(exit == 1 && said.contains("its record was purged at 2"), "{said}");
    let again = Bench::new();
    let archive = bench.data().join("pages/pages-00001.warc.gz");
    again.run(&["pages", archive.to_str().unwrap()]);
    // There the restored page is a duplicate again.
    assert_eq!(exported(&again).len() + 1, exported(&bench).len());
}

#[test]
fn a_body_that_another_page_needs_stays_until_that_page_is_purged_too() {
    let bench = Bench::new();
    let (one, copy) = ("http://a.example/p", "http://b.example/longer/p");
    stored(&bench, &[(one, page(1)), (copy, page(1))], &[]);
    assert!(records(&bench.data()).iter().any(|(kind, url, _)| kind == "revisit" && url == copy));
    let said = bench.run(&["forget", "--yes", "--purge", one]);
    assert!(said.contains("not 1 response, such as http://a.example/p"), "{said}");
    assert_eq!(exported(&bench).len(), 1);
    bench.run(&["check"]);
    let said = bench.run(&["forget", "--yes", "--purge", copy]);
    assert!(!said.contains("not 1 response"), "{said}");
    assert_eq!(marked(&bench.data()), 0);
    assert!(records(&bench.data()).iter().all(|(_, url, _)| url.is_empty()));
    bench.run(&["check"]);
}

#[test]
fn a_copy_of_equal_text_with_a_body_of_its_own_is_kept_from_that_body() {
    let bench = Bench::new();
    let (one, copy) = ("http://a.example/p", "http://b.example/longer/p");
    // The same text in other bytes.
    stored(&bench, &[(one, page(1)), (copy, format!("<!-- x -->{}", page(1)))], &[]);
    let before = exported(&bench);
    let said = bench.run(&["forget", "--yes", "--purge", one]);
    assert!(!said.contains("not 1 response"), "{said}");
    assert_eq!(marked(&bench.data()), 1);
    let now = exported(&bench);
    assert_eq!((now.len(), &now[0].1), (1, &before[0].1));
    bench.run(&["forget", "--yes", copy]);
    bench.run(&["forget", "--undo"]);
    assert_eq!(exported(&bench), now, "its text was read from its own record");
    bench.run(&["check"]);
}

/// Processes are killed at many moments of a purge.
#[test]
fn a_killed_purge_leaves_whole_files_and_is_completed_by_the_next_change() {
    let bench = two_hosts(120);
    let whole = bench.path("whole");
    copy(&bench.data(), &whole);
    let all = records(&whole).len();
    let (mut resumed, mut between) = (0, 0);
    for attempt in 0..24u64 {
        copy(&whole, &bench.data());
        let mut child = crawl()
            .args(["forget", "--yes", "--purge", HOST, "--data"])
            .arg(bench.data())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(attempt * 25));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(records(&bench.data()).len(), all);
        let left = marked(&bench.data());
        assert!(left == 0 || left == 120, "{left}: a file is as it was or complete");
        bench.run(&["check"]);
        let spool = std::fs::read_dir(bench.data().join("spool"));
        let is_queued = spool.is_ok_and(|mut files| {
            files.any(|file| file.unwrap().path().extension().is_some_and(|end| end == "json"))
        });
        bench.run(&["forget", "--yes", "other.example"]);
        if is_queued {
            between += usize::from(left > 0);
            resumed += 1;
            assert_eq!(marked(&bench.data()), 0, "attempt {attempt}");
            assert!(!is_in_folder(&bench.data().join("index"), MARK), "attempt {attempt}");
            bench.run(&["check"]);
        }
    }
    assert!(
        resumed > 0 && between > 0,
        "{resumed} killed within a purge, {between} before its end"
    );
}

#[test]
fn a_running_crawl_purges_and_goes_on_writing_its_archive() {
    let mut pages = HashMap::new();
    let links: String = (0..60).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
    pages.insert("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 12))));
    for n in 0..60 {
        let body = if n < 2 { page(n + 1) } else { paragraph(&prose(n + 100, 14)) };
        pages.insert(format!("/{n}"), html(format!("<title>Page {n}</title>{body}")));
    }
    let server = Server::slow(pages, Duration::from_millis(400));
    let bench = Bench::new();
    let mut child = bench.spawn(&[server.url("/")], &["--concurrency", "1"]);
    bench.wait_until_committed(4);
    for n in 0..2 {
        bench.run(&["forget", "--yes", "--purge", &server.url(&format!("/{n}"))]);
    }
    assert!(child.try_wait().unwrap().is_none(), "the crawl itself purged");
    assert!(child.wait().unwrap().success());
    assert_eq!(marked(&bench.data()), 0);
    bench.run(&["check"]);
    let kept = exported(&bench);
    assert!(kept.len() > 40, "{}", kept.len());
}

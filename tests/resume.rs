use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::helpers::{copy, web};
use crate::support::{Bench, Server, code, prose, text};

/// Numbers of indexed and discarded pages, and of pages by text.
fn outcome(bench: &Bench) -> (u64, u64, BTreeMap<String, u64>, usize) {
    let pages = bench.summary()["pages"].clone();
    let indexed = bench.run(&["search", "when", "--limit", "100000", "--json"]).lines().count();
    let skipped = serde_json::from_value(bench.summary()["skipped"].clone()).unwrap();
    (
        pages["fetched"].as_u64().unwrap(),
        pages["near"].as_u64().unwrap() + pages["exact"].as_u64().unwrap(),
        skipped,
        indexed,
    )
}

/// The paths of kept and discarded pages. Which of two came first does not matter.
fn known(bench: &Bench) -> Vec<String> {
    let hits = bench.run(&["search", "when", "--limit", "100000", "--json"]);
    let mut urls: Vec<String> = crate::support::json_lines(hits.as_bytes())
        .iter()
        .chain(&bench.log("discarded.jsonl"))
        .map(|line| line["url"].as_str().unwrap().split('/').skip(3).collect::<String>())
        .collect();
    urls.sort();
    urls
}

/// `cargo xtask crash-crawl` uses a larger web with mirrors and traps.
#[test]
fn a_crawl_killed_again_and_again_ends_like_an_undisturbed_one() {
    let (cycles, groups, copies) = (12, 40, 6);
    let flags = ["--per-host", "4"];
    let (undisturbed, all) = {
        let server = Server::start(web(groups, copies));
        let bench = Bench::new();
        let output = bench.crawl(&[server.url("/")], &flags);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        (outcome(&bench), known(&bench))
    };
    assert_eq!(undisturbed.0, groups * copies);

    let server = Server::slow(web(groups, copies), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut kills = 0;
    for round in 0..cycles {
        let before = server.asked().len();
        let mut child = bench.spawn(&seeds, &flags);
        server.wait_for(before + round * 7 % 24);
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills >= 8, "the crawl was over after {kills} kills");
    let output = bench.crawl(&seeds, &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(outcome(&bench), undisturbed, "after {kills} kills");
    assert_eq!(known(&bench), all, "after {kills} kills");
    // Repeated requests: at most those in flight, four at a time.
    let asked = server.asked();
    let pages = asked.iter().filter(|path| *path == "/" || path.starts_with("/p")).count() as u64;
    // "/p0" does not exist.
    let again = pages - groups * copies - 1;
    assert!(again <= 4 * kills, "{again} pages were asked for again after {kills} kills");
    assert!(!bench.data().join("received").exists(), "nothing waits at the end");
    let check =
        crate::support::crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&check), 0, "{}", text(&check.stdout));

    // Every log line is complete, and no page has two.
    let discarded = bench.log("discarded.jsonl");
    let urls: BTreeSet<String> = discarded.iter().map(|line| line["url"].to_string()).collect();
    assert_eq!(urls.len(), discarded.len());
    bench.log("skipped.jsonl");
    // The archive is readable to its end and contains each page once, near-duplicates too.
    let again = Bench::new();
    let output = crate::support::crawl()
        .arg("pages")
        .arg(bench.data().join("pages"))
        .arg("--data")
        .arg(again.data())
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(outcome(&again).0, groups * copies);
}

#[test]
fn saved_answers_are_deleted_after_their_commit() {
    let server = Server::slow(web(40, 6), Duration::from_millis(12));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut child = bench.spawn(&seeds, &[]);
    // After its first commit, so that some stored responses have been deleted.
    server.wait_for(10);
    bench.wait_until_committed(1);
    assert!(child.try_wait().unwrap().is_none(), "the crawl was over before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    let waiting = || std::fs::read_dir(bench.data().join("received")).map_or(0, Iterator::count);
    assert!(waiting() > 0, "nothing was kept");
    // It stops at a limit with pages queued, but all received pages are committed.
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "200"])), 3);
    assert_eq!(waiting(), 0);
    let asked = server.asked();
    let urls: BTreeSet<&String> = asked.iter().collect();
    assert!(asked.len() - urls.len() <= 1, "one was in flight");
}

#[test]
fn an_interrupt_ends_in_time_says_how_to_go_on_and_can_be_resumed() {
    let server = Server::slow(web(60, 2), Duration::from_millis(10));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let child = bench.command(&seeds, &[]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    server.wait_for(20);
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3, "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("Run the same command again to go on."));
    let first = bench.summary();
    assert_eq!(first["complete"], false);
    let asked = server.asked().len();

    // Without seeds: the data directory has those of the first run.
    let output = crate::support::crawl().arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(
        (&bench.summary()["complete"], bench.summary()["pages"]["fetched"].as_u64()),
        (&true.into(), Some(120))
    );
    assert!(
        server.asked().len() - asked <= 121 - first["pages"]["fetched"].as_u64().unwrap() as usize,
        "asked twice"
    );

    // Repeating a finished crawl sends no request.
    let asked = server.asked().len();
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn limits_stop_a_crawl_and_raising_them_goes_on() {
    let server = Server::start(web(30, 1));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "7"])), 3);
    assert_eq!(bench.summary()["pages"]["fetched"].as_u64(), Some(7));
    assert!(bench.run(&["status"]).contains("--max-pages is reached"));
    assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "1000"])), 0);
    assert_eq!(bench.summary()["pages"]["fetched"].as_u64(), Some(30));
    let shallow = Bench::new();
    assert_eq!(code(&shallow.crawl(&seeds, &["--max-depth", "1"])), 0);
    assert!(shallow.log("skipped.jsonl").iter().any(|line| line["reason"] == "depth"));
}

#[test]
fn a_server_that_dies_loses_nothing_and_is_asked_again() {
    let server = Server::slow(web(40, 1), Duration::from_millis(15));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut child = bench.spawn(&seeds, &[]);
    server.wait_for(8);
    server.die();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    let summary = bench.summary();
    let fetched = summary["pages"]["fetched"].as_u64().unwrap();
    assert!(fetched > 0 && fetched < 40, "{summary}");
    assert_eq!(summary["complete"], false);
    assert!(summary["deferred_urls"].as_u64().unwrap() > 0, "{summary}");
    assert!(bench.log("skipped.jsonl").iter().any(|line| line["reason"] == "connect"));
}

#[test]
fn the_pause_between_requests_is_kept() {
    let server = Server::start(web(6, 1));
    let bench = Bench::new();
    let started = std::time::Instant::now();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--delay", "200ms"])), 0);
    // Six pages have at least five pauses between them.
    assert!(started.elapsed() >= Duration::from_millis(1000), "{:?}", started.elapsed());
}

#[test]
fn a_crash_between_two_stores_commits_is_made_good_at_the_next_start() {
    // Stores are committed in the order archive, logs, index, dedup, frontier. Restoring older versions of the later
    // stores simulates a crash before their commit.
    for stores in [&["dedup", "frontier"][..], &["frontier"][..]] {
        let server = Server::start(web(20, 3));
        let bench = Bench::new();
        let seeds = [server.url("/")];
        assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "25"])), 3);
        for store in stores {
            copy(&bench.data().join(store), &bench.path(store));
        }
        assert_eq!(code(&bench.crawl(&seeds, &["--max-pages", "1000"])), 0);
        let undisturbed = outcome(&bench);
        assert_eq!(undisturbed.0, 60);
        for store in stores {
            copy(&bench.path(store), &bench.data().join(store));
        }
        // Recovered data is not damage.
        let ahead = stores.contains(&"dedup");
        assert_eq!(bench.run(&["check"]).contains("from a crash"), ahead, "{stores:?}");
        let output = bench.crawl(&seeds, &[]);
        assert_eq!(code(&output), 0, "{stores:?}: {}", text(&output.stderr));
        assert_eq!(outcome(&bench), undisturbed, "{stores:?}");
        for log in ["discarded.jsonl", "skipped.jsonl"] {
            let mut urls: Vec<String> =
                bench.log(log).iter().map(|line| line["url"].to_string()).collect();
            let all = urls.len();
            urls.sort();
            urls.dedup();
            assert_eq!(urls.len(), all, "{stores:?}: {log} names a page twice");
        }
        let hits = bench.run(&["search", "when", "--limit", "1000", "--json"]);
        let mut urls: Vec<String> = crate::support::json_lines(hits.as_bytes())
            .iter()
            .map(|hit| hit["url"].to_string())
            .collect();
        let all = urls.len();
        urls.sort();
        urls.dedup();
        assert_eq!(urls.len(), all, "{stores:?}: a page is indexed twice");
    }
}

#[test]
fn pages_of_a_failed_index_commit_are_in_no_store_and_are_fetched_again() {
    let server = Server::slow(web(30, 1), Duration::from_millis(10));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut child = bench.spawn(&seeds, &[]);
    // A folder in place of the list of segments makes every commit of the index fail.
    let (list, kept) = (bench.data().join("index/meta.json"), bench.path("meta.json"));
    server.wait_for(3);
    std::fs::rename(&list, &kept).unwrap();
    std::fs::create_dir(&list).unwrap();
    let status = child.wait().unwrap();
    assert!(!matches!(status.code(), Some(0 | 3)), "{status:?}");
    std::fs::remove_dir(&list).unwrap();
    std::fs::rename(&kept, &list).unwrap();
    let output = bench.crawl(&seeds, &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let (fetched, _, _, indexed) = outcome(&bench);
    assert_eq!((fetched, indexed), (30, 30), "each page is fetched and found");
    assert!(!bench.run(&["check"]).contains("DAMAGED"));
}

#[test]
fn a_job_without_an_archive_leaves_the_archive_alone() {
    let server = Server::start(web(6, 2));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seeds, &["--max-depth", "1"])), 0);
    let archive = bench.data().join("pages/pages-00001.warc.gz");
    let before = std::fs::metadata(&archive).unwrap().len();
    let skipped = bench.log("skipped.jsonl").len();
    // `dedup` uses the same store and writes no archive.
    let mut child = crate::support::crawl()
        .arg("dedup")
        .arg("--data")
        .arg(bench.data())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let line = serde_json::json!({"id": "x", "text": prose(99, 8)}).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), line.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    assert!(std::fs::metadata(&archive).unwrap().len() >= before, "the archive was cut");
    assert!(bench.log("skipped.jsonl").len() >= skipped);
}

#[test]
fn a_seed_that_moved_keeps_its_scope_when_the_crawl_is_resumed() {
    let target = Server::start(web(20, 1));
    let seed = Server::start(HashMap::from([(
        "/".to_owned(),
        crate::support::redirect(&target.url("/")),
    )]));
    let bench = Bench::new();
    let private = ["--allow-private", "127.0.0.0/8"];
    let first = [&private[..], &["--max-pages", "3"]].concat();
    assert_eq!(code(&bench.crawl(&[seed.url("/")], &first)), 3);
    let then = [&private[..], &["--max-pages", "100"]].concat();
    assert_eq!(code(&bench.crawl(&[seed.url("/")], &then)), 0);
    assert_eq!(bench.summary()["pages"]["fetched"].as_u64(), Some(20));
}

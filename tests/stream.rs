//! `crawl stream`: a consumer's state follows the kept pages through crawls, changes, kills and upgrades.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::helpers::{article, crawled, paragraph, pipe, stored, web};
use crate::support::{
    Bench, Server, code, crawl, html, json_lines, missing, prose, redirect, text, write,
};

/// Fields that later events change: an event has those of the time at which it was read.
const CHANGING: [&str; 6] =
    ["copies", "minhash_cluster_size", "hosts", "sites", "first_seen", "last_seen"];

/// A consumer: its pages, the page that each other URL duplicates, and the last cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consumer {
    pages: BTreeMap<String, Value>,
    /// URLs of discarded pages, without redirects.
    copies: BTreeSet<String>,
    /// The page that a discarded or replaced page last duplicated.
    of: HashMap<String, String>,
    cursor: String,
}

impl Consumer {
    pub(crate) fn take(&mut self, event: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let url = text(&event["url"]);
        match event["event"].as_str().unwrap() {
            "kept" | "changed" | "restored" => {
                self.copies.remove(&url);
                self.of.remove(&url);
                self.pages.insert(url, event.clone());
            }
            "discarded" | "replaced" => {
                self.pages.remove(&url);
                if event["kind"] != "alias" {
                    self.copies.insert(url.clone());
                }
                self.of.insert(url, text(&event["of"]["url"]));
            }
            "removed" => {
                self.pages.remove(&url);
                self.copies.remove(&url);
            }
            other => panic!("{other}"),
        }
        self.cursor = text(&event["cursor"]);
    }

    /// The number of copies of each kept page.
    fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for copy in &self.copies {
            let (mut url, mut steps) = (copy, 0);
            while let Some(of) = self.of.get(url)
                && steps < 99
            {
                (url, steps) = (of, steps + 1);
            }
            *counts.entry(url.as_str()).or_default() += 1;
        }
        counts
    }

    /// Reads to the durable end.
    fn read(&mut self, data: &Path) -> Vec<Value> {
        let events = events(data, &["--from", &self.cursor]);
        events.iter().for_each(|event| self.take(event));
        events
    }

    /// Compares all pages and their fields with the export, except the counts.
    fn agrees(&self, data: &Path, when: &str) {
        self.agrees_with(&[data], when, &CHANGING);
    }

    /// Compares all pages and their fields with the export of some directories, except some fields.
    pub(crate) fn agrees_with(&self, dirs: &[&Path], when: &str, except: &[&str]) {
        let dirs = dirs.iter().flat_map(|data| [Path::new("--data"), data]);
        let output = crawl().args(["export", "--no-site-boilerplate"]).args(dirs).output().unwrap();
        let rows = json_lines(&output.stdout);
        let urls: BTreeSet<&str> = rows.iter().map(|row| row["url"].as_str().unwrap()).collect();
        let own: BTreeSet<&str> = self.pages.keys().map(String::as_str).collect();
        assert_eq!(own, urls, "{when}");
        for row in rows.iter().map(|row| row.as_object().unwrap()) {
            let event = &self.pages[row["url"].as_str().unwrap()];
            for (name, value) in row.iter().filter(|(name, _)| !except.contains(&&***name)) {
                assert_eq!(&event[name], value, "{when}: {name} of {event}");
            }
        }
    }
}

/// The events of `crawl stream` with these arguments.
fn events(data: &Path, args: &[&str]) -> Vec<Value> {
    let output = crawl().arg("stream").arg("--data").arg(data).args(args).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    json_lines(&output.stdout)
}

fn names(events: &[Value]) -> Vec<(&str, &str)> {
    let path = |event: &'_ Value| -> usize {
        event["url"].as_str().unwrap().match_indices('/').nth(2).unwrap().0
    };
    let name = |event| -> (&str, &str) {
        let event: &Value = event;
        (event["event"].as_str().unwrap(), &event["url"].as_str().unwrap()[path(event)..])
    };
    events.iter().map(name).collect()
}

/// `crawl stream --follow` in the background.
struct Follower {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(data: &Path, cursor: &str) -> Self {
        let mut child = crawl()
            .args(["stream", "--follow", "--from", cursor, "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next event; `None` if the process has ended.
    fn next(&mut self) -> Option<Value> {
        // A kill may cut off the last line.
        self.lines.next().and_then(|line| serde_json::from_str(&line.ok()?).ok())
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_change_of_a_page_is_one_event_with_its_reason() {
    let (bench, server) = crawled();
    let mut consumer = Consumer::default();
    let first = consumer.read(&bench.data());
    consumer.agrees(&bench.data(), "after the crawl");
    let named = names(&first);
    assert_eq!(
        named,
        [
            ("kept", "/"),
            ("kept", "/one"),
            ("discarded", "/copy/one"),
            ("discarded", "/print/one"),
            ("kept", "/show?page=two&x=1"),
            ("kept", "/two"),
            ("replaced", "/show?page=two&x=1"),
        ]
    );
    let copy = &first[2];
    assert_eq!(copy["kind"], "exact");
    assert!(copy["why"].as_str().unwrap().starts_with("its text is equal"), "{copy}");
    assert_eq!(copy["of"]["url"], server.url("/one"));
    assert_eq!(first[6]["of"]["url"], server.url("/two"));
    assert!(first[1]["text"].as_str().unwrap().contains("river"));
    assert!(consumer.read(&bench.data()).is_empty(), "it ends at the last durable event");
    let mut change = |args: &[&str], expected: &[(&str, &str)]| {
        bench.run(args);
        assert_eq!(names(&consumer.read(&bench.data())), expected, "{args:?}");
        consumer.agrees(&bench.data(), args[0]);
    };
    let (print, copy, two) =
        (server.url("/print/one"), server.url("/copy/one"), server.url("/two"));
    change(&["duplicates", "restore", &print], &[("restored", "/print/one")]);
    change(&["duplicates", "restore", "--undo", &print], &[("discarded", "/print/one")]);
    change(&["duplicates", "keep", &copy], &[("restored", "/copy/one"), ("replaced", "/one")]);
    change(&["forget", &print], &[("removed", "/print/one")]);
    change(
        &["forget", &two],
        &[("restored", "/show?page=two&x=1"), ("replaced", "/two"), ("removed", "/two")],
    );
    bench.checked();
}

/// The sequences of changes that are tested; together they have events of every kind.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// A site whose pages are a function of a version for each path.
struct Site {
    server: Server,
    versions: Arc<Mutex<Vec<u64>>>,
}

const PATHS: u64 = 14;

impl Site {
    fn start() -> Self {
        let versions = Arc::new(Mutex::new(vec![0; PATHS as usize]));
        let now = Arc::clone(&versions);
        let server = Server::answering(
            Arc::new(move |path, _| {
                if path == "/" {
                    let links = (0..PATHS).map(|n| format!("<a href=/p{n}>n</a> "));
                    return html(format!("<p>{}</p>{}", prose(99, 10), links.collect::<String>()));
                }
                let Some(number) = path.strip_prefix("/p").and_then(|n| n.parse::<u64>().ok())
                else {
                    return missing();
                };
                let Some(version) = now.lock().unwrap().get(number as usize).copied() else {
                    return missing();
                };
                match version % 7 {
                    5 => missing(),
                    6 => redirect("/p0"),
                    // Of four texts, so that pages become duplicates of each other.
                    version => html(format!(
                        "<title>One</title><h1>One</h1><p>{}</p><p>Printed {version} times.</p>",
                        prose(1 + (number + version) % 4, 14)
                    )),
                }
            }),
            Duration::ZERO,
        );
        Self { server, versions }
    }
}

/// A deterministic sequence of numbers below a limit.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

#[test]
fn the_state_of_a_consumer_is_the_export_after_any_changes_in_any_order() {
    let kinds: BTreeSet<String> = SEEDS.flat_map(changed_at_random).collect();
    let all = ["changed", "discarded", "kept", "removed", "replaced", "restored"];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// Applies random changes, and returns the kinds of events that they caused.
fn changed_at_random(seed: u64) -> BTreeSet<String> {
    let (site, bench, mut random) = (Site::start(), Bench::new(), Random(seed));
    let seeds = [site.server.url("/")];
    let flags = ["--concurrency", "1"];
    assert_eq!(code(&bench.crawl(&seeds, &flags)), 0);
    let mut consumer = Consumer::default();
    let mut kinds = BTreeSet::new();
    for step in 0..14 {
        let rows = bench.rows(&[]);
        let row = (!rows.is_empty()).then(|| rows[random.below(rows.len())]["id"].to_string());
        let kept = bench.exported();
        let page = kept[random.below(kept.len())].clone();
        let mut what = random.below(7);
        if step == 3 {
            what = 0;
        }
        // A change that is not possible is refused, and must have no event.
        match (what, row) {
            (0 | 1, _) => {
                for version in site.versions.lock().unwrap().iter_mut() {
                    *version += random.below(3) as u64;
                }
                let output = bench.crawl(&seeds, &["--concurrency", "1", "--recrawl"]);
                assert_eq!(code(&output), 0, "{}", text(&output.stderr));
            }
            (2, Some(row)) => drop(bench.tried(&["duplicates", "restore", &row])),
            (3, Some(row)) => drop(bench.tried(&["duplicates", "restore", "--undo", &row])),
            (4, Some(row)) => drop(bench.tried(&["duplicates", "keep", &row])),
            (5, _) if kept.len() > 2 => drop(bench.run(&["forget", &page])),
            _ => {
                let similarity = ["0.6", "0.8", "0.99"][random.below(3)];
                let flags = ["--similarity-same-host", similarity, "--similarity", similarity];
                bench.run(&[&["duplicates", "recheck", "--apply"], &flags[..]].concat());
            }
        }
        let when = format!("seed {seed}, step {step}, change {what}");
        for event in consumer.read(&bench.data()) {
            kinds.insert(event["event"].as_str().unwrap().to_owned());
        }
        consumer.agrees(&bench.data(), &when);
    }
    let mut late = Consumer::default();
    late.read(&bench.data());
    // All events are read now, so the counts are the present ones.
    late.agrees_with(&[&bench.data()], &format!("seed {seed}, from the first event"), &[]);
    bench.checked();
    kinds
}

#[test]
fn the_copies_of_a_page_are_counted_from_the_events() {
    let (bench, server) = crawled();
    let copies = |consumer: &Consumer, when: &str| {
        let exported = json_lines(bench.run(&["export"]).as_bytes());
        for row in &exported {
            let counted = consumer.counts().get(row["url"].as_str().unwrap()).copied().unwrap_or(0);
            assert_eq!(row["copies"], counted, "{when}: {row}");
        }
    };
    let mut consumer = Consumer::default();
    for change in [
        vec!["status"],
        vec!["duplicates", "keep", "/copy/one"],
        vec!["duplicates", "restore", "/print/one"],
        vec!["duplicates", "restore", "--undo", "/print/one"],
        vec!["forget", "/copy/one"],
    ] {
        let mut args: Vec<String> = change.iter().map(|&arg| arg.to_owned()).collect();
        if let Some(last) = args.last_mut().filter(|last| last.starts_with('/')) {
            *last = server.url(last);
        }
        bench.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        consumer.read(&bench.data());
        copies(&consumer, &change.join(" "));
    }
}

#[test]
fn a_consumer_killed_fifty_times_beside_a_crawl_sees_each_event_and_ends_with_the_same_state() {
    let server = Server::slow(web(30, 6), Duration::from_millis(20));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let mut child = bench.spawn(&seeds, &["--per-host", "2"]);
    bench.wait_until_committed(1);
    // What the consumer has stored durably, every few events; a kill loses the rest.
    let mut saved = Consumer::default();
    let mut seen = BTreeSet::new();
    let mut random = Random(7);
    for _ in 0..50 {
        let mut follower = Follower::start(&bench.data(), &saved.cursor);
        let mut consumer = saved.clone();
        for _ in 0..=random.below(12) {
            let Some(event) = follower.next() else { break };
            seen.insert(event["cursor"].as_str().unwrap().to_owned());
            consumer.take(&event);
            if random.below(3) == 0 {
                saved = consumer.clone();
            }
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        follower.kill();
    }
    assert!(child.wait().unwrap().success());
    for event in saved.clone().read(&bench.data()) {
        seen.insert(event["cursor"].as_str().unwrap().to_owned());
    }
    saved.read(&bench.data());
    saved.agrees(&bench.data(), "at the end");
    let all = events(&bench.data(), &["--fields", ""]);
    let all: BTreeSet<String> =
        all.iter().map(|event| event["cursor"].as_str().unwrap().to_owned()).collect();
    assert!(all.len() >= 180, "{}", all.len());
    assert_eq!(seen, all);
}

#[test]
fn a_follower_beside_a_crawl_that_is_killed_again_and_again_reads_only_what_lasts() {
    let server = Server::slow(web(40, 6), Duration::from_millis(4));
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let flags = ["--per-host", "4"];
    let mut follower = None;
    let read = Arc::new(Mutex::new(Vec::new()));
    let mut kills = 0;
    for cycle in 0..12 {
        let before = server.asked().len();
        let mut child = bench.spawn(&seeds, &flags);
        server.wait_for(before + 5 + cycle * 7 % 24);
        if follower.is_none() && bench.data().join("crawl.toml").exists() {
            follower = Some(Follower::start(&bench.data(), ""));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills >= 8, "{kills} kills");
    let mut follower = follower.unwrap();
    let lines = Arc::clone(&read);
    let stopped = Arc::new(AtomicU64::new(0));
    let end = Arc::clone(&stopped);
    let pid = follower.child.id();
    let reader = std::thread::spawn(move || {
        while let Some(event) = follower.next() {
            lines.lock().unwrap().push(event);
        }
        end.store(1, SeqCst);
    });
    let output = bench.crawl(&seeds, &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let all = events(&bench.data(), &["--fields", "kind"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    while read.lock().unwrap().len() < all.len() && stopped.load(SeqCst) == 0 {
        assert!(Instant::now() < deadline, "{} of {}", read.lock().unwrap().len(), all.len());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").arg(pid.to_string()).status().unwrap().success());
    reader.join().unwrap();
    let read = read.lock().unwrap();
    let cursors =
        |events: &[Value]| -> Vec<Value> { events.iter().map(|e| e["cursor"].clone()).collect() };
    assert_eq!(cursors(&read), cursors(&all), "the same events in the same order, each once");
    let mut consumer = Consumer::default();
    read.iter().for_each(|event| consumer.take(event));
    consumer.agrees(&bench.data(), "at the end");
}

#[test]
fn a_cursor_of_another_directory_and_a_malformed_one_are_refused() {
    let (bench, _server) = crawled();
    let (other, _other_server) = crawled();
    let cursor =
        |bench: &Bench| events(&bench.data(), &[])[2]["cursor"].as_str().unwrap().to_owned();
    for (wrong, why) in [
        (cursor(&other), "belongs to another data directory"),
        (cursor(&bench)[..20].to_owned(), "is not a cursor"),
        ("3".to_owned(), "is not a cursor"),
    ] {
        let (exit, out, err) = pipe(&["stream", "--from", &wrong], Some(&bench.data()), "");
        assert_eq!((exit, out.as_str()), (1, ""), "{err}");
        assert!(err.contains(why) && err.contains("omit --from"), "{err}");
    }
    // Another crawl in the same directory is another stream.
    let own = cursor(&bench);
    let server = Server::start(HashMap::from([("/".to_owned(), article(1))]));
    let output = bench.crawl(&[server.url("/")], &["--fresh", "--yes"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let (exit, _, err) = pipe(&["stream", "--from", &own], Some(&bench.data()), "");
    assert!(exit == 1 && err.contains("--fresh"), "{err}");
    let nothing = Bench::new();
    std::fs::create_dir(nothing.data()).unwrap();
    let (exit, _, err) = pipe(&["stream"], Some(&nothing.data()), "");
    assert!(exit == 1 && err.contains("contains no crawl"), "{err}");
}

#[test]
fn fields_and_batches_are_selected() {
    let (bench, server) = crawled();
    // It has left the index, so its event has no fields of the page.
    let replaced = server.url("/show?page=two&x=1");
    let keys = |event: &Value| event.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for event in events(&bench.data(), &["--fields", "title,of"]) {
        let mut expected = vec!["cursor", "event", "id", "time", "url"];
        match event["event"].as_str() {
            Some("kept") if event["url"] == replaced => {}
            Some("kept") => expected.push("title"),
            _ => expected.push("of"),
        }
        expected.sort_unstable();
        assert_eq!(keys(&event), expected);
    }
    let (exit, _, err) = pipe(&["stream", "--fields", "titel"], Some(&bench.data()), "");
    assert!(exit == 1 && err.contains("did you mean title?"), "{err}");
    let file = bench.path("cursor");
    let (mut batches, mut from) = (Vec::new(), String::new());
    loop {
        let file = file.to_str().unwrap();
        let batch =
            events(&bench.data(), &["--from", &from, "--limit", "3", "--cursor-file", file]);
        if batch.is_empty() {
            break;
        }
        from = std::fs::read_to_string(file).unwrap().trim().to_owned();
        assert_eq!(batch.last().unwrap()["cursor"], from);
        batches.push(batch);
    }
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    assert_eq!(batches.concat(), events(&bench.data(), &[]));
}

#[test]
fn the_bulk_format_leaves_the_kept_pages_in_a_search_index() {
    let (bench, server) = crawled();
    bench.run(&["duplicates", "keep", &server.url("/copy/one")]);
    let mut index: HashMap<String, Value> = HashMap::new();
    let bulk = json_lines(bench.run(&["stream", "--format", "opensearch-bulk"]).as_bytes());
    let mut lines = bulk.into_iter();
    while let Some(action) = lines.next() {
        let name = |action: &Value| action["_id"].as_str().unwrap().to_owned();
        match action.get("index") {
            Some(action) => drop(index.insert(name(action), lines.next().unwrap())),
            None => drop(index.remove(&name(&action["delete"]))),
        }
    }
    let mut urls: Vec<&str> = index.values().map(|page| page["url"].as_str().unwrap()).collect();
    urls.sort_unstable();
    assert_eq!(urls, bench.exported());
    assert!(index.values().all(|page| page["text"].as_str().unwrap().contains("river")));
}

#[test]
fn a_directory_without_an_index_streams_the_texts_of_its_archive() {
    let bench = Bench::new();
    let text = prose(1, 30);
    let near = paragraph(&text.replacen("river", "rivulet", 1));
    let pages = [
        ("http://a.example/p", paragraph(&text)),
        ("http://b.example/p", near),
        ("http://c.example/other", paragraph(&prose(2, 30))),
    ];
    stored(&bench, &pages, &["--no-index"]);
    let first = events(&bench.data(), &[]);
    assert_eq!(names(&first), [("kept", "/p"), ("discarded", "/p"), ("kept", "/other")]);
    assert!(first[0]["text"].as_str().unwrap().contains("river"), "{}", first[0]);
    assert_eq!(first[0]["title"], "T");
    bench.run(&["duplicates", "restore", "http://b.example/p"]);
    let restored = events(&bench.data(), &["--from", first[2]["cursor"].as_str().unwrap()]);
    assert_eq!(names(&restored), [("restored", "/p")]);
}

#[test]
fn documents_from_a_pipe_are_named_by_their_keys() {
    let bench = Bench::new();
    let line = |id: &str, seed| serde_json::json!({"id": id, "text": prose(seed, 20)}).to_string();
    let input = [line("first", 1), line("copy", 1), line("second", 2)].join("\n");
    assert_eq!(pipe(&["dedup"], Some(&bench.data()), &input).0, 0);
    let events = events(&bench.data(), &[]);
    let key =
        |event: &Value| event.get("key").unwrap_or(&event["url"]).as_str().unwrap().to_owned();
    let told: Vec<_> =
        events.iter().map(|event| (event["event"].as_str().unwrap(), key(event))).collect();
    let expected = [("kept", "first"), ("discarded", "copy"), ("kept", "second")];
    assert_eq!(told, expected.map(|(event, key)| (event, key.to_owned())));
}

#[test]
fn a_directory_of_before_streams_its_state_and_then_its_changes() {
    for format in ["format-3", "format-4"] {
        let folder = tempfile::tempdir().unwrap();
        let archive =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{format}.tar.gz"));
        let mut tar = Command::new("tar");
        assert!(
            tar.arg("-xzf").arg(archive).arg("-C").arg(folder.path()).status().unwrap().success()
        );
        let data = folder.path().join("crawl");
        let mut consumer = Consumer::default();
        let first = consumer.read(&data);
        assert!(names(&first).iter().any(|(event, _)| *event == "discarded"), "{format}");
        consumer.agrees(&data, format);
        let again = events(&data, &[]);
        assert_eq!(first, again, "{format}: the same events for each consumer");
        let discarded =
            first.iter().find(|event| event["event"] == "discarded" && event["kind"] != "alias");
        let id = discarded.unwrap()["id"].to_string();
        let (exit, _, err) = pipe(&["duplicates", "restore", &id], Some(&data), "");
        assert_eq!(exit, 0, "{format}: {err}");
        let later = consumer.read(&data);
        assert_eq!(names(&later)[0].0, "restored", "{format}");
        consumer.agrees(&data, format);
        let (exit, out, _) = pipe(&["check"], Some(&data), "");
        assert!(exit == 0 && out.contains("events"), "{format}: {out}");
    }
}

#[test]
fn damaged_events_are_found() {
    let (bench, _server) = crawled();
    let path = bench.data().join("events.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 9;
    damaged[last] ^= 1;
    write(&path, &damaged);
    assert_eq!(bench.tried(&["check"]), 2);
    write(&path, &whole[..last]);
    assert_eq!(bench.tried(&["check"]), 2);
    assert_eq!(bench.tried(&["stream"]), 2);
    write(&path, &whole);
    bench.checked();
}

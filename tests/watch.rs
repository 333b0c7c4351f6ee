//! Recrawls of due pages, `--watch`, and `crawl changes`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::helpers::article;
use crate::support::{
    Bench, Page, Server, clock_library, code, html, json_lines, missing, prose, redirect, text,
    write,
};

/// Every page is due after one second.
const SOON: [&str; 6] = ["--concurrency", "1", "--revisit-min", "1s", "--revisit-max", "1s"];

/// A site whose pages depend on its version.
fn versions(answer: fn(&str, usize) -> Page) -> (Server, Arc<AtomicUsize>) {
    let version = Arc::new(AtomicUsize::new(1));
    let now = Arc::clone(&version);
    let server =
        Server::answering(Arc::new(move |path, _| answer(path, now.load(SeqCst))), Duration::ZERO);
    (server, version)
}

fn home(links: &[&str]) -> Page {
    let links: String = links.iter().map(|path| format!("<a href=/{path}>{path}</a> ")).collect();
    html(format!("<title>Home</title><h1>Home</h1><p>{}</p>{links}", prose(1, 10)))
}

/// Waits until the visits that ended before are due.
fn pass() {
    std::thread::sleep(Duration::from_millis(2100));
}

fn due(bench: &Bench, server: &Server, flags: &[&str]) -> Vec<String> {
    let before = server.asked().len();
    let output =
        bench.crawl(&[server.url("/")], &[&SOON[..], &["--recrawl", "--due"], flags].concat());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let mut asked = server.asked()[before..].to_vec();
    asked.sort();
    asked
}

fn changes(bench: &Bench, flags: &[&str]) -> Vec<Value> {
    json_lines(bench.run(&[&["changes", "--json"], flags].concat()).as_bytes())
}

#[test]
fn a_recrawl_of_due_pages_requests_only_those() {
    let (server, _) = versions(|path, _| match path {
        "/" => home(&["one", "two"]),
        "/one" => article(2),
        "/two" => article(3),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    // The default shortest interval is one hour.
    let before = server.asked().len();
    let output = bench.crawl(&[server.url("/")], &["--recrawl", "--due"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(server.asked().len(), before);
    assert!(bench.summary()["next_visit"].is_string(), "{}", bench.summary());
    pass();
    assert_eq!(due(&bench, &server, &[]), ["/", "/one", "/two"]);
    assert_eq!(bench.summary()["recrawl"]["unchanged"], 3);
    // Just visited.
    let output = bench.crawl(
        &[server.url("/")],
        &["--recrawl", "--due", "--revisit-max", "1d", "--revisit-min", "1h"],
    );
    assert_eq!(code(&output), 0);
    assert_eq!(bench.summary()["recrawl"]["unchanged"], 0);
    pass();
    // 24 visits a day are one an hour.
    assert_eq!(due(&bench, &server, &["--revisits-per-day", "24"]).len(), 1);
    assert_eq!(due(&bench, &server, &["--revisits-per-day", "24"]).len(), 0);
    let site = ["--revisits-per-day", "none", "--revisits-per-site", "48"];
    assert_eq!(due(&bench, &server, &site).len(), 2);
    assert_eq!(due(&bench, &server, &site).len(), 0);
    bench.checked();
}

#[test]
fn a_page_that_is_gone_at_two_visits_in_a_row_is_removed() {
    let (server, version) = versions(|path, version| match (path, version) {
        ("/", _) => home(&["lost", "away"]),
        ("/lost", 2..) => missing(),
        ("/away", 2) => missing(),
        ("/lost", _) => article(2),
        ("/away", _) => article(3),
        _ => missing(),
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &SOON)), 0);
    version.store(2, SeqCst);
    pass();
    assert_eq!(due(&bench, &server, &[]), ["/", "/away", "/lost"]);
    assert_eq!(bench.found("when").len(), 3);
    assert_eq!(bench.summary()["recrawl"]["gone"], 0);
    assert_eq!(changes(&bench, &[]), Vec::<Value>::new());
    version.store(3, SeqCst);
    pass();
    due(&bench, &server, &[]);
    assert_eq!(bench.found("when").len(), 2);
    assert_eq!(bench.summary()["recrawl"]["gone"], 1);
    let gone = changes(&bench, &[]);
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!(
        (&gone[0]["change"], &gone[0]["url"]),
        (&"gone".into(), &server.url("/lost").into())
    );
    let lines = bench.log("skipped.jsonl");
    let about = |line: &&Value| line["url"] == server.url("/lost").as_str();
    let details: Vec<&str> =
        lines.iter().filter(about).map(|line| line["detail"].as_str().unwrap()).collect();
    assert_eq!(
        details,
        ["status 404; it is removed if the next visit finds the same", "status 404"]
    );
    bench.checked();
}

#[test]
fn changes_list_new_changed_moved_and_gone_pages_of_the_last_run() {
    let (server, version) = versions(|path, version| {
        let old = version == 1;
        let story = |number: u64, last: &str| {
            html(format!("<title>Mill</title><h1>Mill</h1><p>{} {last}</p>", prose(number, 12)))
        };
        match path {
            "/" if old => home(&["same", "edited", "moved", "lost"]),
            "/" => home(&["same", "edited", "moved", "lost", "fresh"]),
            "/same" => article(2),
            "/edited" if old => story(3, "The wheel was made of oak."),
            "/edited" => story(3, "The wheel was made of iron."),
            "/moved" if old => article(4),
            "/moved" => redirect("/here"),
            "/here" => article(4),
            "/lost" if old => article(5),
            "/fresh" if !old => article(6),
            _ => missing(),
        }
    });
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    assert_eq!(changes(&bench, &[]).len(), 5);
    version.store(2, SeqCst);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    let found = changes(&bench, &[]);
    let short: Vec<(String, &str)> = found
        .iter()
        .map(|line| {
            let url = line["url"].as_str().unwrap().replace(&server.url(""), "");
            (url, line["change"].as_str().unwrap())
        })
        .collect();
    let expected = [
        ("/edited", "changed"),
        ("/fresh", "new"),
        ("/here", "new"),
        ("/lost", "gone"),
        ("/moved", "moved"),
    ];
    assert_eq!(short, expected.map(|(path, change)| (path.to_owned(), change)));
    let similarity = found[0]["similarity"].as_f64().unwrap();
    assert!((0.9..1.0).contains(&similarity), "{similarity}");
    assert_eq!(found[0]["diff"], serde_json::json!([{"removed": "oak", "added": "iron"}]));
    assert_eq!(found[4]["of"]["url"], server.url("/here"));
    let counts = &bench.summary()["recrawl"];
    assert_eq!(
        (&counts["new"], &counts["changed"], &counts["unchanged"], &counts["gone"]),
        (&2.into(), &1.into(), &2.into(), &2.into()),
    );
    let shown = bench.run(&["changes"]);
    assert!(
        shown.contains("since run 2") && shown.contains("- oak") && shown.contains("+ iron"),
        "{shown}"
    );
    // Since the first run there is nothing but new pages.
    assert!(changes(&bench, &["--since", "1"]).iter().all(|line| line["change"] == "new"));
    let one =
        changes(&bench, &["--since", "2026-01-01", "--url", &server.url("/edited"), "--no-diff"]);
    assert!(one.len() == 1 && one[0]["diff"].is_null(), "{one:?}");
    // The next recrawl finds nothing, and counts nothing of before.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1", "--recrawl"])), 0);
    assert_eq!(changes(&bench, &[]), Vec::<Value>::new());
    let counts = &bench.summary()["recrawl"];
    assert_eq!(
        (&counts["new"], &counts["changed"], &counts["gone"]),
        (&0.into(), &0.into(), &0.into())
    );
    bench.checked();
}

#[test]
fn wrong_values_of_the_flags_are_named() {
    let bench = Bench::new();
    for (flags, named) in [
        (&["--due"][..], "--recrawl"),
        (&["--watch", "--recrawl"], "--recrawl"),
        (&["--watch", "--dry-run"], "--dry-run"),
        (&["--revisit-min", "0s"], "--revisit-min: 1s and more"),
        (&["--revisit-min", "soon"], "--revisit-min"),
        (&["--revisit-min", "2d", "--revisit-max", "1d"], "--revisit-max is shorter"),
        (&["--revisit-max", "36500d"], "at most 3650d"),
        (&["--revisits-per-day", "0"], "1 and more"),
        (&["--revisits-per-site", "-3"], "--revisits-per-site"),
    ] {
        let output = bench.crawl(&["http://127.0.0.1:9/".to_owned()], flags);
        assert_eq!(code(&output), 1, "{flags:?}");
        assert!(text(&output.stderr).contains(named), "{flags:?}: {}", text(&output.stderr));
    }
    if cfg!(feature = "cluster") {
        let flags = ["--watch", "--cluster", "redis://127.0.0.1:1"];
        let output = bench.crawl(&["http://127.0.0.1:9/".to_owned()], &flags);
        assert_eq!(code(&output), 1);
        assert!(text(&output.stderr).contains("--watch does not work with --cluster"));
    }
    assert!(!bench.data().join("summary.json").exists());
    for since in ["99", "yesterday"] {
        assert_eq!(bench.tried(&["changes", "--since", since]), 1);
    }
}

/// The index of each page's current version: which of the versions' words it has.
fn version_of(bench: &Bench, word: &str) -> usize {
    bench.found(word).len()
}

fn stop(child: Child) -> i32 {
    terminate(child).unwrap()
}

/// Returns the exit code; `None` if the signal ended the program.
fn terminate(mut child: Child) -> Option<i32> {
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    child.wait().unwrap().code()
}

#[test]
fn a_watch_killed_fifty_times_goes_on_and_finds_each_change() {
    // Each version has its own word on every page, and a page that the earlier ones lack.
    let (server, version) = versions(|path, version| {
        let word = ["", "alder", "birch", "cedar"][version];
        let page = |number: u64| {
            let title = format!("Page {number}");
            html(format!(
                "<title>{title}</title><h1>{title}</h1><p>{} The {word} stood {word} there.</p>",
                prose(number, 12)
            ))
        };
        match path {
            "/" => {
                let links: String = (2..8 + version)
                    .map(|number| format!("<a href=/{number}>{number}</a> "))
                    .collect();
                html(format!("<h1>Home</h1><p>{} The {word} stood.</p>{links}", prose(1, 10)))
            }
            path => match path[1..].parse::<u64>() {
                Ok(number) if number < 8 + version as u64 => page(number),
                _ => missing(),
            },
        }
    });
    let bench = Bench::new();
    let seeds = [server.url("/")];
    let flags = [&SOON[..], &["--watch"]].concat();
    let mut random = 7u64;
    for kill in 0..50 {
        version.store(1 + kill / 20, SeqCst);
        let mut child = bench.spawn(&seeds, &flags);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(100 + (random >> 33) % 500));
        assert!(child.try_wait().unwrap().is_none(), "kill {kill}: the watch ended");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let child = bench.spawn(&seeds, &flags);
    let deadline = Instant::now() + Duration::from_secs(60);
    while version_of(&bench, "cedar") < 10 {
        assert!(Instant::now() < deadline, "{:?} {}", bench.found("cedar"), bench.summary());
        std::thread::sleep(Duration::from_millis(200));
    }
    // A killed run may have found the last version: this one may then be stopped before it handles signals.
    let ended = terminate(child);
    assert!([None, Some(0), Some(3)].contains(&ended), "{ended:?}");
    assert_eq!((version_of(&bench, "alder"), version_of(&bench, "birch")), (0, 0));
    let all = changes(&bench, &["--since", "2026-01-01"]);
    assert_eq!(all.len(), 10, "{all:?}");
    bench.checked();
}

#[test]
fn a_watch_visits_pages_until_a_signal_and_reports_each_change() {
    let (server, version) = versions(|path, version| match path {
        "/" => home(&["a"]),
        "/a" => article(1 + version as u64),
        _ => missing(),
    });
    let bench = Bench::new();
    let child = bench.spawn(&[server.url("/")], &[&SOON[..], &["--watch"]].concat());
    let deadline = Instant::now() + Duration::from_secs(60);
    // The first crawl is over: every page was visited twice.
    while server.asked().iter().filter(|path| *path == "/a").count() < 2 {
        assert!(Instant::now() < deadline, "no second visit");
        std::thread::sleep(Duration::from_millis(50));
    }
    for round in 2..5 {
        let before = server.asked().len();
        version.store(round, SeqCst);
        // Two visits: the first one may have begun before the change.
        while server.asked()[before..].iter().filter(|path| *path == "/a").count() < 2 {
            assert!(Instant::now() < deadline, "no further visit");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let ended = stop(child);
    assert!([0, 3].contains(&ended), "{ended}");
    let events = json_lines(bench.run(&["stream"]).as_bytes());
    let changed = events.iter().filter(|event| event["event"] == "changed").count();
    assert_eq!(changed, 3, "{events:?}");
    // Several changes: the similarity is that of the first and the last text.
    let all = changes(&bench, &["--since", "2026-01-01", "--url", &server.url("/a")]);
    assert_eq!(all[0]["change"], "new");
    bench.checked();
}

#[test]
fn a_watch_goes_on_when_the_clock_jumps_and_requests_no_more_than_its_pace() {
    let Some(library) = clock_library() else { return };
    let (server, version) = versions(|path, version| match path {
        "/" if version == 1 => home(&["one", "two"]),
        "/" => home(&["one", "two", "three"]),
        "/one" => article(2),
        "/two" => article(3),
        "/three" => article(4),
        _ => missing(),
    });
    let bench = Bench::new();
    let clock = bench.path("clock");
    let set = |offset: &str| {
        let next = bench.path("clock.next");
        write(&next, offset);
        std::fs::rename(next, &clock).unwrap();
    };
    set("+0");
    let flags = ["--concurrency", "1", "--watch", "--revisit-min", "1s", "--revisit-max", "4s"];
    let mut command = bench.command(&[server.url("/")], &flags);
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock);
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.wait_for(2);
    let begun = Instant::now();
    let jumps = ["+10y", "-10y", "+1h", "-1d", "+30d", "-61", "+0"];
    for (number, jump) in jumps.iter().enumerate() {
        set(jump);
        if number == 3 {
            version.store(2, SeqCst);
        }
        std::thread::sleep(Duration::from_secs(3));
        assert!(child.try_wait().unwrap().is_none(), "it ended at {jump}");
    }
    let count = |path: &str| server.asked_all().iter().filter(|asked| *asked == path).count();
    let before = count("/one");
    let deadline = Instant::now() + Duration::from_secs(60);
    while count("/one") == before || count("/three") == 0 {
        assert!(Instant::now() < deadline, "no visit after the jumps: {:?}", server.asked());
        std::thread::sleep(Duration::from_millis(100));
    }
    let (visits, robots) = (count("/one"), count("/robots.txt"));
    let took = begun.elapsed().as_secs() as usize;
    let ended = stop(child);
    assert!([0, 3].contains(&ended), "{ended}");
    // One visit each four seconds, and at most one more after each jump; robots.txt once more in the run after a jump.
    assert!(visits >= 4, "{:?}", server.asked());
    assert!(visits <= took / 4 + jumps.len() + 2, "{visits} in {took} s");
    assert!(robots <= 2 * jumps.len() + 2, "{robots}");
    let mut kept = bench.kept();
    kept.sort();
    assert_eq!(kept, ["/", "/one", "/three", "/two"].map(|path| server.url(path)));
    bench.checked();
}

/// The response of the metrics server, if it answers.
fn metrics(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn a_watch_serves_metrics_of_all_its_runs_and_leaves_the_data_to_others_in_between() {
    let (server, version) = versions(|path, version| match (path, version) {
        ("/", 1) => home(&["one"]),
        ("/", _) => home(&["one", "two"]),
        ("/one", _) => article(2),
        ("/two", 2..) => article(3),
        _ => missing(),
    });
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let bench = Bench::new();
    let mut child =
        bench.spawn(&[server.url("/")], &[&SOON[..], &["--watch", "--metrics", &address]].concat());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut wait_for = |line: &str| {
        while !metrics(&address).is_some_and(|text| text.contains(line)) {
            assert!(child.try_wait().unwrap().is_none(), "the watch ended");
            assert!(Instant::now() < deadline, "{line}: {:?}", metrics(&address));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for("\nhapax_pages_indexed 2\n");
    version.store(2, SeqCst);
    // A later run finds a page.
    wait_for("\nhapax_pages_indexed 3\n");
    assert!([0, 3].contains(&stop(child)));
    assert!(metrics(&address).is_none());
    // While it sleeps for an hour, metrics answer and other commands hold the data directory.
    let flags = ["--watch", "--metrics", &address, "--revisit-min", "1h", "--revisit-max", "1h"];
    let child = bench.spawn(&[server.url("/")], &flags);
    let forget = ["forget", &server.url("/two"), "--yes"];
    loop {
        let text = metrics(&address).unwrap_or_default();
        if text.contains("\nhapax_pages_indexed 3\n") && bench.tried(&["upgrade"]) == 0 {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
        std::thread::sleep(Duration::from_millis(100));
    }
    bench.run(&forget);
    assert!(metrics(&address).unwrap().contains("hapax_pages_fetched_total"));
    assert!([0, 3].contains(&stop(child)));
    bench.checked();
}

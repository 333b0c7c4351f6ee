//! `crawl pages`: payloads in another record, limits, and archives of other programs.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::archives::{answer, gzip, page, record};
use crate::helpers::article;
use crate::support::{Bench, Server, code, crawl, html, prose, say, text, write};

/// `crawl pages FILES FLAGS --data ...`.
fn pages(bench: &Bench, files: &[&Path], flags: &[&str]) -> Output {
    crawl().arg("pages").args(files).args(flags).arg("--data").arg(bench.data()).output().unwrap()
}

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn skipped(bench: &Bench) -> Vec<(String, String)> {
    let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
    bench.log("skipped.jsonl").iter().map(|l| (field(l, "url"), field(l, "reason"))).collect()
}

/// A record without payload, with additional headers.
fn revisit(target: &str, headers: &str) -> Vec<u8> {
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let record = record("revisit", target, "application/http; msgtype=response", block);
    let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
    let more = format!("WARC/1.1\r\nWARC-Profile: {profile}\r\n{headers}");
    [more.as_bytes(), record.strip_prefix(b"WARC/1.0\r\n").unwrap()].concat()
}

#[test]
fn a_copy_in_our_own_archive_is_a_duplicate_again() {
    let copy = || html(format!("<title>Twice</title><p>{}</p>", prose(2, 12)));
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(format!("<p>{}</p><a href=/one>o</a><a href=/two>t</a>", prose(1, 12))),
        ),
        ("/one".to_owned(), copy()),
        ("/two".to_owned(), copy()),
    ]));
    let (first, second) = (Bench::new(), Bench::new());
    assert_eq!(code(&first.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let archive = first.data().join("pages");
    let output = pages(&second, &[&archive], &[]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let pair = |bench: &Bench| {
        let log = bench.log("discarded.jsonl");
        assert_eq!(log.len(), 1, "{log:?}");
        (log[0]["kind"].clone(), log[0]["url"].clone(), log[0]["of"]["url"].clone())
    };
    assert_eq!(pair(&second), pair(&first));
    assert_eq!(pair(&second).0, "exact");
    assert_eq!(skipped(&second), []);
    // The same through a pipe, which cannot be read twice.
    let piped = Bench::new();
    let file = std::fs::File::open(archive.join("pages-00001.warc.gz")).unwrap();
    let mut cat = Command::new("cat").stdin(file).stdout(Stdio::piped()).spawn().unwrap();
    let run = crawl()
        .args(["pages", "/dev/stdin", "--data"])
        .arg(piped.data())
        .stdin(cat.stdout.take().unwrap())
        .output()
        .unwrap();
    cat.wait().unwrap();
    assert_eq!(code(&run), 0, "{}", said(&run));
    assert_eq!(pair(&piped), pair(&first));
}

#[test]
fn a_revisit_payload_is_found_in_any_input_file_and_a_missing_one_is_reported() {
    let bench = Bench::new();
    let [early, middle, late] = ["1.warc", "2.warc.gz", "3.warc"].map(|name| bench.path(name));
    let refers = |url: &str| {
        format!("WARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: 2024-05-06T07:08:09Z\r\n")
    };
    let of_one = refers("http://a.example/1");
    write(&early, revisit("http://b.example/before", &of_one));
    let gone = b"HTTP/1.1 404 Not Found\r\n\r\nno";
    let records = [
        answer("http://a.example/1", "", &page(1)),
        answer("http://a.example/2", "", &page(2)),
        record("response", "http://a.example/gone", "application/http; msgtype=response", gone),
    ];
    write(&middle, records.iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>());
    let records = [
        revisit("http://b.example/behind", &of_one),
        revisit("http://a.example/1", &of_one),
        revisit("http://b.example/lost", &refers("http://a.example/elsewhere")),
        revisit("http://b.example/gone", &refers("http://a.example/gone")),
        revisit("dns:b.example", &of_one),
        answer("http://a.example/3", "", &page(3)),
    ];
    write(&late, records.concat());
    let output = pages(&bench, &[&early, &middle, &late], &[]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(bench.summary()["pages"]["indexed"], 3, "{}", said(&output));
    let log = bench.log("discarded.jsonl");
    let mut copies: Vec<_> = log.iter().map(|l| (&l["url"], &l["of"]["url"])).collect();
    copies.sort_by_key(|(url, _)| url.to_string());
    let one = &serde_json::json!("http://a.example/1");
    let [before, behind] =
        ["http://b.example/before", "http://b.example/behind"].map(serde_json::Value::from);
    assert_eq!(copies, [(&before, one), (&behind, one)]);
    let mut skipped = skipped(&bench);
    skipped.sort();
    let expected = [
        ("dns:b.example", "protocol"),
        ("http://a.example/gone", "http-other"),
        ("http://b.example/gone", "http-other"),
        ("http://b.example/lost", "revisit"),
    ];
    assert_eq!(skipped, expected.map(|(url, reason)| (url.to_owned(), reason.to_owned())));
    assert!(text(&output.stdout).contains("known before             1"), "{}", said(&output));
}

#[test]
fn an_archive_that_is_cut_is_one_bad_input() {
    let records: Vec<Vec<u8>> =
        (1..4).map(|n| answer(&format!("http://a.example/{n}"), "", &page(n))).collect();
    let packed: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for (name, whole) in [("cut.warc.gz", packed), ("cut.warc", records.concat())] {
        for left in [whole.len() - 300, whole.len() - 30] {
            let bench = Bench::new();
            let path = bench.path(name);
            write(&path, &whole[..left]);
            let output = pages(&bench, &[&path], &[]);
            let said = said(&output);
            assert_eq!(code(&output), 7, "{said}");
            assert!(said.contains("bad inputs               1"), "{name} {left}: {said}");
            assert_eq!(text(&output.stderr).matches(name).count(), 1, "{said}");
            assert_eq!(bench.summary()["pages"]["indexed"], 2, "{said}");
        }
    }
}

#[test]
fn limits_end_the_reading_of_stored_pages_and_patterns_leave_some_out() {
    let bench = Bench::new();
    let [archive, lines] = ["a.warc", "b.jsonl"].map(|name| bench.path(name));
    let answers = (1..7).map(|n| answer(&format!("http://a.example/{n}"), "", &page(n)));
    write(&archive, answers.collect::<Vec<_>>().concat());
    let line = serde_json::json!({"id": "http://a.example/line", "text": prose(9, 12)});
    write(&lines, format!("{line}\n"));
    let files: [&Path; 2] = [&archive, &lines];
    let fetched = |bench: &Bench| bench.summary()["pages"]["fetched"].as_u64().unwrap();
    let run = |flags: &[&str], expected: i32, count: u64| {
        let output = pages(&bench, &files, flags);
        assert_eq!(code(&output), expected, "{flags:?}: {}", said(&output));
        assert_eq!(fetched(&bench), count, "{flags:?}: {}", said(&output));
        said(&output)
    };
    let said_at_limit = run(&["--max-pages", "2"], 3, 2);
    assert!(said_at_limit.contains("a larger --max-pages, or --max-pages none"), "{said_at_limit}");
    assert_eq!(bench.summary()["complete"], false);
    assert_eq!(bench.summary()["stopped"], "--max-pages is reached");
    // Known pages count once, so each run continues behind them.
    run(&["--max-pages", "4"], 3, 4);
    run(&["--max-pages", "none", "--time-limit", "0"], 3, 4);
    run(&["--time-limit", "none", "--max-bytes", "1"], 3, 5);
    run(&["--max-bytes", "none", "--exclude", "/6$", "--exclude", "line"], 0, 5);
    run(&["--exclude", "", "--include", "/6$"], 0, 6);
    run(&["--include", "", "--max-pages", "7"], 0, 7);
    assert_eq!(bench.summary()["complete"], true);
    run(&[], 0, 7);
    let mut left_out = skipped(&bench);
    left_out.sort();
    left_out.dedup();
    let expected = [("line", "exclude"), ("line", "include"), ("6", "exclude")];
    for (url, reason) in expected {
        let one = (format!("http://a.example/{url}"), reason.to_owned());
        assert!(left_out.contains(&one), "{one:?}: {left_out:?}");
    }
}

#[test]
fn an_archive_that_wget_wrote_gives_its_pages() {
    let there = Command::new("wget").arg("--version").stdout(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        say("SKIPPED: no wget here, so no archive of its own was read (Debian: wget)");
        return;
    }
    let links = "<a href=/one>o</a><a href=/two>t</a><a href=/copy>c</a><a href=/none>n</a>";
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html(format!("<p>{}</p>{links}", prose(1, 12)))),
        ("/one".to_owned(), article(2)),
        ("/two".to_owned(), article(3)),
        ("/copy".to_owned(), article(3)),
    ]));
    for packed in [true, false] {
        let bench = Bench::new();
        let run = Command::new("wget")
            .args(["--no-config", "--no-proxy", "--quiet", "--recursive", "--level", "1"])
            .args(["--tries", "1", "--warc-file", "archive"])
            .args((!packed).then_some("--no-warc-compression"))
            .arg(server.url("/"))
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        let archive = bench.path(if packed { "archive.warc.gz" } else { "archive.warc" });
        assert!(archive.exists(), "{}", said(&run));
        let output = pages(&bench, &[&archive], &[]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        assert_eq!(bench.summary()["pages"]["indexed"], 3, "{}", said(&output));
        let log = bench.log("discarded.jsonl");
        assert_eq!((log.len(), &log[0]["kind"]), (1, &"exact".into()), "{log:?}");
        assert!(skipped(&bench).contains(&(server.url("/none"), "http-other".to_owned())));
    }
}

#[test]
fn status_says_what_stored_pages_left_beside_a_crawl() {
    let server =
        Server::start(HashMap::from([("/".to_owned(), html(format!("<p>{}</p>", prose(1, 12))))]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let (new, copy) = (bench.path("new.html"), bench.path("copy.html"));
    write(&new, format!("<p>{}</p>", prose(2, 12)));
    write(&copy, format!("<p>{}</p>", prose(2, 12)));
    let output = pages(&bench, &[&new, &copy], &[]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let status: serde_json::Value =
        serde_json::from_str(&bench.run(&["status", "--json"])).unwrap();
    let counts = ["fetched", "indexed", "exact"].map(|name| status["pages"][name].as_u64());
    assert_eq!(counts, [Some(3), Some(2), Some(1)], "{status}");
}

#[test]
fn the_links_only_setting_does_not_affect_stored_pages() {
    let bench = Bench::new();
    let page = format!("<title>One</title><h1>One</h1><p>{}</p>", prose(1, 10));
    std::fs::write(bench.path("a.html"), page).unwrap();
    let pages = bench.path("a.html").display().to_string();
    let mut command = crawl();
    command.env("HAPAX_LINKS_ONLY", "true").args(["pages", &pages, "--data"]);
    assert_eq!(code(&command.arg(bench.data()).output().unwrap()), 0);
    assert!(bench.run(&["search", "one"]).contains("One"));
    assert!(bench.data().join("pages").is_dir());
}

#[test]
#[cfg(unix)]
fn a_signal_ends_between_two_pages_and_the_same_command_goes_on() {
    use std::io::Write;
    let bench = Bench::new();
    let lines: Vec<String> = (0..40)
        .map(|i| {
            let text = prose(100 + i, 12);
            format!("{}\n", serde_json::json!({"url": format!("http://a.example/{i}"), "html": format!("<p>{text}</p>")}))
        })
        .collect();
    let mut child = crawl()
        .args(["pages", "-", "--data"])
        .arg(bench.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines[..20].concat().as_bytes()).unwrap();
    // From then on it handles signals.
    while !bench.data().join("crawl.toml").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    for line in &lines[20..] {
        std::thread::sleep(std::time::Duration::from_millis(50));
        // The command may have ended already.
        let _ = input.write_all(line.as_bytes());
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(said(&output).contains("interrupted"), "{}", said(&output));
    assert!(bench.summary()["pages"]["indexed"].as_u64().unwrap() < 40);
    let all = bench.path("all.jsonl");
    write(&all, lines.concat());
    assert_eq!(code(&pages(&bench, &[&all], &[])), 0);
    assert_eq!(bench.summary()["pages"]["indexed"], 40);
    bench.run(&["check"]);
}

#[test]
fn after_a_kill_the_status_counts_what_is_committed() {
    use std::io::Write;
    let bench = Bench::new();
    let mut child = crawl()
        .args(["pages", "-", "--data"])
        .arg(bench.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let begun = std::time::Instant::now();
    for number in 0.. {
        let html = format!("<p>{}</p>", prose(100 + number, 12));
        let url = format!("http://a.example/{number}");
        writeln!(input, "{}", serde_json::json!({"url": url, "html": html})).unwrap();
        if bench.data().join("summary.json").exists() {
            break;
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "no commit");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let status: serde_json::Value =
        serde_json::from_str(&bench.run(&["status", "--json"])).unwrap();
    assert!(status["pages"]["indexed"].as_u64() > Some(0), "{status}");
    assert_eq!((&status["complete"], &status["stop"]), (&false.into(), &"running".into()));
    assert!(bench.run(&["status"]).contains("by a kill"));
}

//! Pages, sites and queries that several test files use.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::*;

pub(crate) fn pipe(
    args: &[&str],
    data: Option<&std::path::Path>,
    input: &str,
) -> (i32, String, String) {
    let mut command = crawl();
    command.args(args);
    if let Some(data) = data {
        command.arg("--data").arg(data);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its flags may end before this is written.
    match child.stdin.take().unwrap().write_all(input.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    let output = child.wait_with_output().unwrap();
    (code(&output), text(&output.stdout), text(&output.stderr))
}

/// Two articles: one with an equal copy and a print version, one with a copy under a worse address that is found
/// first.
pub(crate) fn site() -> Server {
    let (one, two) = (prose(1, 14), prose(2, 14));
    let changed = one.replacen("river", "rivulet", 1);
    Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(format!(
                "<p>{}</p><a href=/one>1</a><a href='/copy/one'>2</a><a href=/print/one>3</a><a href='/show?page=two&x=1'>4</a><a href=/two>5</a>",
                prose(3, 14)
            )),
        ),
        ("/one".to_owned(), titled("One", &one, "")),
        ("/copy/one".to_owned(), titled("One", &one, "")),
        (
            "/print/one".to_owned(),
            titled("One", &changed, "<p>Printed on a day when it had been raining.</p>"),
        ),
        ("/show?page=two&x=1".to_owned(), titled("Two", &two, "")),
        ("/two".to_owned(), titled("Two", &two, "")),
    ]))
}

pub(crate) fn crawled() -> (Bench, Server) {
    let (bench, server) = (Bench::new(), site());
    let output = bench.crawl(&[server.url("/")], &["--concurrency", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    (bench, server)
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{text}</p>")
}

/// Imports pages with `crawl pages`, in the order of their names.
pub(crate) fn stored(bench: &Bench, pages: &[(&str, String)], flags: &[&str]) {
    let folder = bench.path("tree");
    std::fs::create_dir_all(&folder).unwrap();
    let mut lines = String::new();
    for (url, body) in pages {
        lines.push_str(&format!(
            "{}\n",
            serde_json::json!({"id": url, "url": url, "html": format!("<title>T</title><main><h1>T</h1>{body}</main>")})
        ));
    }
    let mut child = crawl()
        .args(["pages", "-", "-q", "--data"])
        .arg(bench.data())
        .args(flags)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

pub(crate) fn id_of(rows: &[Value], url: &str) -> String {
    let row = rows.iter().rev().find(|row| row["url"].as_str().unwrap().ends_with(url));
    row.unwrap_or_else(|| panic!("{url} in {rows:?}"))["id"].to_string()
}

pub(crate) fn article(number: u64) -> Page {
    html(format!("<title>Page {number}</title><h1>Page {number}</h1><p>{}</p>", prose(number, 10)))
}

pub(crate) fn typed(content_type: &str, body: impl Into<Vec<u8>>) -> Page {
    let headers = format!("Content-Type: {content_type}\r\n");
    Page { status: "200 OK", headers, body: body.into() }
}

pub(crate) fn plain(body: impl Into<String>) -> Page {
    typed("text/plain", body.into())
}

pub(crate) fn reasons(bench: &Bench, server: &Server) -> HashMap<String, String> {
    let short = |line: &serde_json::Value| {
        let url = line["url"].as_str().unwrap().replace(&server.url(""), "");
        (url, line["reason"].as_str().unwrap().to_owned())
    };
    bench.log("skipped.jsonl").iter().map(short).collect()
}

pub(crate) fn copy(from: &std::path::Path, to: &std::path::Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// `groups` texts of `copies` near-duplicate pages each, linked page by page.
pub(crate) fn web(groups: u64, copies: u64) -> HashMap<String, Page> {
    let mut pages = HashMap::new();
    let total = groups * copies;
    for number in 0..total {
        let links: String = [number * 2 + 1, number * 2 + 2, (number * 7 + 3) % total]
            .iter()
            .filter(|next| **next < total)
            .map(|next| format!("<a href=/p{next}>n</a> "))
            .collect();
        let body = prose(number % groups + 1, 10);
        pages.insert(
            if number == 0 { "/".to_owned() } else { format!("/p{number}") },
            html(format!("<title>{number}</title><nav>{links}</nav><main><p>{body}</p><p>Copy {number} of it.</p></main>")),
        );
    }
    // /p0 is linked but does not exist.
    pages
}

pub(crate) fn titled(title: &str, body: &str, more: &str) -> Page {
    html(format!(
        "<title>{title}</title><nav><a href=/>Home</a></nav><main><h1>{title}</h1><p>{body}</p>{more}</main>"
    ))
}

impl Bench {
    pub(crate) fn rows(&self, args: &[&str]) -> Vec<Value> {
        let all: Vec<&str> = ["duplicates", "list", "--json"].iter().chain(args).copied().collect();
        json_lines(self.run(&all).as_bytes())
    }

    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let hits = json_lines(self.run(&["search", query, "--json", "--limit", "50"]).as_bytes());
        let mut urls: Vec<String> =
            hits.iter().map(|hit| hit["url"].as_str().unwrap().to_owned()).collect();
        urls.sort();
        urls
    }

    pub(crate) fn id_of(&self, url: &str) -> String {
        id_of(&self.rows(&[]), url)
    }

    pub(crate) fn checked(&self) {
        let check = crawl().arg("check").arg("--data").arg(self.data()).output().unwrap();
        assert_eq!(code(&check), 0, "{}{}", text(&check.stdout), text(&check.stderr));
    }

    /// The exit code of a command that may fail.
    pub(crate) fn tried(&self, args: &[&str]) -> i32 {
        code(&crawl().args(args).arg("--data").arg(self.data()).output().unwrap())
    }

    pub(crate) fn object(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args)).unwrap()
    }

    pub(crate) fn kept(&self) -> Vec<String> {
        let rows = json_lines(self.run(&["export"]).as_bytes());
        rows.iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Checks that counts, log and index agree, with each page once.
    pub(crate) fn agrees(&self, what: &str) {
        let pages = self.object(&["status", "--json"])["pages"].take();
        let stats = self.object(&["duplicates", "stats", "--json"]);
        for kind in ["exact", "near", "canonical", "part"] {
            let logged = stats["kinds"][kind].as_u64().unwrap_or(0);
            assert_eq!(pages[kind], logged, "{what}: {kind} in {stats}");
        }
        assert_eq!(pages["discarded_bytes"], stats["bytes"], "{what}: {stats}");
        let kept = self.kept();
        assert_eq!(pages["indexed"], kept.len(), "{what}: {kept:?}");
        let rows = self.rows(&[]);
        let url = |row: &Value| row["url"].as_str().unwrap().to_owned();
        let mut all: Vec<String> =
            rows.iter().filter(|row| row["state"].is_null()).map(url).chain(kept.clone()).collect();
        all.sort();
        let once = all.len();
        all.dedup();
        assert_eq!(all.len(), once, "{what}: a page stands twice: {rows:?}");
        for row in &rows {
            assert_ne!(row["url"], row["of"]["url"], "{what}: {row}");
            let restored = row["restored"].is_string();
            assert!(!restored || kept.contains(&url(row)), "{what}: {row}");
        }
        self.checked();
    }

    /// Checks that the table of hosts, the totals and the log agree.
    pub(crate) fn agree(&self, when: &str) {
        let json = |args: &[&str]| serde_json::from_str::<Value>(&self.run(args)).unwrap();
        let (stats, status) =
            (json(&["duplicates", "stats", "--json"]), json(&["status", "--json"]));
        let number = |value: &Value| value.as_u64().unwrap();
        let pages = &status["pages"];
        let discarded: u64 =
            ["exact", "near", "canonical", "part"].iter().map(|kind| number(&pages[kind])).sum();
        let told = [discarded, number(&pages["alias"]), number(&pages["discarded_bytes"])];
        let log = ["discarded", "aliases", "bytes"].map(|name| number(&stats[name]));
        assert_eq!(told, log, "{when}: {status} {stats}");
        let by_host = |rows: &Value| -> BTreeMap<String, u64> {
            let rows = rows.as_array().into_iter().flatten();
            let rows = rows.map(|row| (row["host"].to_string(), number(&row["discarded"])));
            rows.filter(|(_, discarded)| *discarded > 0).collect()
        };
        assert_eq!(by_host(&status["hosts"]), by_host(&stats["hosts"]), "{when}");
        // Requests are counted at a commit, by host and in total.
        let hosts = status["hosts"].as_array().into_iter().flatten();
        let fetched: u64 = hosts.map(|row| number(&row["fetched"])).sum();
        assert_eq!(fetched, number(&pages["fetched"]), "{when}: {status}");
    }

    /// The same, and summary.json of the last command.
    pub(crate) fn agree_with_summary(&self, when: &str) {
        self.agree(when);
        let status: Value = serde_json::from_str(&self.run(&["status", "--json"])).unwrap();
        let summary = self.summary();
        for part in ["pages", "hosts"] {
            assert_eq!(status[part], summary[part], "{when}");
        }
        self.checked();
    }

    pub(crate) fn exported(&self) -> Vec<String> {
        let rows = json_lines(self.run(&["export"]).as_bytes());
        let mut urls: Vec<String> =
            rows.iter().map(|row| row["url"].as_str().unwrap().to_owned()).collect();
        urls.sort();
        urls
    }

    /// Of each cluster: its page, copies, redirects, and whether its page is gone.
    pub(crate) fn clusters(&self, server: &Server) -> Vec<(String, u64, u64, bool)> {
        let rows = json_lines(self.run(&["duplicates", "clusters", "--json"]).as_bytes());
        let row = |row: &Value| {
            let number = |name: &str| row[name].as_u64().unwrap();
            let url = row["of"]["url"].as_str().unwrap().replace(&server.url(""), "");
            (url, number("copies"), number("redirects"), row["of_gone"] == true)
        };
        let mut rows: Vec<_> = rows.iter().map(row).collect();
        rows.sort();
        rows
    }
}

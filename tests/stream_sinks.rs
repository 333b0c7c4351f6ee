//! Consumers: the sink of the guide that needs another program, and one that ends.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::helpers::crawled;
use crate::support::{crawl, json_lines, read_head, text};

/// A search index that accepts bulk requests, and refuses some of them.
#[derive(Clone, Default)]
struct SearchIndex {
    pages: Arc<Mutex<HashMap<String, Value>>>,
    requests: Arc<Mutex<u64>>,
}

impl SearchIndex {
    /// Starts a server. Returns its address.
    fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let index = self.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|s| index.answer(s)));
        address
    }

    fn answer(&self, mut stream: TcpStream) {
        let Some((_, head)) = read_head(&mut stream) else { return };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.unwrap().trim().parse().unwrap();
        let begun = head.split_once("\r\n\r\n").unwrap().1.to_owned();
        if head.contains("Expect: 100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        }
        let mut body = begun.into_bytes();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut rest = vec![0; length - body.len()];
        stream.read_exact(&mut rest).unwrap();
        body.extend(rest);
        let mut requests = self.requests.lock().unwrap();
        *requests += 1;
        // The second request fails, as of an index that is full.
        let (status, answer) = match *requests {
            2 => ("429 Too Many Requests", r#"{"error":"rejected"}"#),
            _ => {
                self.take(&body);
                ("200 OK", r#"{"took":1,"errors":false,"items":[]}"#)
            }
        };
        let length = answer.len();
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n");
        stream.write_all(format!("{head}\r\n{answer}").as_bytes()).unwrap();
    }

    fn take(&self, body: &[u8]) {
        let mut pages = self.pages.lock().unwrap();
        let mut lines = json_lines(body).into_iter();
        while let Some(action) = lines.next() {
            let name = |action: &Value| action["_id"].as_str().unwrap().to_owned();
            match action.get("index") {
                Some(action) => drop(pages.insert(name(action), lines.next().unwrap())),
                None => drop(pages.remove(&name(&action["delete"]))),
            }
        }
    }
}

#[test]
fn a_follower_ends_with_its_consumer_though_no_event_comes() {
    let (bench, _server) = crawled();
    let mut child = crawl()
        .args(["stream", "--follow", "--data"])
        .arg(bench.data())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().take(7).all(|line| line.is_ok()));
    drop(lines);
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it waits for events that nobody reads");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_script_of_the_guide_keeps_a_search_index_equal_to_the_kept_pages() {
    if Command::new("curl").arg("--version").output().is_err() {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/feed-another-program.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("## A sink for OpenSearch").nth(1).unwrap();
    let script = section.split("```bash\n").nth(1).unwrap().split("```").next().unwrap();
    let (index, (bench, server)) = (SearchIndex::default(), crawled());
    // Small batches, so that there are several.
    let script = script.replace("localhost:9200", &index.serve()).replace("1000", "3");
    let program = Path::new(env!("CARGO_BIN_EXE_crawl")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([program].into_iter().chain(std::env::split_paths(&path)));
    let path = path.unwrap();
    let run = || {
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(bench.path(""))
            .env("PATH", &path)
            .env("HAPAX_DATA", bench.data())
            .output()
            .unwrap();
        (output.status.success(), text(&output.stderr))
    };
    let indexed = || {
        let pages = index.pages.lock().unwrap();
        let mut urls: Vec<String> =
            pages.values().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
        urls.sort();
        urls
    };
    let (success, said) = run();
    assert!(!success, "a refused batch ends the script: {said}");
    assert_ne!(indexed(), bench.exported());
    let (success, said) = run();
    assert!(success, "{said}");
    assert_eq!(indexed(), bench.exported());
    bench.run(&["duplicates", "keep", &server.url("/copy/one")]);
    bench.run(&["forget", &server.url("/two")]);
    let (success, said) = run();
    assert!(success, "{said}");
    assert_eq!(indexed(), bench.exported());
}

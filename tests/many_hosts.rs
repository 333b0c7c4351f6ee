//! A crawl of many hosts: memory and connections for each are bounded.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::support::{Bench, code, prose, text};

/// Connections open now, and their peak.
#[derive(Debug, Default)]
struct Connections {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Answers on all loopback addresses, and keeps each connection until the client closes it.
fn patient_server(connections: &Arc<Connections>) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::clone(connections);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connections = Arc::clone(&connections);
            std::thread::spawn(move || {
                let now = connections.now.fetch_add(1, SeqCst) + 1;
                connections.most.fetch_max(now, SeqCst);
                let _ = answer_all(&stream);
                connections.now.fetch_sub(1, SeqCst);
            });
        }
    });
    port
}

fn answer_all(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let host = stream.local_addr()?.ip().to_string();
    let (mut out, mut input) = (stream, BufReader::new(stream));
    loop {
        let (mut first, mut closes, mut line) = (String::new(), false, String::new());
        if input.read_line(&mut first)? == 0 {
            return Ok(());
        }
        while input.read_line(&mut line)? > 2 {
            closes |= line.eq_ignore_ascii_case("connection: close\r\n");
            line.clear();
        }
        let seed = host.rsplit('.').next().and_then(|last| last.parse().ok()).unwrap_or(0);
        let body = format!("<title>{host}</title><main><p>{}</p></main>", prose(seed + 1, 8));
        let status = if first.starts_with("GET / ") { "200 OK" } else { "404 Not Found" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        out.write_all(head.as_bytes())?;
        if closes {
            return Ok(());
        }
    }
}

#[test]
fn connections_that_wait_are_few_however_many_hosts_there_are() {
    let connections = Arc::default();
    let port = patient_server(&connections);
    let hosts: Vec<String> = (1..=200).map(|n| format!("http://127.9.0.{n}:{port}/")).collect();
    let bench = Bench::new();
    let flags = ["--max-idle-connections", "20", "--concurrency", "8"];
    let output = bench.crawl(&hosts, &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.summary()["pages"]["fetched"], 200);
    let most = connections.most.load(SeqCst);
    assert!(most > 8, "some wait for another request: {most}");
    // Connections in use, idle ones, and some whose closing the server has not seen yet.
    assert!(most <= 20 + 8 + 8, "{most} connections at a time");
}

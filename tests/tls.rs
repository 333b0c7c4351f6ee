//! TLS: trusted certificates, HTTP/2 in the archive, and connections that end without notice.

use std::collections::HashMap;
use std::io::{Read, Write};

use hapax_warc::{Reader, Record};

use crate::helpers::article;
use crate::refusals::{line_of, tls_site};
use crate::serve::{Connection, SELF_SIGNED, http2, tls_server};
use crate::support::{Bench, Server, code, missing, send, text};

/// Returns the only record of this type and URL in the archive.
fn record(bench: &Bench, kind: &str, url: &str) -> Record {
    let file = std::fs::File::open(bench.data().join("pages/pages-00001.warc.gz")).unwrap();
    let mut reader = Reader::new(file, 16 << 20).unwrap();
    let mut found = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let is = |name: &str, value: &str| record.header(name) == Some(value);
        if is("warc-type", kind) && is("warc-target-uri", url) {
            found.push(record);
        }
    }
    assert_eq!(found.len(), 1, "{kind} {url}: {found:?}");
    found.remove(0)
}

#[test]
fn a_page_fetched_over_http2_is_archived_as_an_http1_message() {
    let page = article(1).body;
    let body = page.clone();
    let port = http2::server(move |connection, stream| {
        connection.write_all(&http2::page(stream, &body)).is_ok()
    });
    let other = Server::start(HashMap::from([("/".to_owned(), article(2))]));
    let (url, host) = (format!("https://127.0.0.1:{port}/"), format!("127.0.0.1:{port}"));
    let bench = Bench::new();
    let flags = ["--insecure", &host, "--no-sitemaps"];
    let output = bench.crawl(&[url.clone(), other.url("/")], &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.exported().len(), 2);

    let response = record(&bench, "response", &url);
    assert_eq!(response.header("warc-protocol"), Some("h2"), "{:?}", response.headers);
    let block = text(&response.block);
    let (head, archived) = block.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 \r\n"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("transfer-encoding"), "{head}");
    assert!(head.lines().skip(1).all(|line| !line.starts_with(':')), "{head}");
    assert_eq!(archived, text(&page));
    let request = text(&record(&bench, "request", &url).block);
    assert!(request.starts_with(&format!("GET / HTTP/1.1\r\nhost: {host}\r\n")), "{request}");
    // The archive says nothing about other protocols.
    let response = record(&bench, "response", &other.url("/"));
    assert_eq!(response.header("warc-protocol"), None, "{:?}", response.headers);
}

/// Returns the path of a request; `None` if the client ends the handshake.
fn path_of(connection: &mut Connection) -> Option<String> {
    let mut head = [0; 4096];
    let length = connection.read(&mut head).ok()?;
    Some(text(&head[..length]).split(' ').nth(1)?.to_owned())
}

/// Without a length or chunks, only close_notify shows that a body is complete (RFC 9112, section 9.8).
#[test]
fn a_body_that_ends_without_close_notify_is_used_if_it_has_its_end_tag() {
    let port = tls_server(SELF_SIGNED, &[], |mut connection| {
        let Some(path) = path_of(&mut connection) else { return };
        let end = match path.as_str() {
            "/half" => "",
            "/whole" | "/closed" => "</html>",
            _ => return send(&mut connection, &missing()),
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n";
        let page = text(&article(path.len() as u64).body);
        let _ = connection.write_all(format!("{head}<html>{page}{end}").as_bytes());
        if path == "/closed" {
            connection.conn.send_close_notify();
        }
        let _ = connection.flush();
    });
    let host = format!("127.0.0.1:{port}");
    let url = |path: &str| format!("https://{host}{path}");
    let bench = Bench::new();
    let seeds = ["/closed", "/half", "/whole"].map(url);
    let output = bench.crawl(&seeds, &["--insecure", &host]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(bench.exported(), [url("/closed"), url("/whole")]);
    assert_eq!(line_of(&bench, &url("/whole"))["reason"], "cut-short");
    let line = line_of(&bench, &url("/half"));
    assert_eq!((&line["reason"], &line["again"]), (&"protocol".into(), &"next-run".into()));
    assert!(line_of(&bench, &url("/closed")).is_null());
}

#[test]
fn ssl_cert_file_names_a_private_authority() {
    let root = format!("{}/crates/fetch/tests/data/root.pem", env!("CARGO_MANIFEST_DIR"));
    let seed = [format!("https://127.0.0.1:{}/", tls_site())];
    let bench = Bench::new();
    let crawl = |file: Option<&str>| {
        let mut command = bench.command(&seed, &[]);
        match file {
            Some(file) => command.env("SSL_CERT_FILE", file),
            None => command.env_remove("SSL_CERT_FILE"),
        };
        command.output().unwrap()
    };
    let output = crawl(None);
    assert_eq!(code(&output), 4, "{}", text(&output.stderr));
    assert_eq!(line_of(&bench, &seed[0])["reason"], "tls");
    let output = crawl(Some("no-such.pem"));
    let said = text(&output.stderr);
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("SSL_CERT_FILE no-such.pem: "), "{said}");
    let output = crawl(Some(&root));
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(bench.kept(), seed);
}

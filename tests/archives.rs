//! Archives in the forms that other crawlers write, built record by record.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Bench, crawl, prose, text};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

pub(crate) fn record(kind: &str, target: &str, content_type: &str, block: &[u8]) -> Vec<u8> {
    let mut record = format!("WARC/1.0\r\nWARC-Type: {kind}\r\n").into_bytes();
    if !target.is_empty() {
        record.extend(format!("WARC-Target-URI: {target}\r\n").bytes());
    }
    record.extend(
        format!(
            "WARC-Date: 2024-05-06T07:08:09Z\r\nWARC-Record-ID: <urn:uuid:0>\r\n\
             Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            block.len()
        )
        .bytes(),
    );
    record.extend(block);
    record.extend(b"\r\n\r\n");
    record
}

pub(crate) fn answer(target: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{headers}\r\n");
    let block = [head.as_bytes(), body].concat();
    record("response", target, "application/http; msgtype=response", &block)
}

pub(crate) fn page(seed: u64) -> Vec<u8> {
    format!("<title>Page {seed}</title><h1>Page {seed}</h1><p>{}</p>", prose(seed, 12)).into_bytes()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in body.chunks(100) {
        out.extend(format!("{:x}\r\n", piece.len()).bytes());
        out.extend(piece);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

#[test]
fn pages_that_a_proxy_changed_are_pages_and_other_statuses_are_not() {
    // RFC 9110, section 15.3.4.
    let bench = Bench::new();
    let statuses = [200_u64, 203, 206, 226];
    let records: Vec<Vec<u8>> = statuses
        .iter()
        .map(|status| {
            let head = format!("HTTP/1.1 {status} Status\r\nContent-Type: text/html\r\n\r\n");
            let block = [head.as_bytes(), &page(*status)].concat();
            let target = format!("http://a.example/{status}");
            record("response", &target, "application/http; msgtype=response", &block)
        })
        .collect();
    let file = bench.path("a.warc");
    std::fs::write(&file, records.concat()).unwrap();
    let output = crawl().arg("pages").arg(&file).arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let exported = bench.run(&["export"]);
    for status in statuses {
        let title = format!("\"title\":\"Page {status}\"");
        assert_eq!(exported.contains(&title), status < 204, "{status}: {exported}");
    }
}

#[test]
fn archives_of_other_crawlers_give_their_pages_and_nothing_else() {
    let bench = Bench::new();
    let folder = bench.path("archives");
    std::fs::create_dir(&folder).unwrap();
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.join(name), bytes).unwrap();

    // Heritrix: one gzip member a record, DNS and robots.txt records among the pages, bodies as sent.
    let packed = chunked(&gzip(&page(1)));
    let members = [
        record("warcinfo", "", "application/warc-fields", b"software: Heritrix/3.4.0\r\n"),
        record(
            "response",
            "dns:a.example",
            "text/dns",
            b"20240506070809\r\na.example.\t60\tIN\tA\t1.2.3.4\r\n",
        ),
        answer("http://a.example/robots.txt", "", b"User-agent: *\nDisallow:\n"),
        record(
            "request",
            "http://a.example/1",
            "application/http; msgtype=request",
            b"GET /1 HTTP/1.0\r\n\r\n",
        ),
        answer(
            "http://a.example/1",
            "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n",
            &packed,
        ),
        record(
            "metadata",
            "http://a.example/1",
            "application/warc-fields",
            b"via: http://a.example/\r\n",
        ),
        record(
            "revisit",
            "http://a.example/1?again",
            "application/http; msgtype=response",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ),
    ];
    write("heritrix.warc.gz", members.iter().flat_map(|member| gzip(member)).collect());

    // wget: uncompressed, addresses in angle brackets, its log at the end.
    let wget = [
        answer("<http://b.example/2>", "", &page(2)),
        record(
            "resource",
            "<metadata://gnu.org/software/wget/warc/wget.log>",
            "text/plain",
            prose(9, 9).as_bytes(),
        ),
    ];
    write("wget.warc", wget.concat());

    // Common Crawl: decoded bodies, which separate headers report; texts of pages as conversion records.
    let length =
        format!("X-Crawler-Content-Encoding: gzip\r\nContent-Length: {}\r\n", page(3).len());
    let common = [
        answer("https://c.example/3", &length, &page(3)),
        record("conversion", "https://c.example/3", "text/plain", prose(3, 12).as_bytes()),
    ];
    write("common.warc.gz", common.iter().flat_map(|member| gzip(member)).collect());

    // The texts of a crawl without the pages (WET), and a crawler's settings.
    let texts = [
        record("warcinfo", "", "application/warc-fields", b"software: a program\r\n"),
        record("conversion", "https://d.example/4", "text/plain", prose(4, 12).as_bytes()),
        record("resource", "urn:pageinfo:https://d.example/4", "application/json", b"{}"),
    ];
    write("common.warc.wet.gz", texts.iter().flat_map(|member| gzip(member)).collect());

    // ARC, the predecessor of WARC.
    let arc = |url: &str, kind: &str, block: &[u8]| {
        let head = format!("{url} 1.2.3.4 20080430204825 {kind} {}\n", block.len());
        [head.as_bytes(), block, b"\n"].concat()
    };
    let old = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".as_slice(), &page(5)].concat();
    let members = [
        arc("filedesc://old.arc.gz", "text/plain", b"1 0 InternetArchive\n"),
        arc("dns:e.example", "text/dns", b"20080430204825\ne.example. 60 IN A 1.2.3.4\n"),
        arc("http://e.example/5", "text/html", &old),
    ];
    write("old.arc.gz", members.iter().flat_map(|member| gzip(member)).collect());

    let output =
        crawl().arg("pages").arg(&folder).arg("--data").arg(bench.data()).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(bench.summary()["pages"]["indexed"], 5, "{said}");
    for (word, url) in [
        (1, "http://a.example/1"),
        (2, "http://b.example/2"),
        (3, "https://c.example/3"),
        (5, "http://e.example/5"),
    ] {
        let found = bench.run(&["search", &format!("\"Page {word}\""), "--json"]);
        assert!(found.contains(url), "{url}: {found}");
    }
    let exported = bench.run(&["export"]);
    assert!(exported.contains("\"url\":\"https://d.example/4\""), "{exported}");
    assert!(exported.contains("\"fetched\":\"2008-04-30T20:48:25Z\""), "{exported}");
    let mut skipped: Vec<(String, String)> = bench
        .log("skipped.jsonl")
        .iter()
        .map(|line| (line["url"].to_string(), line["reason"].to_string()))
        .collect();
    skipped.sort();
    let expected = [
        ("dns:a.example", "protocol"),
        ("dns:e.example", "protocol"),
        ("http://a.example/1?again", "revisit"),
        ("http://a.example/robots.txt", "content-type"),
        ("metadata://gnu.org/software/wget/warc/wget.log", "protocol"),
        ("urn:pageinfo:https://d.example/4", "protocol"),
    ];
    let quoted = |text: &str| format!("\"{text}\"");
    assert_eq!(skipped, expected.map(|(url, reason)| (quoted(url), quoted(reason))), "{said}");
}

#[test]
fn oversized_records_and_records_without_a_url_are_reported_and_the_rest_is_read() {
    let bench = Bench::new();
    let path = bench.path("forged.warc");
    let prose = |bytes: usize| {
        let text = prose(7, 12);
        format!("<p>{}</p>", text.repeat(bytes / text.len() + 1)).into_bytes()
    };
    let (larger, endless) = (prose(3 << 19), prose(3 << 20));
    let records = [
        answer("http://a.example/larger", "", &larger),
        answer("http://a.example/chunked", "Transfer-Encoding: chunked\r\n", &chunked(&larger)),
        answer("http://a.example/identity", "Content-Encoding: identity\r\n", &larger),
        record("resource", "http://a.example/resource", "text/html", &larger),
        answer("http://a.example/endless", "", &endless),
        record("resource", "http://a.example/endless-resource", "text/html", &endless),
        answer("no address", "", &page(1)),
        record("response", "", "application/http; msgtype=response", b"HTTP/1.1 200 OK\r\n\r\n"),
        answer("http://a.example/2", "", &page(2)),
    ];
    std::fs::write(&path, records.concat()).unwrap();
    let mut command = crawl();
    command.arg("pages").arg(&path).args(["--max-body", "1MiB"]).arg("--data").arg(bench.data());
    let output = command.output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(bench.summary()["pages"]["indexed"], 1, "{said}");
    let skipped: Vec<(String, String)> = bench
        .log("skipped.jsonl")
        .iter()
        .map(|line| {
            let field = |name: &str| line[name].as_str().unwrap().to_owned();
            (field("url").replace("http://a.example/", ""), field("reason"))
        })
        .collect();
    let expected = [
        ("larger", "too-large"),
        ("chunked", "too-large"),
        ("identity", "too-large"),
        ("resource", "too-large"),
        ("endless", "too-large"),
        ("endless-resource", "too-large"),
        ("no address", "protocol"),
        ("", "protocol"),
    ];
    assert_eq!(
        skipped,
        expected.map(|(url, reason)| (url.to_owned(), reason.to_owned())),
        "{said}"
    );
}

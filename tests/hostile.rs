//! Servers that mean harm: each has an outcome with a name, within its limits, and honest hosts go on.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Bench, Page, Server, code, html, prose, read_head, say, send, text};

/// What a hostile server does with a connection, after the head of the request was read.
type Act = fn(&mut TcpStream, &str);

/// A listener whose robots.txt is missing, unless the behaviour is about that.
fn hostile(act: Act, robots_too: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Some((path, _)) = read_head(&mut stream) else { return };
                let harmless = matches!(path.as_str(), "/robots.txt" | "/sitemap.xml");
                if harmless && !robots_too {
                    send(&mut stream, &crate::support::missing());
                } else {
                    act(&mut stream, &path);
                }
            });
        }
    });
    port
}

fn raw(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    let _ = stream.write_all(bytes.as_ref());
}

/// As long as somebody listens, and no longer than a minute.
fn drip(stream: &mut TcpStream, piece: &[u8], pause: Duration) {
    for _ in 0..60_000 {
        if stream.write_all(piece).is_err() {
            return;
        }
        std::thread::sleep(pause);
    }
}

fn ok(stream: &mut TcpStream, headers: &str, body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    raw(
        stream,
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        ),
    );
    raw(stream, body);
}

/// 64 MiB of spaces, packed once, so that the servers cost nothing.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&vec![b' '; 64 << 20]));
static BOMB_IN_GZIP: LazyLock<Vec<u8>> = LazyLock::new(|| gzip(&BOMB));

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::best());
    gz.write_all(body).unwrap();
    gz.finish().unwrap()
}

fn go_to(stream: &mut TcpStream, target: &str) {
    raw(
        stream,
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    );
}

const SECOND: Duration = Duration::from_secs(1);
const NONE: Duration = Duration::ZERO;

/// Name, what it does, what skipped.jsonl may say of it ("" for a page that was used).
const BEHAVIOURS: &[(&str, Act, &[&str])] = &[
    ("accepts and hangs", |_, _| std::thread::sleep(8 * SECOND), &["timeout"]),
    ("closes at once", |_, _| {}, &["protocol", "connect"]),
    (
        "closes in the body",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
        &["protocol"],
    ),
    (
        "drips headers",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\n");
            drip(s, b"x", SECOND);
        },
        &["timeout"],
    ),
    (
        "drips a body",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
            drip(s, b"x", SECOND / 2);
        },
        &["timeout"],
    ),
    (
        "endless body",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
            drip(s, &[b'x'; 65_536], NONE);
        },
        &["too-large"],
    ),
    (
        "endless chunks",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            drip(s, b"1\r\nx\r\n", NONE);
        },
        &["too-large", "timeout", "protocol"],
    ),
    (
        "endless headers",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\n");
            drip(s, b"X-Header: more of the same\r\n", NONE);
        },
        &["protocol"],
    ),
    ("a thousand headers", |s, _| ok(s, &"X-A: b\r\n".repeat(1000), "x"), &["protocol"]),
    (
        "a header of a megabyte",
        |s, _| ok(s, &format!("X-A: {}\r\n", "b".repeat(1 << 20)), "x"),
        &["protocol"],
    ),
    ("a header without a colon", |s, _| ok(s, "no colon here\r\n", "x"), &["protocol"]),
    (
        "bare line feeds",
        |s, _| raw(s, "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 6\n\n<p>ok "),
        &["", "protocol"],
    ),
    ("NUL in a header", |s, _| ok(s, "X-A: a\0b\r\n", "x"), &["protocol"]),
    ("two lengths", |s, _| ok(s, "Content-Length: 3\r\n", "<p>abcdef"), &["protocol"]),
    (
        "a negative length",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"),
        &["protocol"],
    ),
    (
        "a huge length",
        |s, _| raw(s, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nx"),
        &["too-large", "protocol"],
    ),
    (
        "more than its length",
        |s, _| {
            raw(
                s,
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<p>ok {}",
                    "x".repeat(100_000)
                ),
            )
        },
        &[""],
    ),
    (
        "a chunk too large to count",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\nx",
            )
        },
        &["protocol"],
    ),
    (
        "a flood of chunk extensions",
        |s, _| {
            raw(s, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
            drip(s, &[b'a'; 16_384], NONE);
        },
        &["protocol"],
    ),
    (
        "a flood of trailers",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            );
            drip(s, b"X-T: y\r\n", NONE);
        },
        &["protocol", "timeout"],
    ),
    (
        "a flood of 1xx",
        |s, _| drip(s, b"HTTP/1.1 102 Processing\r\n\r\n", NONE),
        &["timeout", "protocol"],
    ),
    (
        "204 with a body",
        |s, _| raw(s, "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody"),
        &["http-other"],
    ),
    ("304 unasked", |s, _| raw(s, "HTTP/1.1 304 Not Modified\r\n\r\n"), &["http-other"]),
    ("no HTTP at all", |s, _| raw(s, "SSH-2.0-OpenSSH_9.2\r\n"), &["protocol"]),
    ("a gzip bomb", |s, _| ok(s, "Content-Encoding: gzip\r\n", &*BOMB), &["bomb"]),
    (
        "a gzip bomb in gzip",
        |s, _| ok(s, "Content-Encoding: gzip, gzip\r\n", &*BOMB_IN_GZIP),
        &["bomb"],
    ),
    ("gzip three times", |s, _| ok(s, "Content-Encoding: gzip, gzip, gzip\r\n", "x"), &["bomb"]),
    (
        "gzip cut short",
        |s, _| {
            let all = gzip(prose(1, 30).as_bytes());
            ok(s, "Content-Encoding: gzip\r\n", &all[..all.len() / 2]);
        },
        &["", "encoding"],
    ),
    ("gzip that is none", |s, _| ok(s, "Content-Encoding: gzip\r\n", "<p>plain"), &["encoding"]),
    ("an unknown encoding", |s, _| ok(s, "Content-Encoding: quantum\r\n", "x"), &["encoding"]),
    ("a redirect loop", |s, path| go_to(s, if path == "/a" { "/b" } else { "/a" }), &[""]),
    (
        "a redirect chain",
        |s, path| {
            let step = path.len();
            go_to(s, &format!("/{}", "x".repeat(step)));
        },
        &[""],
    ),
    ("a redirect to a file", |s, _| go_to(s, "file:///etc/passwd"), &[""]),
    ("a redirect to data", |s, _| go_to(s, "data:text/html,hello"), &[""]),
    (
        "a redirect of 100 KiB",
        |s, _| go_to(s, &format!("/{}", "x".repeat(100 << 10))),
        &["http-other", "protocol", ""],
    ),
    ("deep nesting", |s, _| ok(s, "", "<div>".repeat(64_000)), &[""]),
    (
        "one attribute of half a megabyte",
        |s, _| ok(s, "", format!("<p class='{}'>x", "a ".repeat(1 << 18))),
        &[""],
    ),
    (
        "a hundred thousand links",
        |s, _| {
            ok(
                s,
                "",
                (0..100_000)
                    .map(|i| format!("<a href=//x{i}.example/>"))
                    .collect::<String>()
                    .get(..900_000)
                    .unwrap_or_default(),
            )
        },
        &[""],
    ),
    (
        "an endless calendar",
        |s, path| {
            let number: u32 =
                path.rsplit('=').next().and_then(|n| n.parse().ok()).unwrap_or(2035 * 12);
            ok(
                s,
                "",
                format!(
                    "<p>Nothing in this month.</p><a href='/cal?year={}&month={}'>next</a>",
                    number / 12,
                    number % 12 + 1
                ),
            );
        },
        &[""],
    ),
    (
        "noise as HTML",
        |s, _| {
            ok(
                s,
                "",
                (0..20_000u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
                    .collect::<Vec<u8>>(),
            )
        },
        &["charset"],
    ),
    (
        "UTF-16 without a mark",
        |s, _| ok(s, "", "<p>words".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        &["", "charset"],
    ),
    (
        "a wait of thirty years",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 503 Busy\r\nRetry-After: 1000000000\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
        },
        &["retry-after"],
    ),
    (
        "too many requests for ever",
        |s, _| {
            raw(
                s,
                "HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
        },
        &["http-4xx"],
    ),
    (
        "escapes in the title",
        |s, _| ok(s, "", "<title>\x1b[2J\x1b]0;owned\x07</title><p>text"),
        &[""],
    ),
    (
        "cookies without end",
        |s, _| {
            ok(
                s,
                &(0..90)
                    .map(|i| format!("Set-Cookie: c{i}={}\r\n", "v".repeat(500)))
                    .collect::<String>(),
                "<p>x",
            )
        },
        &[""],
    ),
];

/// The same for robots.txt.
const ROBOTS: &[(&str, Act, &[&str])] = &[
    (
        "robots.txt of 100 MiB",
        |s, path| {
            if path == "/robots.txt" {
                raw(s, "HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /no\n");
                for _ in 0..1600 {
                    if s.write_all(&[b'#'; 65_536]).is_err() {
                        return;
                    }
                }
            } else {
                ok(s, "", "<p>text");
            }
        },
        &[""],
    ),
    (
        "robots.txt in a redirect loop",
        |s, path| {
            if path == "/robots.txt" { go_to(s, "/robots.txt") } else { ok(s, "", "<p>text") }
        },
        &[""],
    ),
    (
        "robots.txt as a bomb",
        |s, path| {
            if path == "/robots.txt" {
                ok(s, "Content-Encoding: gzip\r\n", gzip(&vec![b'\n'; 64 << 20]));
            } else {
                ok(s, "", "<p>text");
            }
        },
        &["robots-unreachable"],
    ),
    (
        "a sitemap as a bomb",
        |s, path| match path {
            "/robots.txt" => send(s, &crate::support::missing()),
            "/sitemap.xml" => ok(s, "", gzip("<urlset>".repeat(4 << 20).as_bytes())),
            _ => ok(s, "", "<p>text"),
        },
        &[""],
    ),
];

/// An honest host of so many pages.
fn honest(pages: u64) -> Server {
    let page = |number: u64| {
        let next = number + 1;
        let links = if next < pages {
            format!("<a href=/p{next}>next</a> <a href=/p{}>on</a>", (next + 7).min(pages - 1))
        } else {
            String::new()
        };
        (
            format!("/p{number}"),
            html(format!("<title>{number}</title><p>{}</p>{links}", prose(number + 1, 10))),
        )
    };
    Server::start((0..pages).map(page).collect())
}

const LIMITS: [&str; 12] = [
    "--read-timeout",
    "2s",
    "--request-timeout",
    "4s",
    "--connect-timeout",
    "2s",
    "--max-body",
    "1MiB",
    "--no-progress",
    "-q",
    "--concurrency",
    "64",
];

#[test]
fn each_hostile_behaviour_has_an_outcome_with_a_name_and_honest_hosts_go_on() {
    let all: Vec<(&str, u16, &[&str])> = BEHAVIOURS
        .iter()
        .map(|(name, act, expected)| (*name, hostile(*act, false), *expected))
        .chain(ROBOTS.iter().map(|(name, act, expected)| (*name, hostile(*act, true), *expected)))
        .collect();
    assert!(all.len() >= 40, "{}", all.len());
    let server = honest(40);
    let mut seeds = vec![server.url("/p0")];
    seeds.extend(all.iter().map(|(_, port, _)| format!("http://127.0.0.1:{port}/a")));
    let bench = Bench::new();
    let mut child = bench.spawn(&seeds, &LIMITS);
    let mut most = 0;
    // Bounded by the limits: with three tries and the breaker's pauses well below this.
    let mut exit = None;
    for _ in 0..2400 {
        most = most.max(private_memory(child.id()));
        exit = child.try_wait().unwrap();
        if exit.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    if exit.is_none() {
        child.kill().unwrap();
        panic!("it did not end");
    }
    assert_eq!(exit.and_then(|exit| exit.code()), Some(0), "complete");
    assert!(most < 256 << 20, "{} MiB", most >> 20);
    assert_eq!(server.asked().len(), 40, "the honest host was crawled");

    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for line in bench.log("skipped.jsonl") {
        let (url, reason) = (line["url"].as_str().unwrap(), line["reason"].as_str().unwrap());
        if reason != "host-down" {
            reasons.insert(url.to_owned(), reason.to_owned());
        }
    }
    for (name, port, expected) in all {
        let reason = reasons.get(&format!("http://127.0.0.1:{port}/a")).map_or("", String::as_str);
        assert!(expected.contains(&reason), "{name}: {reason:?}, not one of {expected:?}");
    }
    let listed = bench.run(&["status"]);
    assert!(!listed.contains('\x1b'), "{listed:?}");
}

/// RssAnon of a process, where that is known.
fn private_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// A listener on a port of both loopbacks that counts who comes.
fn canary() -> (u16, Arc<AtomicUsize>) {
    let (port, four, six) = loop {
        let four = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = four.local_addr().unwrap().port();
        match TcpListener::bind(("::1", port)) {
            Ok(six) => break (port, four, Some(six)),
            // A machine without IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::AddrNotAvailable => {
                break (port, four, None);
            }
            Err(_) => {}
        }
    };
    let count = Arc::new(AtomicUsize::new(0));
    for listener in [Some(four), six].into_iter().flatten() {
        let count = Arc::clone(&count);
        std::thread::spawn(move || {
            for _ in listener.incoming().flatten() {
                count.fetch_add(1, SeqCst);
            }
        });
    }
    (port, count)
}

/// Spellings of addresses that no crawl may dial; `P` stands for a port on which somebody listens.
const ADDRESSES: [&str; 64] = [
    "http://127.0.0.1:P/",
    "http://127.1:P/",
    "http://127.0.1:P/",
    "http://2130706433:P/",
    "http://0x7f000001:P/",
    "http://0x7f.1:P/",
    "http://0x7F.0x0.0x0.0x1:P/",
    "http://017700000001:P/",
    "http://0177.0.0.1:P/",
    "http://0177.0x0.1:P/",
    "http://127.255.255.254:P/",
    "http://127.0.0.1.:P/",
    "http://%31%32%37.0.0.1:P/",
    "http://１２７.0.0.1:P/",
    "http://127。0。0。1:P/",
    "http://user:secret@127.0.0.1:P/",
    "http://localhost:P/",
    "http://LOCALHOST:P/",
    "http://localhost.:P/",
    "http://a.localhost:P/",
    "http://[::1]:P/",
    "http://[0:0:0:0:0:0:0:1]:P/",
    "http://[::ffff:127.0.0.1]:P/",
    "http://[::ffff:7f00:1]:P/",
    "http://[::127.0.0.1]:P/",
    "http://[64:ff9b::127.0.0.1]:P/",
    "http://[64:ff9b::7f00:1]:P/",
    "http://[64:ff9b:1::1]:P/",
    "http://[2002:7f00:1::]:P/",
    "http://[::]:P/",
    "http://0.0.0.0:P/",
    "http://0:P/",
    "http://0.1.2.3:P/",
    "http://10.0.0.1/",
    "http://10.255.255.255/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.1/",
    "http://192.0.2.7/",
    "http://192.88.99.1/",
    "http://192.168.0.1/",
    "http://192.168.255.255/",
    "http://198.18.0.1/",
    "http://198.19.255.255/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://239.255.255.255/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[2001::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[ff02::1]/",
    "http://[::ffff:10.0.0.1]/",
];

#[test]
fn no_link_and_no_redirect_leads_to_an_address_that_is_not_public() {
    let (port, came) = canary();
    let targets: Vec<String> =
        ADDRESSES.iter().map(|url| url.replace('P', &port.to_string())).collect();
    let links: String = targets.iter().map(|url| format!("<a href='{url}'>x</a>")).collect();
    let hops: String = (0..targets.len()).map(|i| format!("<a href='/hop{i}'>x</a>")).collect();
    let mut pages: HashMap<String, Page> = targets
        .iter()
        .enumerate()
        .map(|(i, url)| (format!("/hop{i}"), crate::support::redirect(url)))
        .collect();
    pages.insert(
        "/".to_owned(),
        html(format!("<p>links</p>{links}{hops}<a href='http://127.0.0.1:25/'>mail</a>")),
    );
    let server = Server::start(pages);
    let bench = Bench::new();
    let output = bench.crawl(&[server.url("/")], &["--scope", "any"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(came.load(SeqCst), 0, "somebody was dialled");
    let skipped: HashMap<String, String> = bench
        .log("skipped.jsonl")
        .iter()
        .map(|line| {
            (line["url"].as_str().unwrap().to_owned(), line["reason"].as_str().unwrap().to_owned())
        })
        .collect();
    for target in targets {
        let Ok(mut url) = url::Url::parse(&target) else { continue };
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let plain = url.as_str().replace(".:", ":");
        assert_eq!(
            skipped.get(&plain).map(String::as_str),
            Some("private-address"),
            "{target} as {plain}"
        );
    }
    assert_eq!(skipped.get("http://127.0.0.1:25/").map(String::as_str), Some("bad-port"));
}

/// Pages a second of honest hosts alone and beside 64 hostile ones, in turn. Run by `cargo xtask hostile`.
#[test]
#[ignore = "a measurement"]
fn hostile_throughput() {
    LazyLock::force(&BOMB_IN_GZIP);
    let mut ratios = Vec::new();
    for round in 0..3 {
        let mut seconds = [0.0; 2];
        for (beside, seconds) in seconds.iter_mut().enumerate() {
            let servers: Vec<Server> = (0..8).map(|_| honest(900)).collect();
            let mut seeds: Vec<String> = servers.iter().map(|server| server.url("/p0")).collect();
            if beside == 1 {
                let acts = BEHAVIOURS.iter().cycle().take(64);
                seeds.extend(
                    acts.map(|(_, act, _)| format!("http://127.0.0.1:{}/a", hostile(*act, false))),
                );
            }
            let bench = Bench::new();
            let started = std::time::Instant::now();
            let mut child = bench.spawn(&seeds, &LIMITS);
            let asked = || servers.iter().map(|server| server.asked().len()).sum::<usize>();
            while asked() < 8 * 900 && started.elapsed() < Duration::from_secs(120) {
                std::thread::sleep(Duration::from_millis(5));
            }
            *seconds = started.elapsed().as_secs_f64();
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(asked(), 8 * 900);
        }
        let ratio = seconds[0] / seconds[1];
        say(&format!(
            "round {round}: 7,200 honest pages in {:.2} s alone, {:.2} s beside 64 hostile hosts: {:.0} %",
            seconds[0],
            seconds[1],
            100.0 * ratio
        ));
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    say(&format!(
        "honest hosts keep {:.0} % ({:.0} to {:.0}) of their pages a second",
        100.0 * ratios[1],
        100.0 * ratios[0],
        100.0 * ratios[2]
    ));
}

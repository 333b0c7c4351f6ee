//! tdmrep.json (TDM Reservation Protocol): what each response means, when it is requested, and what a run does later.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::helpers::{article, plain};
use crate::support::{Bench, Page, Server, code, html, missing, prose, read_head, text};

const FILE: &str = "/.well-known/tdmrep.json";
const ALL: &str = r#"[{"location": "/", "tdm-reservation": 1}]"#;

fn json(body: &str) -> Page {
    Page {
        status: "200 OK",
        headers: "Content-Type: application/json\r\n".into(),
        body: body.into(),
    }
}

fn times(server: &Server, path: &str) -> usize {
    server.asked_all().iter().filter(|asked| *asked == path).count()
}

/// The response to the request of the file, and whether `/` of its host is reserved.
type Row = (&'static str, Vec<u8>, bool);

fn raw(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len())
            .into_bytes();
    answer.extend(body);
    answer
}

/// The protocol, section "TDM File on the Origin Server": a host without a readable file does not implement it.
fn rows() -> Vec<Row> {
    let ok = "200 OK\r\nContent-Type: application/json\r\n";
    let with = |body: &str| raw(ok, body.as_bytes());
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(ALL.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let padding = " ".repeat(300 << 10);
    let rule = r#"{"location": "/", "tdm-reservation": 1}"#;
    let mut rows: Vec<Row> = vec![
        ("all", with(ALL), true),
        ("other type", raw("200 OK\r\nContent-Type: text/html\r\n", ALL.as_bytes()), true),
        ("no type", raw("200 OK\r\n", ALL.as_bytes()), true),
        ("gzip", raw("200 OK\r\nContent-Encoding: gzip\r\n", &gz), true),
        ("one rule without brackets", with(rule), true),
        ("a text as value", with(&ALL.replace('1', "\"1\"")), true),
        ("this page only", with(&ALL.replace('/', "/$")), true),
        ("rules after the size limit", with(&format!("[{padding}{rule}]")), false),
        ("rules before the size limit", with(&format!("[{rule},{padding}{rule}]")), true),
        ("an error after the rule", with(&format!("[{rule}, oops")), true),
        ("other paths", with(&ALL.replace('/', "/x/")), false),
        ("zero", with(&ALL.replace('1', "0")), false),
        ("the first rule lifts it", with(&format!("[{}, {rule}]", rule.replace('1', "0"))), false),
        ("another host", with(&ALL.replace('/', "https://b.example/")), false),
        ("an empty list", with("[]"), false),
        ("an empty file", with(""), false),
        ("deep nesting", with(&"[".repeat(50_000)), false),
        ("a page", raw("200 OK\r\nContent-Type: text/html\r\n", b"<p>Welcome"), false),
        ("a redirect", raw("301 Moved\r\nLocation: /tdm.json\r\n", b""), true),
        ("a redirect to itself", raw(&format!("302 Found\r\nLocation: {FILE}\r\n"), b""), false),
        (
            "a redirect to another site",
            raw("302 Found\r\nLocation: http://localhost:PORT/tdm.json\r\n", b""),
            false,
        ),
        ("a redirect to a file", raw("302 Found\r\nLocation: file:///etc/passwd\r\n", b""), false),
        (
            "the file ends early",
            format!("HTTP/1.1 {ok}Content-Length: 999\r\n\r\n{ALL}").into_bytes(),
            false,
        ),
        ("not HTTP", b"oops\r\n\r\n".to_vec(), false),
    ];
    for status in ["204 No Content", "401 No", "403 No", "404 No", "410 Gone", "500 No", "503 No"] {
        rows.push((status, raw(&format!("{status}\r\n"), b""), false));
    }
    rows
}

/// A host with this response for the file. Returns its port, and the requested paths.
fn serve(answer: Vec<u8>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        let respond = |mut stream: TcpStream| {
            let Some((path, _)) = read_head(&mut stream) else { return };
            log.lock().unwrap().push(path.clone());
            let bytes = match path.as_str() {
                FILE => {
                    let text = String::from_utf8_lossy(&answer);
                    match text.contains("PORT") {
                        true => text.replace("PORT", &port.to_string()).into_bytes(),
                        false => answer.clone(),
                    }
                }
                "/tdm.json" => raw("200 OK\r\n", ALL.as_bytes()),
                "/" => {
                    let body = format!("<p>{}", prose(u64::from(port), 12));
                    raw("200 OK\r\nContent-Type: text/html\r\n", body.as_bytes())
                }
                _ => raw("404 Not Found\r\n", b"no"),
            };
            let _ = stream.write_all(&bytes);
        };
        listener.incoming().flatten().for_each(respond);
    });
    (port, asked)
}

#[test]
fn each_tdmrep_json_has_its_documented_outcome() {
    let rows = rows();
    let hosts: Vec<_> = rows.iter().map(|(_, answer, _)| serve(answer.clone())).collect();
    let url = |port: u16| format!("http://127.0.0.1:{port}/");
    let seeds: Vec<String> = hosts.iter().map(|(port, _)| url(*port)).collect();
    let bench = Bench::new();
    // All hosts share one address.
    let flags = ["--obey-reservations", "--no-sitemaps", "--give-up-after", "1000"];
    let output = bench.crawl(&seeds, &flags);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let kept = bench.kept();
    let skipped = bench.log("skipped.jsonl");
    let line = |port: u16| skipped.iter().find(|line| line["url"] == url(port).as_str());
    for ((name, _, is_reserved), (port, asked)) in rows.iter().zip(&hosts) {
        assert_eq!(kept.contains(&url(*port)), !is_reserved, "{name}: {:?}", line(*port));
        let asked = asked.lock().unwrap();
        let count = |path: &str| asked.iter().filter(|asked| *asked == path).count();
        assert_eq!(count("/"), usize::from(!is_reserved), "{name}: {asked:?}");
        assert!((1..=6).contains(&count(FILE)), "{name}: {asked:?}");
        if *is_reserved {
            let line = line(*port).unwrap();
            assert_eq!((&line["reason"], &line["again"]), (&"reserved".into(), &"seed".into()));
            let detail = line["detail"].as_str().unwrap();
            assert!(detail.starts_with("tdmrep.json: tdm-reservation: 1, location /"), "{detail}");
        }
    }
}

#[test]
fn a_tdmrep_json_is_requested_once_a_day_and_only_if_reservations_are_obeyed() {
    let server = Server::answering(
        Arc::new(|path, _| match path {
            FILE => json(
                r#"[{"location": "/private/", "tdm-reservation": 1, "tdm-policy": "https://a.example/terms"}]"#,
            ),
            "/" => html(format!("<p>{}<a href=/private/1>1</a><a href=/2>2</a>", prose(1, 12))),
            "/private/1" => article(2),
            "/2" => article(3),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seed = [server.url("/")];
    let page = server.url("/private/1");
    assert_eq!(code(&bench.crawl(&seed, &[])), 0);
    assert_eq!(times(&server, FILE), 0);
    assert_eq!(bench.kept().len(), 3);

    let obeys = Bench::new();
    assert_eq!(code(&obeys.crawl(&seed, &["--obey-reservations"])), 0);
    assert_eq!((times(&server, FILE), obeys.kept().len()), (1, 2));
    let skipped = obeys.log("skipped.jsonl");
    let line = skipped.iter().find(|line| line["url"] == page.as_str()).unwrap();
    let detail =
        "tdmrep.json: tdm-reservation: 1, location /private/, policy https://a.example/terms";
    assert_eq!((&line["reason"], &line["detail"]), (&"reserved".into(), &detail.into()));
    assert_eq!((&line["flag"], &line["again"]), (&"--obey-reservations".into(), &"recrawl".into()));
    let explained = obeys.run(&["explain", &page]);
    assert!(explained.contains(detail), "{explained}");
    let explained = obeys.run(&["explain", &server.url("/2")]);
    assert!(!explained.contains("tdmrep"), "{explained}");
    // The copy serves later runs; --retry and --recrawl read the file again.
    let further = server.url("/2?more");
    assert_eq!(code(&obeys.crawl(&[server.url("/"), further], &["--obey-reservations"])), 0);
    assert_eq!(times(&server, FILE), 1);
    for (count, flags) in [(2, &["--retry", "reserved"][..]), (3, &["--recrawl"][..])] {
        let output = obeys.crawl(&seed, flags);
        assert_eq!(code(&output), 0, "{flags:?}: {}", text(&output.stderr));
        assert_eq!((times(&server, FILE), obeys.kept().contains(&page)), (count, false));
    }
    // Without the flag the same command requests the page.
    assert_eq!(code(&obeys.crawl(&seed, &["--obey-reservations=false"])), 0);
    assert!(obeys.kept().contains(&page));
    obeys.checked();
}

#[test]
fn a_tdmrep_json_obeys_robots_txt_and_the_delay_of_the_host() {
    let forbids = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain("User-agent: *\nDisallow: /.well-known/\n"),
            "/" => article(1),
            _ => json(ALL),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[forbids.url("/")], &["--obey-reservations"])), 0);
    assert_eq!((times(&forbids, FILE), bench.kept().len()), (0, 1));
    // It is obeyed although robots.txt is not.
    let host = format!("127.0.0.1:{}", forbids.port);
    let bench = Bench::new();
    let flags = ["--obey-reservations", "--ignore-robots", &host];
    assert_eq!(code(&bench.crawl(&[forbids.url("/")], &flags)), 4);
    assert!(forbids.asked().iter().filter(|path| *path == "/").count() == 1);

    let slow = Server::answering(
        Arc::new(|path, _| match path {
            "/robots.txt" => plain("User-agent: *\nCrawl-delay: 2\n"),
            "/" => article(1),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let began = Instant::now();
    let flags = ["--obey-reservations", "--no-sitemaps", "--delay", "1s"];
    assert_eq!(code(&bench.crawl(&[slow.url("/")], &flags)), 0);
    assert_eq!(slow.asked_all()[..3], ["/robots.txt", FILE, "/"]);
    let at = slow.asked_at();
    assert_eq!((at[0].0.as_str(), at[1].0.as_str()), (FILE, "/"));
    assert!(at[0].1 - began >= Duration::from_millis(1_900), "{at:?}");
    assert!(at[1].1 - at[0].1 >= Duration::from_millis(1_900), "{at:?}");
}

#[test]
fn a_copy_of_a_tdmrep_json_holds_while_the_file_is_unreachable() {
    let down = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let server = Server::answering(
        Arc::new(move |path, _| match path {
            FILE if is_down.load(std::sync::atomic::Ordering::SeqCst) => {
                Page { status: "503 Busy", ..missing() }
            }
            FILE => json(&ALL.replace("\"/\"", "\"/no\"")),
            "/" => html(format!("<p>{}<a href=/no>n</a>", prose(1, 12))),
            "/no" => article(2),
            _ => missing(),
        }),
        Duration::ZERO,
    );
    let bench = Bench::new();
    let seed = [server.url("/")];
    assert_eq!(code(&bench.crawl(&seed, &["--obey-reservations"])), 0);
    down.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(code(&bench.crawl(&seed, &["--retry", "reserved"])), 0);
    assert_eq!((times(&server, FILE), times(&server, "/no")), (2, 0));
}

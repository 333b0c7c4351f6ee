//! The local web page, requested by a browser and by an attacker.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::helpers::crawled;
use crate::support::{Bench, Server, code, crawl, html, prose, text};

/// A running `crawl inspect`. It ends with the test.
#[derive(Debug)]
pub(crate) struct Inspect {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Inspect {
    pub(crate) fn start(bench: &Bench) -> Self {
        Self::start_all(&[bench])
    }

    fn start_all(benches: &[&Bench]) -> Self {
        let dirs = benches.iter().flat_map(|bench| ["--data".into(), bench.data()]);
        let mut child = crawl()
            .args(["inspect", "--listen", "127.0.0.1:0"])
            .args(dirs)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = if headers.contains("Host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        text(&answer)
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.ask("GET", path, "", "")
    }

    fn post(&self, headers: &str, body: &str) -> String {
        let headers = format!("Content-Type: application/x-www-form-urlencoded\r\n{headers}");
        self.ask("POST", "/change", &headers, body)
    }
}

impl Drop for Inspect {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(page: &str) -> String {
    page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn several_directories_are_shown_and_changed_as_one() {
    let ((first, _one), (second, other)) = (crawled(), crawled());
    let inspect = Inspect::start_all(&[&first, &second]);
    for (path, wanted) in [
        ("/list", "6 discarded pages"),
        ("/list?text=print&sort=similarity", "2 discarded pages of 6"),
        ("/clusters", "4 clusters"),
        ("/search?q=river", other.url("/one").as_str()),
        ("/", first.data().to_str().unwrap()),
        ("/", second.data().to_str().unwrap()),
    ] {
        let page = inspect.get(path);
        assert!(page.starts_with("HTTP/1.1 200") && page.contains(wanted), "{path}: {page}");
    }
    let row =
        second.rows(&[]).into_iter().find(|row| row["url"] == other.url("/print/one")).unwrap();
    let path = format!("/page/{}?dir=1", row["id"]);
    assert!(inspect.get("/list").contains(&path), "{path}");
    let page = inspect.get(&path);
    assert!(page.contains(row["url"].as_str().unwrap()), "{page}");
    let body = format!("token={}&action=restore&dir=1&id={}", token(&page), row["id"]);
    let answer = inspect.post("", &body);
    assert!(answer.contains(&format!("location: {path}&done=restore")), "{answer}");
    let restored =
        |bench: &Bench| bench.rows(&[]).iter().filter(|row| !row["restored"].is_null()).count();
    assert_eq!((restored(&first), restored(&second)), (0, 1));
    assert!(inspect.get("/page/1?dir=2").starts_with("HTTP/1.1 400"));
    assert!(
        inspect
            .post("", &body.replace("dir=1", "dir=7"))
            .contains("there is no such data directory")
    );
    drop(inspect);
}

#[test]
fn pages_answer_and_a_form_restores_without_any_script() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    for (path, wanted) in [
        ("/", "What was saved"),
        ("/list", "3 discarded pages"),
        ("/list?text=print&sort=similarity", "1 discarded pages"),
        ("/clusters", "2 clusters"),
        ("/skipped", "URLs were not fetched"),
        ("/search?q=river", "Search the kept pages"),
        ("/style.css", "color-scheme"),
        ("/script.js", "addEventListener"),
    ] {
        let page = inspect.get(path);
        assert!(page.starts_with("HTTP/1.1 200") && page.contains(wanted), "{path}: {page}");
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
        ] {
            assert!(page.to_ascii_lowercase().contains(header), "{path}: {header}");
        }
    }
    let id = bench.id_of("/print/one");
    let page = inspect.get(&format!("/page/{id}"));
    assert!(page.contains("<ins>rivulet</ins>") && page.contains("<del>river</del>"), "{page}");
    let form = |action: &str| format!("token={}&id={id}&action={action}", token(&page));
    let answer = inspect.post("", &form("restore"));
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert!(
        inspect
            .get(&format!("/page/{id}?done=restore"))
            .contains("Restored: the page is in the index")
    );
    assert_eq!(bench.found("rivulet").len(), 1);
    assert!(inspect.get("/list?restored=1").contains("1 discarded pages"));
    assert!(inspect.post("", &form("discard")).starts_with("HTTP/1.1 303"));
    assert_eq!(bench.found("rivulet").len(), 0);
    assert!(inspect.post("", &form("keep")).starts_with("HTTP/1.1 303"));
    assert!(inspect.get(&format!("/page/{id}")).contains("this page is kept"));
    assert!(inspect.post("", &form("destroy")).starts_with("HTTP/1.1 400"));
    for (path, status) in [
        ("/page/999999", "400"),
        ("/nothing", "404"),
        ("/page/x", "400"),
        ("/list?distance=x", "400"),
    ] {
        let answer = inspect.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
}

#[test]
fn inspect_refuses_requests_from_other_sites() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    let id = bench.id_of("/print/one");
    let token = token(&inspect.get(&format!("/page/{id}")));
    let form = format!("token={token}&id={id}&action=restore");
    for (headers, body, status) in [
        ("", format!("token=&id={id}&action=restore"), "403"),
        ("", format!("token={}&id={id}&action=restore", "0".repeat(32)), "403"),
        ("Origin: http://evil.example\r\n", form.clone(), "403"),
        ("Origin: null\r\n", form.clone(), "403"),
        ("Sec-Fetch-Site: cross-site\r\n", form.clone(), "403"),
        ("Host: evil.example\r\n", form.clone(), "421"),
        ("", format!("{form}&x={}", "y".repeat(100_000)), "413"),
    ] {
        let answer = inspect.post(headers, &body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {answer}");
    }
    assert_eq!(bench.found("rivulet"), [""; 0]);
    // A name that an attacker points at this address gets no data (DNS rebinding).
    let answer = inspect.ask("GET", "/list", "Host: rebind.example:7878\r\n", "");
    assert!(answer.starts_with("HTTP/1.1 421") && !answer.contains("discarded pages"), "{answer}");
    assert!(
        inspect
            .get(&format!("/change?token={token}&id={id}&action=restore"))
            .starts_with("HTTP/1.1 405")
    );
    let output = crawl()
        .args(["inspect", "--listen", "0.0.0.0:0", "--data"])
        .arg(bench.data())
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("loopback"), "{}", text(&output.stderr));
}

/// A site whose titles, texts and addresses try to break out of the page's markup.
pub(crate) fn hostile_site() -> Server {
    let evil =
        "</title><script>document.title='owned'</script><img src=x onerror=document.title='owned'>";
    let body = prose(7, 14);
    let page = |title: &str, more: &str| {
        html(format!(
            "<title>{}</title><main><h1>T</h1><p>{body}</p><p>{}</p></main>",
            title.replace('<', "&lt;"),
            more.replace('<', "&lt;")
        ))
    };
    let link = "/a\"><script>document.title='owned'</script>?x='onmouseover=alert(1)";
    let path = "/a%22%3E%3Cscript%3Edocument.title='owned'%3C/script%3E?x=%27onmouseover=alert(1)";
    Server::start(
        [
            (
                "/".to_owned(),
                html(format!(
                    "<p>{}</p><a href=/o>o</a><a href='{}'>x</a>",
                    prose(8, 14),
                    link.replace('\'', "&#39;")
                )),
            ),
            ("/o".to_owned(), page("Plain \u{202e}title", "")),
            (
                path.to_owned(),
                page(&format!("{evil}\u{202e}"), &format!("\u{1b}[31m{evil} \u{202e}")),
            ),
        ]
        .into(),
    )
}

#[test]
fn page_text_is_escaped_in_inspect_and_report() {
    let (bench, server) = (Bench::new(), hostile_site());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let rows = bench.rows(&[]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let inspect = Inspect::start(&bench);
    let report = bench.path("report.html");
    bench.run(&["duplicates", "report", report.to_str().unwrap()]);
    let report = std::fs::read_to_string(report).unwrap();
    for loads in ["href=\"/", "<link", "<img", "<script", "@import", "url("] {
        assert!(!report.contains(loads), "it loads nothing: {loads}");
    }
    let pair = inspect.get(&format!("/page/{}", rows[0]["id"]));
    for page in [
        inspect.get("/list"),
        inspect.get("/clusters"),
        inspect.get("/search?q=when"),
        pair,
        report,
    ] {
        assert!(!page.contains("<script>document") && !page.contains("<img"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "{page}");
    }
}

/// The messages of a response of server-sent events: the field `id` and the object of each.
fn messages(body: &str) -> Vec<(String, serde_json::Value)> {
    let field = |message: &str, name: &str| {
        message.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    let all = body.split("\n\n").filter(|message| message.contains("data: "));
    all.map(|message| {
        (field(message, "id: "), serde_json::from_str(&field(message, "data: ")).unwrap())
    })
    .collect()
}

/// Reads the stream until `wanted` messages have arrived.
fn streamed(inspect: &Inspect, path: &str, headers: &str, wanted: usize) -> String {
    let mut stream = TcpStream::connect(&inspect.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", inspect.address).unwrap();
    let (mut answer, mut piece) = (String::new(), [0; 4096]);
    while answer.matches("data: ").count() < wanted || !answer.contains("\n\n") {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{answer}");
        answer += &text(&piece[..count]);
    }
    answer
}

/// Removes the lines with the sizes of chunks (chunked transfer encoding).
fn unchunked(answer: &str) -> String {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let is_size = |line: &str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_hexdigit());
    let lines = body.split("\r\n").filter(|line| !is_size(line));
    lines.collect()
}

#[test]
fn the_page_streams_events_from_the_cursor_of_the_client_on() {
    let (bench, server) = crawled();
    let inspect = Inspect::start(&bench);
    let printed = crate::support::json_lines(bench.run(&["stream"]).as_bytes());
    let answer = streamed(&inspect, "/stream", "", printed.len());
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let all = messages(&unchunked(&answer));
    let (ids, events): (Vec<String>, Vec<serde_json::Value>) = all.into_iter().unzip();
    assert_eq!(events, printed);
    // A client that connects again, while the data directory changes.
    let last = format!("Last-Event-ID: {}\r\n", ids[ids.len() - 2]);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| streamed(&inspect, "/stream?fields=why", &last, 2));
        bench.run(&["forget", &server.url("/print/one")]);
        let answer = reader.join().unwrap();
        let events = messages(&unchunked(&answer));
        assert_eq!(events[0].0, ids[ids.len() - 1]);
        assert_eq!(events[1].1["why"], "it was forgotten");
    });
    for (path, headers, status) in [
        ("/stream?from=7", "", "400"),
        ("/stream?fields=titel", "", "400"),
        ("/stream", "Sec-Fetch-Site: cross-site\r\n", "403"),
        ("/stream", "Host: evil.example\r\n", "421"),
    ] {
        let answer = inspect.ask("GET", path, headers, "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
}

#[test]
fn streams_beyond_the_limit_are_refused_and_closed_ones_make_room() {
    let (bench, _server) = crawled();
    let inspect = Inspect::start(&bench);
    let open = || {
        let mut stream = TcpStream::connect(&inspect.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET /stream HTTP/1.1\r\nHost: {}\r\n\r\n", inspect.address).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (stream, text(&head))
    };
    let streams: Vec<_> = (0..8).map(|_| open()).collect();
    assert!(streams.iter().all(|(_, head)| head == "HTTP/1.1 200"));
    assert_eq!(open().1, "HTTP/1.1 503");
    assert!(inspect.get("/").starts_with("HTTP/1.1 200"), "other pages are answered");
    drop(streams);
    let deadline = Instant::now() + Duration::from_secs(20);
    while open().1 != "HTTP/1.1 200" {
        assert!(Instant::now() < deadline, "the threads of closed streams go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_overview_distinguishes_a_running_crawl_from_one_that_was_killed() {
    let page = |at: u64| html(format!("<p>{}</p><a href=/{}>next</a>", prose(at, 9), at + 1));
    let pages = (0..200).map(|at| (format!("/{at}"), page(at))).collect();
    let server = Server::slow(pages, Duration::from_millis(50));
    let bench = Bench::new();
    let mut running = bench.spawn(&[server.url("/0")], &[]);
    bench.wait_until_committed(3);
    let inspect = Inspect::start(&bench);
    let overview = inspect.get("/");
    assert!(overview.contains("A crawl is running"), "{overview}");
    running.kill().unwrap();
    running.wait().unwrap();
    let overview = inspect.get("/");
    assert!(overview.contains("The crawl is not complete"), "{overview}");
    drop(inspect);
}

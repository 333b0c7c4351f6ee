//! The local web page in a real browser: Chromium with its driver.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::helpers::crawled;
use crate::inspect::{Inspect, hostile_site};
use crate::support::{Bench, code, say};

/// A browser for one test, controlled by the W3C's WebDriver protocol.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: tempfile::TempDir,
}

impl Browser {
    /// `None` if Chromium is not installed; in CI that is an error.
    fn start(width: u32, height: u32) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(driver) = driver else {
            assert!(std::env::var_os("CI").is_none(), "CI installs chromium and chromium-driver");
            say(
                "SKIPPED: no chromedriver here, so the page was not tested in a browser (Debian: chromium-driver)",
            );
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, port, session: String::new(), profile };
        let arguments = [
            "--headless".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-quic".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", browser.profile.path().display()),
        ];
        let wanted =
            json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        // The driver takes a moment to start.
        let until = Instant::now() + Duration::from_secs(30);
        let answer = loop {
            match browser.try_ask("POST", "/session", &wanted) {
                Ok(answer) => break answer,
                Err(error) => assert!(Instant::now() < until, "no browser: {error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        browser.session =
            answer["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        Some(browser)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.try_ask(method, path, body).unwrap();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let (mut answer, mut piece) = (Vec::new(), [0; 65536]);
        // The driver may keep the connection open, so read as many bytes as Content-Length says.
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            if let Some((head, rest)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| {
                    let line = line.to_ascii_lowercase();
                    line.strip_prefix("content-length:").map(|n| n.trim().parse::<usize>().unwrap())
                });
                if length.is_some_and(|length| rest.len() >= length) {
                    let value: Value = serde_json::from_str(rest)?;
                    return Ok(value["value"].clone());
                }
            }
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend_from_slice(&piece[..count]);
        }
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("/session/{}{path}", self.session), body)
    }

    fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({"url": url}));
    }

    fn click(&self, css: &str) {
        let found =
            self.command("POST", "/element", &json!({"using": "css selector", "value": css}));
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.command("POST", &format!("/element/{id}/click"), &json!({}));
    }

    fn script(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    fn text(&self) -> String {
        self.script("return document.body.innerText").as_str().unwrap().to_owned()
    }

    fn press(&self, key: &str) {
        self.command(
            "POST",
            "/actions",
            &json!({"actions": [{"type": "key", "id": "k", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]}),
        );
    }

    fn wait(&self, words: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        while !self.text().contains(words) {
            assert!(Instant::now() < until, "{words:?} is not in {}", self.text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let end = std::panic::AssertUnwindSafe(|| {
                self.ask("DELETE", &format!("/session/{}", self.session), &json!({}))
            });
            let _ = std::panic::catch_unwind(end);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

#[test]
fn a_person_finds_a_pair_looks_and_restores_it() {
    let Some(browser) = Browser::start(1280, 900) else { return };
    let (bench, server) = crawled();
    let inspect = Inspect::start(&bench);
    browser.open(&format!("http://{}/", inspect.address));
    browser.wait("What was saved");
    assert_eq!(
        browser.script("return document.querySelectorAll('svg rect.column').length > 20"),
        true
    );
    browser.click("nav a[href='/list']");
    browser.wait("3 discarded pages");
    // By keyboard: select the first row and open it.
    browser.press("j");
    assert_eq!(browser.script("return document.querySelectorAll('.rows li.current').length"), 1);
    browser.press("/");
    assert_eq!(browser.script("return document.activeElement.type"), "search");
    browser.open(&format!("http://{}/list?text=print", inspect.address));
    browser.click(".rows a");
    browser.wait("kept");
    assert_eq!(browser.script("return document.querySelector('ins').innerText"), "rivulet");
    assert_eq!(browser.script("return getComputedStyle(document.querySelector('.diff .row')).gridTemplateColumns.split(' ').length"), 2);
    browser.press("r");
    browser.wait("Restored: the page is in the index");
    assert_eq!(bench.found("rivulet"), [server.url("/print/one")]);
    browser.click(".notice button");
    browser.wait("Discarded again, as before.");
    assert_eq!(bench.found("rivulet"), [""; 0]);
    browser.click("button[value=keep]");
    browser.wait("This page is now the kept page.");
    browser.click("nav a[href='/clusters']");
    browser.wait("2 clusters");
    browser.click(".rows details summary");
    browser.wait("/copy/one");
    browser.click("nav a[href='/search']");
    browser.script(
        "const q = document.querySelector('input[name=q]'); q.value = 'rivulet'; q.form.submit();",
    );
    browser.wait("1 found");
}

#[test]
fn a_phone_and_a_hostile_page_change_nothing() {
    let Some(browser) = Browser::start(500, 900) else { return };
    let (bench, server) = (Bench::new(), hostile_site());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--concurrency", "1"])), 0);
    let inspect = Inspect::start(&bench);
    let id = bench.rows(&[])[0]["id"].to_string();
    for path in [
        "/".to_owned(),
        "/list".to_owned(),
        format!("/page/{id}"),
        "/clusters".into(),
        "/kept".into(),
        "/kept/0".into(),
        "/causes".into(),
        "/near?similarity=0".into(),
        "/passages".into(),
        "/passages?start=1&words=8".into(),
        "/changes".into(),
        "/search?q=when".into(),
        "/skipped".into(),
    ] {
        browser.open(&format!("http://{}{path}", inspect.address));
        browser.wait("Hapax");
        assert_ne!(browser.script("return document.title"), "owned", "{path}");
        assert_eq!(
            browser.script(
                "return [...document.scripts].filter(s => !s.src.endsWith('/script.js')).length"
            ),
            0
        );
        assert_eq!(browser.script("return document.images.length"), 0);
        let wide = browser.script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        assert_eq!(wide, 0, "{path} can be read without scrolling sideways");
    }
}

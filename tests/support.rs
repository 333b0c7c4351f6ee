use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: &'static str,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn html(body: impl Into<String>) -> Page {
    Page {
        status: "200 OK",
        headers: "Content-Type: text/html; charset=utf-8\r\n".into(),
        body: body.into().into_bytes(),
    }
}

pub(crate) fn redirect(target: &str) -> Page {
    Page { status: "301 Moved", headers: format!("Location: {target}\r\n"), body: Vec::new() }
}

/// Answers a request, by its path and its whole head.
pub(crate) type Answer = Arc<dyn Fn(&str, &str) -> Page + Send + Sync>;

/// A web server on loopback. It ends with the test.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<(String, Instant)>>>,
    heads: Arc<Mutex<Vec<String>>>,
    dead: Arc<AtomicBool>,
    wait: Duration,
}

impl Server {
    pub(crate) fn start(pages: HashMap<String, Page>) -> Self {
        Self::slow(pages, Duration::ZERO)
    }

    /// Each response takes `wait`.
    pub(crate) fn slow(pages: HashMap<String, Page>, wait: Duration) -> Self {
        Self::answering(
            Arc::new(move |path, _| pages.get(path).cloned().unwrap_or_else(missing)),
            wait,
        )
    }

    pub(crate) fn answering(answer: Answer, wait: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, heads, dead) = (Arc::default(), Arc::default(), Arc::default());
        let server = Self { port, asked, heads, dead, wait };
        let (asked, heads) = (Arc::clone(&server.asked), Arc::clone(&server.heads));
        let dead = Arc::clone(&server.dead);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if dead.load(SeqCst) {
                    return;
                }
                let (asked, heads) = (Arc::clone(&asked), Arc::clone(&heads));
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let Some((path, head)) = read_head(&mut stream) else { return };
                    asked.lock().unwrap().push((path.clone(), Instant::now()));
                    heads.lock().unwrap().push(head.clone());
                    std::thread::sleep(wait);
                    send(&mut stream, &answer(&path, &head));
                });
            }
        });
        server
    }

    /// Waits until `pages` pages were requested, which is in the middle of a crawl on a machine of any speed.
    pub(crate) fn wait_for(&self, pages: usize) {
        for _ in 0..4000 {
            if self.asked().len() > pages {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the crawl asks for nothing");
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Every requested page in order, without robots.txt, the usual sitemap, and probes.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked_at().into_iter().map(|(path, _)| path).collect()
    }

    /// All requested paths in order, including robots.txt, sitemaps and probes.
    pub(crate) fn asked_all(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }

    /// As [`asked`](Self::asked), with the time of each.
    pub(crate) fn asked_at(&self) -> Vec<(String, Instant)> {
        let own = |(path, _): &&(String, Instant)| {
            !matches!(path.as_str(), "/robots.txt" | "/sitemap.xml")
                && !path.starts_with("/no-such-page-")
        };
        self.asked.lock().unwrap().iter().filter(own).cloned().collect()
    }

    /// Refuses connections from now on.
    pub(crate) fn die(&self) {
        self.dead.store(true, SeqCst);
        // Wakes the accept loop, which then drops the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        std::thread::sleep(self.wait + Duration::from_millis(50));
    }
}

pub(crate) fn missing() -> Page {
    Page { status: "404 Not Found", headers: String::new(), body: b"no".to_vec() }
}

/// The path and the whole head of a request.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<(String, String)> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => head.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some((path, head))
}

pub(crate) fn send(stream: &mut impl Write, page: &Page) {
    let _ = write!(
        stream,
        "HTTP/1.1 {}\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n",
        page.status,
        page.headers,
        page.body.len()
    );
    let _ = stream.write_all(&page.body);
}

/// A temporary folder for one test.
#[derive(Debug)]
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn seeds(&self, urls: &[String]) -> PathBuf {
        let path = self.path("seeds.txt");
        std::fs::write(&path, urls.join("\n")).unwrap();
        path
    }

    /// Runs the main job without delays, with further flags.
    pub(crate) fn crawl(&self, seeds: &[String], flags: &[&str]) -> Output {
        self.command(seeds, flags).output().unwrap()
    }

    pub(crate) fn spawn(&self, seeds: &[String], flags: &[&str]) -> Child {
        self.command(seeds, flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn command(&self, seeds: &[String], flags: &[&str]) -> Command {
        let mut command = crawl();
        command.arg("--seeds").arg(self.seeds(seeds)).arg("--data").arg(self.data());
        if !flags.contains(&"--delay") {
            command.args(["--delay", "0s"]);
        }
        command.args(flags);
        command
    }

    /// Waits until a running job has committed `pages` pages.
    pub(crate) fn wait_until_committed(&self, pages: u64) {
        let summary = self.data().join("summary.json");
        let committed = || {
            let summary: Value = serde_json::from_slice(&std::fs::read(&summary).ok()?).ok()?;
            summary["pages"]["fetched"].as_u64()
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        while committed().is_none_or(|fetched| fetched < pages) {
            assert!(Instant::now() < deadline, "{pages} pages are not committed in 30 s");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn summary(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.data().join("summary.json")).unwrap()).unwrap()
    }

    pub(crate) fn log(&self, name: &str) -> Vec<Value> {
        json_lines(&std::fs::read(self.data().join(name)).unwrap())
    }

    /// The output of `crawl COMMAND ARGS --data ...`, which must succeed.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = crawl().args(args).arg("--data").arg(self.data()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

pub(crate) fn crawl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HAPAX_")) {
        command.env_remove(name);
    }
    command
}

/// The output of a command that needs no data directory.
pub(crate) fn printed(args: &[&str]) -> String {
    let output = crawl().args(args).output().unwrap();
    assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a half line: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("ended by a signal")
}

/// Prose that differs for each `seed`: sentences with stopwords, as the extractor expects.
pub(crate) fn prose(seed: u64, sentences: u64) -> String {
    const NOUNS: [&str; 24] = [
        "river", "baker", "teacher", "garden", "window", "winter", "letter", "bridge", "market",
        "doctor", "island", "engine", "forest", "mirror", "castle", "sailor", "button", "candle",
        "donkey", "farmer", "guitar", "hammer", "jacket", "kettle",
    ];
    const VERBS: [&str; 16] = [
        "followed",
        "remembered",
        "carried",
        "painted",
        "opened",
        "watched",
        "repaired",
        "believed",
        "counted",
        "described",
        "forgot",
        "gathered",
        "lifted",
        "measured",
        "noticed",
        "protected",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    (0..sentences)
        .map(|_| {
            let (a, b, c, d) = (pick(24), pick(16), pick(24), pick(24));
            format!(
                "When the {} {} the {} that had been left with the {}, it was not what they had thought it would be. ",
                NOUNS[a], VERBS[b], NOUNS[c], NOUNS[d]
            )
        })
        .collect()
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).unwrap();
}

/// Prints for tests that run as a measurement, with `--nocapture`.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The library of the package `faketime` on Debian and derivatives.
pub(crate) fn clock_library() -> Option<&'static str> {
    let known = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    ];
    let found = known.into_iter().find(|path| std::path::Path::new(path).exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "libfaketime is missing");
        say("SKIPPED: libfaketime is missing; install the package faketime");
    }
    found
}

//! Serves a [`Web`] on all loopback addresses and records the requests.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};

use super::page::Answer;
use super::{Web, host_of};

/// Requests that a dying host answers.
const LIFE: u32 = 40;
const IDLE: Duration = Duration::from_secs(20);

/// The requests of all clients.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// By the URL's hash: the number of requests, and whether one was answered.
    urls: Mutex<HashMap<u64, (u32, bool)>>,
    hosts: Mutex<HashMap<u64, u32>>,
    requests: AtomicU64,
    again: AtomicU64,
    forbidden: AtomicU64,
    hasher: RandomState,
}

impl Seen {
    /// Requests, except those of robots.txt, sitemaps and probes.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Requests of URLs that had been answered before. Repeating a failed request or one answered with 503 is
    /// correct.
    pub(crate) fn again(&self) -> u64 {
        self.again.load(Relaxed)
    }

    pub(crate) fn forbidden(&self) -> u64 {
        self.forbidden.load(Relaxed)
    }

    pub(crate) fn distinct(&self) -> u64 {
        self.urls.lock().map_or(0, |urls| urls.len() as u64)
    }

    /// Records a request. Returns the numbers of requests of this URL and of this host.
    fn note(&self, host: u64, path: &str) -> (u32, u32) {
        let of_host = self.hosts.lock().map_or(0, |mut hosts| {
            let count = hosts.entry(host).or_insert(0);
            *count += 1;
            *count
        });
        if is_own(path) {
            return (0, of_host);
        }
        self.requests.fetch_add(1, Relaxed);
        if path.starts_with("/private/") {
            self.forbidden.fetch_add(1, Relaxed);
        }
        let of_url = self.urls.lock().map_or(0, |mut urls| {
            let url = urls.entry(self.hasher.hash_one((host, path))).or_insert((0, false));
            url.0 += 1;
            self.again.fetch_add(u64::from(url.1), Relaxed);
            url.0
        });
        (of_url, of_host)
    }

    fn answered(&self, host: u64, path: &str) {
        if let Ok(mut urls) = self.urls.lock()
            && let Some(url) = urls.get_mut(&self.hasher.hash_one((host, path)))
        {
            url.1 = true;
        }
    }
}

/// Whether a crawler requests this path without a link to it.
fn is_own(path: &str) -> bool {
    matches!(path, "/robots.txt" | "/sitemap.xml") || path.starts_with("/no-such-page-")
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) web: Web,
    pub(crate) seen: Arc<Seen>,
}

impl Server {
    /// Starts on the given port; 0 chooses a free one.
    ///
    /// # Errors
    /// If the port is not available.
    pub(crate) fn start(pages: u64, port: u16) -> Result<Self> {
        let listener =
            TcpListener::bind(("0.0.0.0", port)).with_context(|| format!("port {port}"))?;
        let web = Web::of_pages(pages, listener.local_addr()?.port());
        let seen = Arc::new(Seen::default());
        let server = Self { web, seen: Arc::clone(&seen) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                let builder = std::thread::Builder::new().stack_size(256 << 10);
                // If no thread can start, the connection closes and the crawl retries.
                let _ = builder.spawn(move || {
                    let _ = connection(web, &seen, stream);
                });
            }
        });
        Ok(server)
    }
}

/// Answers the requests of one connection in order.
fn connection(web: Web, seen: &Seen, stream: TcpStream) -> Result<()> {
    let IpAddr::V4(address) = stream.local_addr()?.ip() else { return Ok(()) };
    let Some(host) = host_of(address).filter(|host| *host < web.hosts) else { return Ok(()) };
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        loop {
            line.clear();
            if input.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
        }
        let (of_url, of_host) = seen.note(host, &path);
        if Web::dies(host) && of_host > LIFE {
            return Ok(());
        }
        if Web::slow(host) {
            std::thread::sleep(Duration::from_millis(40));
        }
        let stumbles = Web::stumbles(host) && path.ends_with("/33") && of_url == 1;
        let answer = if stumbles {
            Answer::unavailable()
        } else {
            seen.answered(host, &path);
            web.page(host, &path)
        };
        let location =
            answer.location.map_or_else(String::new, |url| format!("Location: {url}\r\n"));
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\n{location}Content-Length: {}\r\n\r\n",
            answer.status,
            answer.kind,
            answer.body.len()
        );
        out.write_all(&[head.as_bytes(), answer.body.as_bytes()].concat())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_answer_is_counted_and_a_second_try_is_not() {
        let seen = Seen::default();
        assert_eq!(seen.note(1, "/33").0, 1);
        assert_eq!(seen.note(1, "/33").0, 2, "the first was not answered");
        seen.answered(1, "/33");
        assert_eq!((seen.requests(), seen.distinct(), seen.again()), (2, 1, 0));
        seen.note(1, "/33");
        seen.answered(1, "/33");
        seen.note(2, "/33");
        seen.answered(2, "/33");
        seen.note(1, "/robots.txt");
        seen.answered(1, "/robots.txt");
        assert_eq!((seen.requests(), seen.distinct(), seen.again()), (4, 2, 1));
    }
}

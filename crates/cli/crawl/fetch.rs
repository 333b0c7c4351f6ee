//! One lease: robots, request, extraction; the answer goes to the commit thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hapax_extract::Recipe;
use hapax_fetch::{Fetcher, Robots, RobotsAnswer, fetch_robots};
use hapax_frontier::{Frontier, Lease};
use tokio::sync::{OnceCell, Semaphore, mpsc};
use url::Url;

use super::page::PageWork;
use super::stats::Stats;

/// What a lease came to.
#[derive(Debug)]
pub(super) enum Message {
    Page(Box<PageWork>),
    Redirect {
        lease: Lease,
        target: Url,
    },
    Skip {
        lease: Lease,
        reason: &'static str,
        detail: String,
    },
    /// Given up for this run, tried again in the next.
    Defer {
        lease: Lease,
        reason: &'static str,
        detail: String,
    },
    /// The lease went back to its queue.
    Again,
}

/// robots.txt asks for a longer pause: the host is skipped.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(30);
/// Tries of a request that failed in passing, and of robots.txt.
const MAX_ATTEMPTS: u8 = 2;
const ROBOTS_WAITS: [Duration; 3] =
    [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(5)];
/// A Retry-After beyond this is not waited for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// What all fetch tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) fetcher: Fetcher,
    pub(super) frontier: Arc<Frontier>,
    pub(super) stats: Arc<Stats>,
    pub(super) agent: String,
    pub(super) recipe: Recipe,
    pub(super) ignore_robots: Vec<String>,
    pub(super) retry_wait: Duration,
    pub(super) robots: Mutex<HashMap<String, Arc<OnceCell<HostRule>>>>,
    /// Extraction runs on this many threads at a time.
    pub(super) extractors: Arc<Semaphore>,
}

/// What robots.txt means for a host in this run.
#[derive(Clone, Debug)]
pub(super) enum HostRule {
    Rules(Robots),
    Unreachable(String),
    Refused,
    TooSlow(Duration),
}

/// Works on one lease to its end. The message is always sent, so that the lease is accounted for.
pub(super) async fn work(shared: Arc<Shared>, lease: Lease, answers: mpsc::Sender<Message>) {
    let message = attempt(&shared, lease).await;
    // The receiver outlives all tasks but when the process ends.
    let _ = answers.send(message).await;
}

async fn attempt(shared: &Arc<Shared>, lease: Lease) -> Message {
    let url = lease.entry.url.clone();
    if !shared.fetcher.guard().permits_url(&url) {
        shared.frontier.free(&lease, Duration::ZERO, Instant::now());
        return Message::Skip {
            lease,
            reason: "private-address",
            detail: "not a public address".into(),
        };
    }
    if let Err((reason, detail, again)) = ask_robots(shared, &lease).await {
        if again {
            return Message::Defer { lease, reason, detail };
        }
        shared.frontier.free(&lease, Duration::ZERO, Instant::now());
        return Message::Skip { lease, reason, detail };
    }
    let started = Instant::now();
    let response = match shared.fetcher.get(&url).await {
        Ok(response) => response,
        Err(error) if error.is_transient() && lease.attempts < MAX_ATTEMPTS => {
            return retry(shared, lease, None);
        }
        Err(error) if error.is_transient() => {
            return Message::Defer { lease, reason: error.reason(), detail: error.to_string() };
        }
        Err(error) => {
            shared.frontier.free(&lease, started.elapsed(), Instant::now());
            return Message::Skip { lease, reason: error.reason(), detail: error.to_string() };
        }
    };
    shared.stats.response(response.raw.len());
    let status = response.status;
    if (status == 429 || status >= 500) && lease.attempts < MAX_ATTEMPTS {
        let wait = response.header("retry-after").and_then(|v| v.trim().parse::<u64>().ok());
        let wait = wait.map(Duration::from_secs).filter(|wait| *wait <= MAX_RETRY_AFTER);
        return retry(shared, lease, wait);
    }
    shared.frontier.free(&lease, started.elapsed(), Instant::now());
    if let Some(target) = response.redirect() {
        return Message::Redirect { lease, target };
    }
    match status {
        200 | 203 => {}
        400..=499 => {
            return Message::Skip { lease, reason: "http-4xx", detail: format!("status {status}") };
        }
        500..=599 => {
            return Message::Skip { lease, reason: "http-5xx", detail: format!("status {status}") };
        }
        _ => {
            return Message::Skip {
                lease,
                reason: "http-other",
                detail: format!("status {status}"),
            };
        }
    }
    let time = SystemTime::now();
    let content_type = response.header("content-type").unwrap_or("none").to_owned();
    let permit = Arc::clone(&shared.extractors).acquire_owned().await;
    let copy = lease.clone();
    let recipe = shared.recipe;
    let read = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        PageWork::read(Some(copy), url, response, time, recipe)
    })
    .await;
    match read {
        Ok(Some(page)) => Message::Page(Box::new(page)),
        Ok(None) => Message::Skip { lease, reason: "content-type", detail: content_type },
        Err(error) => Message::Skip { lease, reason: "extraction", detail: error.to_string() },
    }
}

fn retry(shared: &Shared, lease: Lease, wait: Option<Duration>) -> Message {
    let wait = wait.unwrap_or(shared.retry_wait * (1 << lease.attempts.min(6)));
    shared.frontier.retry(lease, wait, Instant::now());
    Message::Again
}

/// Whether the host's robots.txt lets the lease pass; the error's last part says whether the URL is
/// to be tried again in the next run.
async fn ask_robots(shared: &Shared, lease: &Lease) -> Result<(), (&'static str, String, bool)> {
    if shared.ignore_robots.contains(&lease.host) {
        return Ok(());
    }
    let cell = {
        let mut robots = shared.robots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(robots.entry(lease.host.clone()).or_default())
    };
    let rule = cell.get_or_init(|| host_rule(shared, lease)).await;
    match rule {
        HostRule::Rules(rules) => match rules.allows(&lease.entry.url) {
            (true, _) => Ok(()),
            (false, line) => {
                let line = line.map_or(String::new(), |line| format!("robots.txt, line {line}"));
                Err(("robots", line, false))
            }
        },
        HostRule::Unreachable(why) => {
            Err(("robots-unreachable", format!("{why}; tried again at the next run"), true))
        }
        HostRule::Refused => Err(("private-address", "not a public address".into(), false)),
        HostRule::TooSlow(delay) => Err((
            "crawl-delay",
            format!("robots.txt asks for {} s between requests", delay.as_secs()),
            false,
        )),
    }
}

async fn host_rule(shared: &Shared, lease: &Lease) -> HostRule {
    let mut last = String::new();
    for wait in ROBOTS_WAITS {
        tokio::time::sleep(wait).await;
        match fetch_robots(&shared.fetcher, &lease.entry.url, &shared.agent).await {
            RobotsAnswer::Rules(rules) => {
                if let Some(delay) = rules.crawl_delay {
                    if delay > MAX_CRAWL_DELAY {
                        return HostRule::TooSlow(delay);
                    }
                    shared.frontier.set_delay(&lease.host, delay);
                }
                return HostRule::Rules(rules);
            }
            RobotsAnswer::Refused => return HostRule::Refused,
            RobotsAnswer::Unreachable(why) => last = why,
        }
    }
    HostRule::Unreachable(last)
}

//! Processes one lease: address, robots.txt, request, extraction. The result goes to the commit thread.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use hapax_data::{SkipCause, SkipReason};
use hapax_fetch::{Kind, Response, Sitemap, Validators};
use hapax_frontier::{End, Entry, EntryKind, Fault, Frontier, HostAnswer, Lease};
use hapax_url::normalize;
use tokio::sync::mpsc;
use url::Url;

use super::admission::Admission;
use super::admit::{Knowledge, Stage, admit};
use super::answer::{Answer, is_failure};
use super::backoff::backoff;
use super::concurrency::LeaseSlot;
use super::context::Shared;
use super::host_rules::{HostRule, Source};
use super::interstitial;
use super::message::{LeaseResult, Message};
use super::notes::VALIDATORS;
use super::page::{PageWork, Unread};
use super::rules::{Rules, names_host};
use super::seed_list;
use super::stats::Budget;
use super::trust::believes_validators;
use super::usual_sitemap::USUAL_SITEMAP;
use super::weight;
use super::weight::ROOM_KIB;

/// Bytes of a body; a larger page keeps a permit for large pages until it is committed.
const LARGE_PAGE: usize = 1 << 20;
/// Retries of a request after a transient failure.
const MAX_ATTEMPTS: u8 = 2;
/// Consecutive redirects to other spellings of one URL.
const MAX_SPELLINGS: u8 = 3;
/// Wait before the next check while requests in flight may use up the budget of a host.
const BUDGET_WAIT: Duration = Duration::from_millis(50);
/// Wait before a retry if no permit for a large body was free.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Appended to the detail if this failure made the crawl give up the host.
const GIVEN_UP: &str = "; the host is given up for this run";
/// Bytes of an ETag or Last-Modified; a longer one is ignored.
const MAX_VALIDATOR: usize = 256;

/// Processes one lease. Always sends a message, even after a panic, so that the lease is accounted for.
pub(super) async fn work(
    shared: Arc<Shared>,
    mut lease: Lease,
    answers: mpsc::Sender<Message>,
    mut place: LeaseSlot,
) {
    let worked = match within_budget(&shared, &mut lease) {
        Err(early) => early,
        Ok(()) => {
            let worked = caught(attempt(&shared, &mut lease, &mut place)).await;
            let worked = worked.unwrap_or_else(|| {
                let took = Duration::ZERO;
                shared.frontier.free(&mut lease, HostAnswer::Answered { took }, Instant::now());
                let detail = "a defect of this program, please report it".to_owned();
                Ok(LeaseResult::skip(SkipReason::Extraction, detail))
            });
            // The commit thread releases pages when it counts them.
            let counted = matches!(worked, Ok(LeaseResult::Page(_) | LeaseResult::Unread { .. }));
            if lease.entry.kind == EntryKind::Page && !counted {
                shared.stats.release(&lease.host);
            }
            worked
        }
    };
    // Sending fails only when the commit thread has failed.
    for map in shared.rules.elsewhere() {
        let _ = answers.send(Message::SitemapElsewhere(map)).await;
    }
    let message = match worked {
        Ok(result) => Message::Ended { lease, result },
        Err(end) => {
            let url = lease.entry.url.clone();
            let down = shared.frontier.end(lease, end, Instant::now());
            Message::Returned { down: down.then_some(url) }
        }
    };
    let _ = answers.send(message).await;
}

/// A result for the commit thread, or how the lease returns to its queue.
type Worked = Result<LeaseResult, End>;

/// Awaits a future; `None` if it panicked.
async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| {
        let polled = AssertUnwindSafe(|| work.as_mut().poll(context));
        match std::panic::catch_unwind(polled) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

fn within_budget(shared: &Shared, lease: &mut Lease) -> Result<(), Worked> {
    if lease.entry.kind != EntryKind::Page {
        return Ok(());
    }
    match shared.stats.reserve(&lease.host, shared.max_pages_per_host) {
        Budget::Left => Ok(()),
        Budget::Perhaps => Err(Err(End::PutBack { wait: BUDGET_WAIT })),
        Budget::Spent => {
            let detail = format!("{} pages of this host were fetched", shared.max_pages_per_host);
            Err(unasked(shared, lease, SkipReason::Budget, detail))
        }
    }
}

/// Ends a lease whose URL is skipped without a request.
fn unasked(
    shared: &Shared,
    lease: &mut Lease,
    cause: impl Into<SkipCause>,
    detail: String,
) -> Worked {
    shared.frontier.free(lease, HostAnswer::Unasked, Instant::now());
    Ok(LeaseResult::skip(cause, detail))
}

/// Knowledge of a task. Patterns were applied when the URL was queued; feeds are applied after robots.txt.
struct AtLease<'a> {
    shared: &'a Shared,
    hops: u8,
}

impl Knowledge for AtLease<'_> {
    type Error = Infallible;

    fn rules(&self) -> &Rules {
        &self.shared.taken
    }

    fn is_forgotten(&self, url: &Url, host: &str) -> bool {
        self.shared.forgotten.holds(url.as_str(), host)
    }

    fn repeats(&mut self, url: &Url, _: &str) -> Result<bool, Infallible> {
        // Not in a recrawl, which requests known pages, nor after a redirect. The commit thread reports errors of the
        // frontier.
        let shared = self.shared;
        let asks = !shared.recrawl && self.hops == 0;
        Ok(asks && shared.url_rules.repeats(&*shared.frontier, url).unwrap_or(false))
    }

    fn is_left_to_feed(&mut self, _: &Url, _: u16) -> Result<bool, Infallible> {
        Ok(false)
    }
}

async fn attempt(shared: &Arc<Shared>, lease: &mut Lease, place: &mut LeaseSlot) -> Worked {
    let url = lease.entry.url.clone();
    // The URL may have been queued under other rules, or by a worker whose scope includes the target of a moved seed.
    let Ok(admission) = admit(
        &url,
        lease.entry.depth,
        Stage::Lease(lease.entry.kind),
        &mut AtLease { shared, hops: lease.entry.hops },
    );
    match admission {
        Admission::Refused(skip) | Admission::LeftOut(skip) => {
            return unasked(shared, lease, skip.cause, skip.detail);
        }
        Admission::Repeats(_) => {
            shared.url_rules.left_out_of_queue(&*shared.frontier, &url, lease.entry.depth);
            shared.frontier.free(lease, HostAnswer::Unasked, Instant::now());
            return Ok(LeaseResult::Quiet);
        }
        Admission::Admitted(_) | Admission::NoWebAddress | Admission::LeftToFeed => {}
    }
    // After a redirect the page is at this address.
    if lease.entry.kind == EntryKind::Page
        && lease.entry.hops == 0
        && let Some((_, result)) = shared.taken.given(&url, lease.entry.depth)
    {
        shared.frontier.free(lease, HostAnswer::Unasked, Instant::now());
        return Ok(LeaseResult::Given { result });
    }
    match place.server(shared.fetch.address(&url)).await {
        Ok(Some(ip)) if !lease.has_address => {
            if !shared.frontier.set_address(lease, ip, Instant::now()) {
                return Err(End::PutBack { wait: Duration::ZERO });
            }
        }
        Ok(_) => {}
        Err(error) => return failed(shared, lease, Instant::now(), &error),
    }
    if let Err((blocked, source)) = passes_host_files(shared, lease, place).await {
        // A lease that requested robots.txt has made a request to the host.
        let answer = match source {
            Source::Lease => HostAnswer::Answered { took: Duration::ZERO },
            Source::Known | Source::Other => HostAnswer::Unasked,
        };
        if matches!(blocked, Blocked::Skip(..) | Blocked::Clean(_)) {
            shared.frontier.free(lease, answer, Instant::now());
        }
        return match blocked {
            Blocked::Wait => Err(End::PutBack { wait: Duration::ZERO }),
            Blocked::Skip(reason, detail) => Ok(LeaseResult::skip(reason, detail)),
            Blocked::Defer(reason, detail, fault) => {
                Ok(LeaseResult::Defer { reason, detail, fault })
            }
            Blocked::Clean(target) => Ok(LeaseResult::Clean { target }),
        };
    }
    if lease.entry.kind == EntryKind::Page
        && let Some(claim) = shared.feeds.claim(&*shared.frontier, &url)
        && shared.feeds.is_followed(&claim, &url)
    {
        return Ok(LeaseResult::Claimed { claim });
    }
    if let (Some(received), Some(http)) = (&shared.received, &shared.http)
        && let Some(answer) = received.take(&lease.entry, http).await
    {
        return answered(shared, lease, answer).await;
    }
    let started = Instant::now();
    let answer = match request(shared, lease, place).await {
        Ok(answer) => answer,
        Err(error) => return failed(shared, lease, started, &error),
    };
    if let Some(received) = &shared.received {
        received.keep(&lease.entry, &answer).await;
    }
    answered(shared, lease, answer).await
}

/// Follows redirects to other spellings of the URL.
async fn request(
    shared: &Shared,
    lease: &Lease,
    place: &mut LeaseSlot,
) -> Result<Answer, hapax_fetch::Error> {
    let url = &lease.entry.url;
    let asks_for_change =
        shared.recrawl && (!shared.due || believes_validators(&*shared.frontier, url));
    let known =
        if asks_for_change { validators(&*shared.frontier, url) } else { Validators::default() };
    // A sitemap may have any content type.
    let page = lease.entry.kind != EntryKind::Sitemap;
    let is_seed = lease.entry.depth == 0;
    let wanted = move |kind: &str| !page || is_seed || hapax_page::Kind::may_be(kind);
    let as_sitemap = !page || seed_list::may_be(&lease.entry);
    let mut at = url.clone();
    let mut hops = 0;
    let response = loop {
        let response = match as_sitemap {
            true if page => place.server(shared.fetch.get_list(&at, &known)).await?,
            true => place.server(shared.fetch.get_sitemap(&at, &known)).await?,
            false => place.server(shared.fetch.get(&at, &known, &wanted)).await?,
        };
        shared.frontier.address_answered(lease);
        shared.stats.response(response.received(), page);
        // Another spelling, or the same URL after a cookie: follow it here, because the frontier knows the normalised
        // URL.
        let spelling = response.redirect().filter(|to| {
            page && hops < MAX_SPELLINGS
                // Without cookies, only the first redirect may lead to the same URL.
                && (*to != at || shared.cookies || hops == 0)
                && normalize(to, &shared.url_limits).is_ok_and(|to| to == *url)
        });
        let waits = || page && hops == 0 && interstitial::asks_again(shared, &response);
        let spelling = spelling.or_else(|| waits().then(|| at.clone()));
        let Some(to) = spelling else { break response };
        // robots.txt may treat spellings differently.
        if !place.server(shared.rules.allows(shared, lease, &to)).await {
            break response;
        }
        (at, hops) = (to, hops + 1);
        let pause = shared.rules.pause(shared, lease).await;
        place.server(tokio::time::sleep(pause)).await;
    };
    Ok(Answer {
        // Excludes the wait for permits.
        took: response.took,
        response,
        time: SystemTime::now(),
        asked_if_changed: known != Validators::default(),
    })
}

/// Handles a request without a response.
fn failed(
    shared: &Shared,
    lease: &mut Lease,
    asked: Instant,
    error: &hapax_fetch::Error,
) -> Worked {
    if error.is_ours() {
        return Err(End::PutBack { wait: BUSY_WAIT });
    }
    match error.kind() {
        Kind::Connect | Kind::Timeout => {
            shared.frontier.address_silent(lease, asked, Instant::now());
        }
        Kind::TooLarge | Kind::Bomb | Kind::Encoding | Kind::Tls | Kind::Protocol => {
            shared.frontier.address_answered(lease);
        }
        _ => {}
    }
    if error.is_transient() {
        if lease.attempts < MAX_ATTEMPTS {
            return Err(retry(shared, lease, None, true));
        }
        let (reason, detail) = (error.kind().into(), error.to_string());
        return Ok(LeaseResult::Defer { reason, detail, fault: Fault::Failure });
    }
    let answer = match error.kind() {
        // It affects all pages of the host.
        Kind::Tls => HostAnswer::Failed,
        // Refused before a connection was made.
        Kind::PrivateAddress | Kind::BadPort => HostAnswer::Unasked,
        _ => HostAnswer::Answered { took: asked.elapsed() },
    };
    let mut detail = error.to_string();
    if shared.frontier.free(lease, answer, Instant::now()) {
        detail.push_str(GIVEN_UP);
    }
    Ok(LeaseResult::skip(error, detail))
}

async fn answered(shared: &Arc<Shared>, lease: &mut Lease, answer: Answer) -> Worked {
    let Answer { response, time, took, asked_if_changed } = answer;
    let status = response.status;
    if is_failure(status) {
        let wait = response.retry_after(SystemTime::now());
        if let Some(wait) = wait.filter(|wait| *wait > shared.patience.max_retry_after) {
            let detail = format!("status {status}: wait {} s", wait.as_secs());
            // Consecutive answers of this kind apply to the whole host.
            let (reason, fault) = (SkipReason::RetryAfter, Fault::Closed);
            return Ok(LeaseResult::Defer { reason, detail, fault });
        }
        if lease.attempts < MAX_ATTEMPTS {
            // A broken page counts once as a failure of its host, for all its attempts.
            let first = lease.attempts == 0;
            return Err(retry(shared, lease, wait, status != 429 && first));
        }
        let detail = format!("status {status}");
        let (reason, fault) = match status {
            // Still too many requests, after the pauses that the host required.
            429 => (SkipReason::Http4xx, Fault::Failure),
            408 | 425 => (SkipReason::Http4xx, Fault::None),
            _ => (SkipReason::Http5xx, Fault::None),
        };
        return Ok(LeaseResult::Defer { reason, detail, fault });
    }
    if status == 304 && asked_if_changed {
        return Ok(LeaseResult::Unchanged { response: Box::new(response), time });
    }
    shared.frontier.free(lease, HostAnswer::Answered { took }, Instant::now());
    if let Some(target) = response.redirect() {
        return Ok(LeaseResult::Redirect {
            target,
            moved: matches!(status, 301 | 308),
            sets_cookie: response.header("set-cookie").is_some(),
        });
    }
    let reason = match status {
        200 | 203 => return Ok(read(shared, lease, response, time).await),
        // Expected: the default sitemap location is a guess, and a probe requests a page that does not exist.
        400..=499
            if lease.entry.kind == EntryKind::Probe
                || lease.entry.kind == EntryKind::Sitemap
                    && lease.entry.url.path() == USUAL_SITEMAP =>
        {
            return Ok(LeaseResult::Quiet);
        }
        404 | 410 => return Ok(LeaseResult::Gone { status }),
        400..=499 => SkipReason::Http4xx,
        _ => SkipReason::HttpOther,
    };
    let nowhere =
        if matches!(status, 301..=303 | 307 | 308) { ", and no address to go to" } else { "" };
    let cookie = interstitial::hint(shared, &response);
    Ok(LeaseResult::skip(reason, format!("status {status}{nowhere}{cookie}")))
}

/// Parses and extracts a response on the blocking pool.
async fn read(
    shared: &Arc<Shared>,
    lease: &Lease,
    response: Response,
    time: SystemTime,
) -> LeaseResult {
    let length = response.body.len();
    // Separate permits for large pages, so that they do not delay others.
    let (mut tree, mut large, mut small) = (None, None, None);
    if length > LARGE_PAGE {
        let all = shared.room.trees_kib;
        tree = Arc::clone(&shared.room.trees).acquire_many_owned(kib(length, all)).await.ok();
        large = Arc::clone(&shared.room.large).acquire_owned().await.ok();
    } else {
        let all = shared.room.small_trees_kib;
        small =
            Arc::clone(&shared.room.small_trees).acquire_many_owned(kib(length, all)).await.ok();
    }
    let extractor = Arc::clone(&shared.room.extractors).acquire_owned().await;
    let room = Arc::clone(&shared.room.waiting);
    let shared = Arc::clone(shared);
    let Entry { url, kind, depth, .. } = lease.entry.clone();
    let reserved = shared.rules.reservations(&lease.host, &url);
    let read = tokio::task::spawn_blocking(move || {
        if kind == EntryKind::Sitemap {
            let sitemap = Sitemap::of_response(&url, &response, &shared.sitemap_limits);
            return (LeaseResult::Sitemap { sitemap, room: None }, extractor.ok());
        }
        if kind == EntryKind::Page
            && depth == 0
            && let Some(sitemap) = seed_list::read(&url, &response, &shared.sitemap_limits)
        {
            return (LeaseResult::Sitemap { sitemap, room: None }, extractor.ok());
        }
        let max_body = shared.max_body;
        if response.body.len() > max_body {
            let detail = format!("over {max_body} bytes");
            return (LeaseResult::skip(SkipReason::TooLarge, detail), extractor.ok());
        }
        let bytes = (!response.bodiless).then_some(response.raw.len() as u64);
        let with_text = !shared.links_only;
        let (recipe, limits) = (shared.recipe, &shared.page_limits);
        let result =
            match PageWork::read(Some(depth), url, response, time, recipe, limits, with_text) {
                Ok(mut page) => {
                    page.reserve(reserved);
                    if shared.patience.obey_reservations && !page.document.reservations.is_empty() {
                        let detail = page.document.reservations.join(", ");
                        let why = Unread { reason: SkipReason::Reserved, detail };
                        return (LeaseResult::Unread { why, bytes }, extractor.ok());
                    }
                    page._tree = tree;
                    page.pack(shared.packer.as_ref());
                    if let Some(ahead) = shared.ahead.as_ref().filter(|_| with_text) {
                        ahead.compare(&mut page);
                    }
                    LeaseResult::Page(Box::new(page))
                }
                Err(why) => LeaseResult::Unread { why, bytes },
            };
        drop((large, small));
        (result, extractor.ok())
    })
    .await;
    let (mut result, _extractor) = read.unwrap_or_else(|error| {
        let detail = error.to_string();
        (LeaseResult::skip(SkipReason::Extraction, detail), None)
    });
    // Backpressure: reserve space in the commit queue before releasing the extractor permit. While the queue is full,
    // no further page is parsed.
    let (bytes, place) = match &mut result {
        // A large page already has a permit until it is committed.
        LeaseResult::Page(page) if page._tree.is_some() => return result,
        LeaseResult::Page(page) => (weight::of_page(page), &mut page._room),
        LeaseResult::Sitemap { sitemap, room } => (weight::of_sitemap(sitemap), room),
        _ => return result,
    };
    *place = room.acquire_many_owned(kib(bytes, ROOM_KIB)).await.ok();
    result
}

/// Returns the permits for `bytes` in a semaphore of `most` KiB; at most all of them.
fn kib(bytes: usize, most: u32) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, most)
}

fn retry(shared: &Shared, lease: &Lease, wait: Option<Duration>, failure: bool) -> End {
    let url = &lease.entry.url;
    let wait = wait.unwrap_or_else(|| backoff(shared.retry_wait, lease.attempts, url));
    End::Retry { wait, failure }
}

enum Blocked {
    Skip(SkipReason, String),
    Defer(SkipReason, String, Fault),
    Clean(Url),
    /// Requeue: the host requires a pause first.
    Wait,
}

/// Checks the lease against robots.txt and, if reservations are obeyed, a page also against tdmrep.json. An error
/// reports whether a file was requested.
async fn passes_host_files(
    shared: &Shared,
    lease: &Lease,
    place: &mut LeaseSlot,
) -> Result<(), (Blocked, Source)> {
    let source = ask_robots(shared, lease, place).await?;
    shared.rules.try_usual_sitemap(shared, lease, source);
    if lease.entry.kind == EntryKind::Page
        && shared.patience.obey_reservations
        && let Some(found) = place.server(shared.rules.reserved(shared, lease, source)).await
    {
        let source = if found.asked { Source::Lease } else { source };
        return Err((Blocked::Skip(SkipReason::Reserved, found.detail), source));
    }
    Ok(())
}

/// Checks the lease against robots.txt. Returns where the rule came from.
async fn ask_robots(
    shared: &Shared,
    lease: &Lease,
    place: &mut LeaseSlot,
) -> Result<Source, (Blocked, Source)> {
    if names_host(&shared.ignore_robots, &lease.entry.url) {
        return Ok(Source::Known);
    }
    let (rule, source) = place.server(shared.rules.of(shared, lease)).await;
    let passes = match rule {
        HostRule::Rules(rules)
            if source == Source::Other && rules.crawl_delay.is_some_and(|d| !d.is_zero()) =>
        {
            Err(Blocked::Wait)
        }
        HostRule::Rules(rules) => match rules.allows(&lease.entry.url) {
            (true, _) if shared.patience.obey_reservations && !rules.reservations.is_empty() => {
                let detail = format!("robots.txt: {}", rules.reservations.join(", "));
                Err(Blocked::Skip(SkipReason::Reserved, detail))
            }
            (true, _) => {
                rules.clean(&lease.entry.url).map_or(Ok(()), |url| Err(Blocked::Clean(url)))
            }
            (false, line) => {
                let line = line.map_or(String::new(), |line| format!("robots.txt, line {line}"));
                Err(Blocked::Skip(SkipReason::Robots, line))
            }
        },
        // The pages of the host have the same certificate; the reason names the flags that accept it.
        HostRule::Unreachable(why) if why.kind == Some(Kind::Tls) => {
            Err(Blocked::Skip(SkipReason::Tls, format!("robots.txt: {}", why.detail)))
        }
        HostRule::Unreachable(why) => {
            let fault = if source == Source::Lease { Fault::None } else { Fault::Unasked };
            let why = format!("{}; tried again at the next run", why.detail);
            Err(Blocked::Defer(SkipReason::RobotsUnreachable, why, fault))
        }
        HostRule::Refused => {
            Err(Blocked::Skip(SkipReason::PrivateAddress, "not a public address".into()))
        }
        HostRule::TooSlow(delay) => Err(Blocked::Skip(
            SkipReason::CrawlDelay,
            format!("robots.txt asks for {} s between requests", delay.as_secs()),
        )),
    };
    passes.map(|()| source).map_err(|blocked| (blocked, source))
}

fn validators(frontier: &dyn Frontier, url: &Url) -> Validators {
    let note = frontier.note_of(url.as_str(), VALIDATORS).ok().flatten().unwrap_or_default();
    let note = String::from_utf8(note).unwrap_or_default();
    let (etag, last_modified) = note.split_once('\n').unwrap_or_default();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Validators { etag: some(etag), last_modified: some(last_modified) }
}

/// Encodes the validators of a response for the frontier; `None` if it has none.
pub(super) fn validators_note(response: &Response) -> Option<Vec<u8>> {
    let value =
        |name: &str| response.header(name).filter(|v| v.len() <= MAX_VALIDATOR).unwrap_or_default();
    let (etag, last_modified) = (value("etag"), value("last-modified"));
    let any = !etag.is_empty() || !last_modified.is_empty();
    any.then(|| format!("{etag}\n{last_modified}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_caught_and_a_result_is_not_touched() {
        let panics = async |message: Option<&str>| {
            tokio::task::yield_now().await;
            message.unwrap().len()
        };
        assert_eq!(caught(panics(Some("four"))).await, Some(4));
        assert_eq!(caught(panics(None)).await, None);
    }
}

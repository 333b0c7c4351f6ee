//! robots.txt of a host: fetched once a day, stored between runs.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hapax_fetch::{Kind, MAX_ROBOTS_REDIRECTS, Robots, RobotsAnswer, Unreachable};
use hapax_frontier::{Entry, Frontier, Lease};
use hapax_url::{Rejected, UrlLimits};
use url::Url;

use super::context::Shared;
use super::host_rules::{Found, HostRule, HostRules, Source};

/// Maximum age of a copy, unless the file is unreachable (RFC 9309, section 2.4).
const VALID: Duration = Duration::from_secs(24 * 60 * 60);
/// Time to use an old copy of an unreachable file before the next attempt.
const AGAIN: Duration = Duration::from_secs(60 * 60);
/// Limit of all attempts, without the pauses of one redirect chain.
const WITHIN: Duration = Duration::from_secs(20);
/// Wait before each attempt.
const WAITS: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(5)];
const MAX_WAIT: Duration = Duration::from_secs(12);
/// Name of the frontier's note with the file.
const NOTE: &str = "robots";

impl HostRules {
    /// Returns the pause before another request within a lease.
    pub(super) async fn pause(&self, shared: &Shared, lease: &Lease) -> Duration {
        match self.of(shared, lease).await.0 {
            HostRule::Rules(rules) => shared.delay.max(rules.crawl_delay.unwrap_or_default()),
            _ => shared.delay,
        }
    }

    /// Returns the rule of the lease's host. The first caller fetches it; later callers wait for the result.
    pub(super) async fn of(&self, shared: &Shared, lease: &Lease) -> (HostRule, Source) {
        let cell = self.held.lock().unwrap_or_else(PoisonError::into_inner).cell(&lease.host);
        let (known, mut asked) = (cell.get().is_some(), false);
        let asking = cell.get_or_init(|| {
            asked = true;
            rule(shared, lease)
        });
        let rule = asking.await.rule.clone();
        let source = match (known, asked) {
            (true, _) => Source::Known,
            (false, true) => Source::Lease,
            (false, false) => Source::Other,
        };
        (rule, source)
    }
}

async fn rule(shared: &Shared, lease: &Lease) -> Found {
    let kept = shared.frontier.note_of(&lease.host, NOTE).ok().flatten();
    let kept = kept.as_deref().and_then(read_note);
    if let Some((age, text)) = kept
        && age < VALID
    {
        return Found::holds_for(apply(shared, lease, text), VALID.saturating_sub(age));
    }
    // Obey the delay of the old copy too.
    let old = kept.and_then(|(_, text)| Robots::parse(text, &shared.agent).crawl_delay);
    let pause = shared.delay.max(old.unwrap_or_default().min(shared.patience.max_crawl_delay));
    let within = time_of_all_tries(pause);
    let asked = Instant::now();
    let tries = tokio::time::timeout(within, ask(shared, lease, pause)).await;
    let why = match tries.unwrap_or_else(|_| Err(no_answer(within))) {
        Ok(rule) => {
            if !matches!(rule, HostRule::Refused) {
                shared.frontier.address_answered(lease);
            }
            if matches!(rule, HostRule::Rules(_)) {
                // Another request to the host follows.
                tokio::time::sleep(shared.delay).await;
            }
            return Found::holds_for(rule, VALID);
        }
        Err(why) => {
            match answers(why.kind) {
                Some(true) => shared.frontier.address_answered(lease),
                Some(false) => shared.frontier.address_silent(lease, asked, Instant::now()),
                None => {}
            }
            why
        }
    };
    // RFC 9309, section 2.4: an old copy may be used if the file is unreachable.
    match kept {
        Some((_, text)) => Found::holds_for(apply(shared, lease, text), AGAIN),
        None => Found::holds_for(HostRule::Unreachable(why), VALID),
    }
}

/// Returns the limit of all attempts. It includes the pauses, so that a redirect chain with long ones can finish.
fn time_of_all_tries(pause: Duration) -> Duration {
    WITHIN.saturating_add(pause.saturating_mul(MAX_ROBOTS_REDIRECTS))
}

fn no_answer(within: Duration) -> Unreachable {
    let detail = format!("no answer within {} s", within.as_secs());
    Unreachable { kind: Some(Kind::Timeout), detail, retry_after: None }
}

/// Returns whether the host's address answered; `None` if it was not dialled.
const fn answers(kind: Option<Kind>) -> Option<bool> {
    match kind {
        Some(Kind::Dns | Kind::PrivateAddress | Kind::BadPort) => None,
        Some(Kind::Connect | Kind::Timeout) => Some(false),
        _ => Some(true),
    }
}

/// Requests the file up to three times, at least `pause` apart. Returns the reason of the last failure.
async fn ask(shared: &Shared, lease: &Lease, pause: Duration) -> Result<HostRule, Unreachable> {
    let mut last = no_answer(Duration::ZERO);
    let mut asked = Duration::ZERO;
    for (before, wait) in WAITS.into_iter().enumerate() {
        let pause_before = if before == 0 { Duration::ZERO } else { pause };
        tokio::time::sleep(wait.max(asked).max(pause_before)).await;
        match shared.fetch.robots(&lease.entry.url, pause).await {
            RobotsAnswer::Text(text) => {
                let mut note = seconds_now().to_le_bytes().to_vec();
                note.extend(&text);
                shared.frontier.note(&lease.host, NOTE, note);
                return Ok(apply(shared, lease, &text));
            }
            RobotsAnswer::Refused => return Ok(HostRule::Refused),
            RobotsAnswer::Unreachable(why) => {
                last = why;
                asked = last.retry_after.unwrap_or_default();
                if asked > MAX_WAIT {
                    last.detail += &format!(": wait {} s", asked.as_secs());
                    break;
                }
                // Another attempt would get the same certificate.
                if last.kind == Some(Kind::Tls) {
                    break;
                }
            }
        }
    }
    Err(last)
}

fn apply(shared: &Shared, lease: &Lease, text: &[u8]) -> HostRule {
    let mut rules = Robots::parse(text, &shared.agent);
    let most = shared.patience.max_crawl_delay;
    if let Some(delay) = rules.crawl_delay.filter(|delay| *delay > most) {
        if shared.patience.skip_slow_hosts {
            return HostRule::TooSlow(delay);
        }
        rules.crawl_delay = Some(most);
        if shared.rules.is_first_slow(&lease.host) {
            let (host, asked, most) = (&lease.host, delay.as_secs(), most.as_secs());
            tracing::warn!(
                "{host}: robots.txt requires {asked} s between requests; the crawl waits {most} s (--max-crawl-delay)"
            );
        }
    }
    if let Some(delay) = rules.crawl_delay {
        shared.frontier.set_delay(&lease.host, delay);
    }
    if shared.sitemaps {
        // A recrawl reads sitemaps again, because they may list new pages: once a run, even if named repeatedly.
        let (maps, elsewhere) = sitemaps(&rules, &lease.entry.url, &shared.url_limits);
        let mut held = shared.rules.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend(elsewhere);
        drop(held);
        for map in maps {
            let again = shared.sitemaps_again && shared.rules.is_first(&map);
            let map = Entry::sitemap(map, 0);
            let pushed = match again {
                true => shared.frontier.push_again(map),
                false => shared.frontier.push(map),
            };
            if let Err(error) = pushed {
                tracing::warn!("{error}");
            }
        }
    }
    HostRule::Rules(Arc::new(rules))
}

/// Returns the sitemaps that robots.txt names, on any host, or the default location if it names none. The second list
/// contains those that are rejected as traps, which are logged.
///
/// Source: sitemaps.org, "Sitemaps & Cross Submits".
fn sitemaps(rules: &Robots, url: &Url, limits: &UrlLimits) -> (Vec<Url>, Vec<Url>) {
    let (mut taken, mut others) = (Vec::new(), Vec::new());
    let file = url.join("/robots.txt").unwrap_or_else(|_| url.clone());
    for map in rules.sitemaps.iter().filter_map(|text| file.join(text).ok()) {
        match hapax_url::normalize(&map, limits) {
            Ok(map) => taken.push(map),
            Err(Rejected::Trap(_)) => others.push(map),
            Err(Rejected::Scheme) => {}
        }
    }
    if taken.is_empty() {
        taken.extend(url.join(USUAL_SITEMAP));
    }
    (taken, others)
}

pub(super) const USUAL_SITEMAP: &str = "/sitemap.xml";

/// Returns age and text of a stored robots.txt. A time in the future counts as the maximum age: a clock is wrong.
fn read_note(note: &[u8]) -> Option<(Duration, &[u8])> {
    let (time, text) = note.split_first_chunk::<8>()?;
    let age = seconds_now().checked_sub(u64::from_le_bytes(*time));
    Some((age.map_or(Duration::MAX, Duration::from_secs), text))
}

/// Marks the stored robots.txt of a host as outdated: it is requested again, and the copy is used only if that fails.
pub(crate) fn outdate(frontier: &dyn Frontier, host: &str) -> crate::error::Result<()> {
    if let Some(mut note) = frontier.note_of(host, NOTE)?
        && let Some((time, _)) = note.split_first_chunk_mut::<8>()
    {
        *time = [0; 8];
        frontier.note(host, NOTE, note);
    }
    Ok(())
}

pub(crate) fn outdate_all(frontier: &dyn Frontier) -> crate::error::Result<()> {
    let mut hosts = Vec::new();
    frontier.notes(NOTE, &mut |host, _| hosts.push(host.to_owned()))?;
    hosts.iter().try_for_each(|host| outdate(frontier, host))
}

/// Returns the age and text of a host's stored robots.txt, for `crawl explain`.
pub(crate) fn remembered(
    frontier: &dyn Frontier,
    host: &str,
) -> crate::error::Result<Option<(Duration, Vec<u8>)>> {
    let note = frontier.note_of(host, NOTE)?;
    Ok(note.as_deref().and_then(read_note).map(|(age, text)| (age, text.to_vec())))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_rules::Held;

    #[test]
    fn robots_sitemaps_on_other_hosts_are_taken_and_trap_urls_are_returned_for_the_log() {
        let long = format!("http://a.example/{}", "x/".repeat(5000));
        let text = format!(
            "Sitemap: mine.xml\nSitemap: http://b.example/its.xml\nSitemap: {long}\nSitemap: ftp://a.example/x\n"
        );
        let rules = Robots::parse(text.as_bytes(), "hapax");
        let url = Url::parse("http://a.example/deep/page").unwrap();
        let (taken, others) = sitemaps(&rules, &url, &UrlLimits::default());
        let expected =
            [url.join("/mine.xml").unwrap(), Url::parse("http://b.example/its.xml").unwrap()];
        assert_eq!(taken, expected);
        assert_eq!(others, [Url::parse(&long).unwrap()]);
    }

    #[test]
    fn a_robots_copy_dated_in_the_future_is_not_fresh() {
        let note = |seconds: u64| [&seconds.to_le_bytes()[..], b"Disallow: /"].concat();
        let age = |seconds| read_note(&note(seconds)).map(|(age, _)| age).unwrap();
        assert!(age(seconds_now()) < VALID);
        assert!(age(seconds_now() - 2 * VALID.as_secs()) >= VALID);
        assert!(age(seconds_now() + 3_600) >= VALID);
    }

    #[test]
    fn the_robots_txt_timeout_allows_for_a_chain_of_delayed_redirects() {
        assert_eq!(time_of_all_tries(Duration::ZERO), WITHIN);
        let pause = Duration::from_secs(10);
        let chain = pause * MAX_ROBOTS_REDIRECTS;
        assert!(time_of_all_tries(pause) >= chain + Duration::from_secs(10));
    }

    #[test]
    fn cached_robots_rules_are_requested_again_after_they_expire() {
        let mut held = Held::default();
        let cell = held.cell("a");
        assert!(Arc::ptr_eq(&cell, &held.cell("a")), "nobody has filled it yet");
        cell.set(Found::holds_for(HostRule::Refused, VALID)).unwrap();
        assert!(Arc::ptr_eq(&cell, &held.cell("a")));
        let old = held.cell("b");
        old.set(Found::holds_for(HostRule::Refused, Duration::ZERO)).unwrap();
        assert!(!Arc::ptr_eq(&old, &held.cell("b")));
    }

    #[test]
    fn any_robots_response_is_distinguished_from_no_response() {
        for answered in [None, Some(Kind::TooLarge), Some(Kind::Tls)] {
            assert_eq!(answers(answered), Some(true));
        }
        for silent in [Kind::Timeout, Kind::Connect] {
            assert_eq!(answers(Some(silent)), Some(false));
        }
        assert_eq!(answers(no_answer(WITHIN).kind), Some(false));
        assert_eq!(answers(Some(Kind::Dns)), None);
    }
}

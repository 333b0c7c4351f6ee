//! robots.txt of a host: fetched once a day, stored between runs.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use hapax_fetch::{Kind, MAX_ROBOTS_REDIRECTS, Robots, RobotsAnswer, Unreachable};
use hapax_frontier::{Entry, Lease};
use hapax_url::{Rejected, UrlLimits};
use url::Url;

use super::context::Shared;
use super::host_file::{AGAIN, ROBOTS, VALID, note, read_note};
use super::host_rules::{Found, HostRule, HostRules, Source};
use super::rules::names_host;
use super::usual_sitemap::USUAL_SITEMAP;

/// Limit of all attempts, without the pauses of one redirect chain.
const WITHIN: Duration = Duration::from_secs(20);
/// Wait before each attempt.
const WAITS: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(5)];
const MAX_WAIT: Duration = Duration::from_secs(12);

impl HostRules {
    /// Returns whether robots.txt of the lease's host allows another URL of the host.
    pub(super) async fn allows(&self, shared: &Shared, lease: &Lease, url: &Url) -> bool {
        if names_host(&shared.ignore_robots, url) {
            return true;
        }
        match self.of(shared, lease).await.0 {
            HostRule::Rules(rules) => rules.allows(url).0,
            _ => false,
        }
    }

    /// Returns the pause before another request within a lease.
    pub(super) async fn pause(&self, shared: &Shared, lease: &Lease) -> Duration {
        if names_host(&shared.ignore_robots, &lease.entry.url) {
            return shared.delay;
        }
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

    /// Tries `/sitemap.xml` if this is the second page of a host that waits for it.
    pub(super) fn try_usual_sitemap(&self, shared: &Shared, lease: &Lease, source: Source) {
        let mut usual = self.usual_sitemaps.lock().unwrap_or_else(PoisonError::into_inner);
        if source != Source::Lease
            && usual.is_due(&lease.host)
            && let Ok(map) = lease.entry.url.join(USUAL_SITEMAP)
        {
            push_sitemap(shared, map);
        }
    }
}

async fn rule(shared: &Shared, lease: &Lease) -> Found {
    let kept = shared.frontier.note_of(&lease.host, ROBOTS).ok().flatten();
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

/// Returns the time limit of all requests for a file of a host. It includes the pauses, so that a redirect chain with long ones can finish.
pub(super) fn time_of_all_tries(pause: Duration) -> Duration {
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
                shared.frontier.note(&lease.host, ROBOTS, note(&text));
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
        let (mut maps, elsewhere) = sitemaps(&rules, &lease.entry.url, &shared.url_limits);
        let mut held = shared.rules.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend(elsewhere);
        drop(held);
        if maps.is_empty() {
            let url = &lease.entry.url;
            let mut usual =
                shared.rules.usual_sitemaps.lock().unwrap_or_else(PoisonError::into_inner);
            if usual.is_tried(&lease.host, url, lease.entry.depth == 0) {
                maps.extend(url.join(USUAL_SITEMAP));
            }
        }
        maps.into_iter().for_each(|map| push_sitemap(shared, map));
    }
    HostRule::Rules(Arc::new(rules))
}

fn push_sitemap(shared: &Shared, map: Url) {
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

/// Returns the sitemaps that robots.txt names, on any host. The second list contains those that are rejected as traps,
/// which are logged.
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
    (taken, others)
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

//! Claims of other crawls about duplicates (feeds). They save downloads and are verified by samples.
//!
//! Trust is recorded for each feed, host, and host of the representative. Claims about a host count only after a page of it was fetched and was
//! the duplicate that the feed names. One failed sample withdraws all claims about its host. Failed samples on
//! several hosts withdraw the feed. URLs that withdrawn claims excluded are fetched.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use hapax_frontier::Frontier;
use hapax_url::host_key;
use serde::{Deserialize, Serialize};
use url::Url;

/// Names of the frontier's notes: the claim about a URL; the samples of a feed; its samples about one host. The key
/// of the last is feed, host, and host of the representative, each on a line.
pub(crate) const CLAIM: &str = "claim";
pub(crate) const TRUST: &str = "feed";
const HOST_TRUST: &str = "feed-host";
/// Name of the note that marks a URL as fetched after all.
pub(crate) const RELEASED: &str = "feed-released";
/// One claim in this number is verified even if samples of its host held.
const CHECK_EVERY: u64 = 20;
/// A feed is withdrawn if more than one sampled host in this number had a failed sample, and at least
/// [`FAILED_HOSTS`].
const FAILED_ONE_IN: u64 = 10;
const FAILED_HOSTS: u64 = 3;
/// Maximum number of imports of one name whose claims count: the last ones.
const MAX_IMPORTS: usize = 64;

/// Results of samples of a feed, or of its claims about one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Trust {
    pub(crate) checks: u64,
    pub(crate) failed: u64,
    /// Of a feed: digests of imports that two readings confirmed. Claims of other imports do not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) imports: Vec<String>,
}

impl Trust {
    /// Adds an import whose digest two readings confirmed. Results of samples stay.
    pub(crate) fn take_in(&mut self, import: &str) {
        self.imports.retain(|known| known != import);
        self.imports.push(import.to_owned());
        let old = self.imports.len().saturating_sub(MAX_IMPORTS);
        self.imports.drain(..old);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Feed {
    all: Trust,
    /// By host of the claimed URL, then by host of the representative: correct claims within one host prove nothing
    /// about claims that lead to another host.
    hosts: HashMap<String, BTreeMap<String, Trust>>,
}

impl Feed {
    fn failed_hosts(&self) -> u64 {
        self.hosts.keys().filter(|host| self.has_failed(host)).count() as u64
    }

    fn has_failed(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|to| to.values().any(|trust| trust.failed > 0))
    }

    fn is_lost(&self) -> bool {
        let (failed, sampled) = (self.failed_hosts(), self.hosts.len() as u64);
        // Before 0.2 only the results of the whole feed were stored.
        let before = self.hosts.is_empty() && self.all.failed * FAILED_ONE_IN > self.all.checks;
        before || (failed >= FAILED_HOSTS && failed * FAILED_ONE_IN > sampled)
    }
}

/// A sample: the feed, the host of the claimed URL and that of the representative.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) feed: String,
    pub(crate) host: String,
    pub(crate) to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    Nothing,
    Host,
    Feed,
}

/// The feeds of a data directory, shared between tasks and commit thread.
#[derive(Debug, Default)]
pub(super) struct Feeds {
    trust: Mutex<BTreeMap<String, Feed>>,
    /// Prevents the author of a feed from predicting which claims are verified.
    secret: u64,
    /// Follow no claim: a recrawl requests the URLs that feeds excluded.
    pub(super) follows_none: AtomicBool,
    /// Number of followed claims whose representative was not fetched yet.
    pub(super) open: AtomicU64,
}

/// A claim: the feed, and the representative of the claimed page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) feed: String,
    pub(super) of: Url,
}

pub(crate) fn claim_note(feed: &str, of: &Url, import: &str) -> Vec<u8> {
    format!("{feed}\n{of}\n{import}").into_bytes()
}

impl Feeds {
    pub(super) fn read(frontier: &dyn Frontier, secret: u64) -> Result<Self> {
        let feeds = Self { secret, ..Self::default() };
        frontier.notes(TRUST, &mut |name, value| {
            let all = serde_json::from_slice(value).unwrap_or_default();
            feeds.lock().entry(name.to_owned()).or_default().all = all;
        })?;
        frontier.notes(HOST_TRUST, &mut |name, value| {
            let mut names = name.split('\n').map(str::to_owned);
            if let (Some(feed), Some(host), Some(to)) = (names.next(), names.next(), names.next()) {
                let trust = serde_json::from_slice(value).unwrap_or_default();
                let mut all = feeds.lock();
                let hosts = &mut all.entry(feed).or_default().hosts;
                hosts.entry(host).or_default().insert(to, trust);
            }
        })?;
        Ok(feeds)
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Feed>> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the claim about a URL, unless its import is unconfirmed, a sample about its host has failed, or the feed is
    /// withdrawn.
    pub(super) fn claim(&self, frontier: &dyn Frontier, url: &Url) -> Option<Claim> {
        if self.lock().is_empty() {
            return None;
        }
        let note = frontier.note_of(url.as_str(), CLAIM).ok().flatten()?;
        let note = String::from_utf8(note).ok()?;
        let mut lines = note.split('\n');
        let (name, of, import) = (lines.next()?, lines.next()?, lines.next());
        let feeds = self.lock();
        let feed = feeds.get(name)?;
        // Notes of versions before 0.2 name no import.
        let taken =
            import.is_none_or(|import| feed.all.imports.iter().any(|known| known == import));
        let trusted = taken && !feed.has_failed(&host_key(url)) && !feed.is_lost();
        trusted.then(|| Some(Claim { feed: name.to_owned(), of: Url::parse(of).ok()? }))?
    }

    /// Returns whether a claim is followed without fetching the page: a sample between the two hosts held and none failed,
    /// and the page is not itself a sample. A recrawl follows none.
    pub(super) fn is_followed(&self, claim: &Claim, url: &Url) -> bool {
        if self.follows_none.load(Relaxed) {
            return false;
        }
        let key = hapax_url::url_key(&format!("{} {url}", self.secret)) as u64;
        let feeds = self.lock();
        let hosts = feeds.get(&claim.feed).and_then(|feed| feed.hosts.get(&host_key(url)));
        let trust = hosts.and_then(|to| to.get(&host_key(&claim.of)));
        trust.is_some_and(|trust| trust.checks > 0 && trust.failed == 0)
            && !key.is_multiple_of(CHECK_EVERY)
    }

    /// Records the result of a sample. Returns what it withdraws.
    pub(crate) fn checked(&self, frontier: &dyn Frontier, check: &Check, held: bool) -> Withdrawn {
        let Check { feed: name, host, to } = check;
        let mut feeds = self.lock();
        let feed = feeds.entry(name.clone()).or_default();
        let (was_lost, had_failed) = (feed.is_lost(), feed.has_failed(host));
        let trust = feed.hosts.entry(host.clone()).or_default().entry(to.clone()).or_default();
        for trust in [&mut *trust, &mut feed.all] {
            trust.checks += 1;
            trust.failed += u64::from(!held);
        }
        let note = |trust: &Trust| serde_json::to_vec(trust).unwrap_or_default();
        frontier.note(&format!("{name}\n{host}\n{to}"), HOST_TRUST, note(trust));
        frontier.note(name, TRUST, note(&feed.all));
        match (feed.is_lost(), held) {
            (true, _) if !was_lost => Withdrawn::Feed,
            (false, false) if !had_failed => Withdrawn::Host,
            _ => Withdrawn::Nothing,
        }
    }
}

/// Returns the claim of a trusted feed about a URL: the feed, and the representative.
pub(crate) fn claimed(frontier: &dyn Frontier, url: &Url) -> Result<Option<(String, Url)>> {
    let claim = Feeds::read(frontier, 0)?.claim(frontier, url);
    Ok(claim.map(|claim| (claim.feed, claim.of)))
}

#[derive(Debug, Default)]
pub(super) struct OpenClaims {
    /// Followed claims; their representatives must be fetched.
    pub(crate) followed: Vec<(Url, Claim)>,
    /// Samples that were fetched before their representative, by its URL: the URL of each and its feed.
    pub(crate) waiting: HashMap<String, Vec<(String, String)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(hosts: &[(u64, u64)]) -> Feed {
        let hosts = hosts.iter().enumerate().map(|(host, &(checks, failed))| {
            let trust = Trust { checks, failed, ..Trust::default() };
            (format!("{host}.example"), BTreeMap::from([("of.example".to_owned(), trust)]))
        });
        Feed { hosts: hosts.collect(), ..Feed::default() }
    }

    #[test]
    fn a_feed_is_withdrawn_by_many_hosts_with_failed_samples() {
        assert!(!feed(&[]).is_lost());
        assert!(!feed(&[(1, 0); 40]).is_lost());
        assert!(!feed(&[(1, 1)]).is_lost(), "its claims about that host are");
        assert!(!feed(&[(300, 0), (1, 1)]).is_lost(), "one bad host");
        assert!(!feed(&[(1, 0), (1, 1), (1, 1)]).is_lost());
        assert!(feed(&[(1, 0), (1, 1), (1, 1), (1, 1)]).is_lost());
        let mut hosts = vec![(1, 0); 27];
        hosts.extend([(1, 1); 3]);
        assert!(!feed(&hosts).is_lost(), "one in ten");
        hosts.push((1, 1));
        assert!(feed(&hosts).is_lost());
    }

    #[test]
    fn imports_are_remembered_once_each_and_not_without_end() {
        let mut trust = Trust { checks: 7, failed: 1, ..Trust::default() };
        for number in 0..200 {
            trust.take_in(&number.to_string());
        }
        trust.take_in("199");
        assert_eq!((trust.imports.len(), trust.checks, trust.failed), (MAX_IMPORTS, 7, 1));
        let before: Trust = serde_json::from_str("{\"checks\":3,\"failed\":1}").unwrap();
        assert_eq!((before.checks, before.failed, before.imports.len()), (3, 1, 0));
    }
}

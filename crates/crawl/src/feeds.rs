//! What other crawls found to be duplicates: their claims spare downloads and are checked by samples.
//!
//! Trust is kept per feed and host. No claim about a host counts before a page of it was fetched and found
//! to be the duplicate that the feed says. One failed sample withdraws all claims of its host; many hosts
//! with failed samples withdraw the feed. What was spared is fetched then.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use hapax_data::Context;
use hapax_data::SkipReason;
use hapax_frontier::{Entry, Frontier, Lease};
use hapax_url::host_key;
use hapax_warc::format_time;
use serde::{Deserialize, Serialize};
use url::Url;

use super::commit::Outcome;
use super::writer::Writer;
use hapax_data::Skipped;

/// Under these names the frontier remembers a URL's claim, what was learnt about a feed, and about a feed's
/// claims on one host (the name is the feed's, the host's, and that of the host of the other pages, each in
/// a line).
pub(crate) const CLAIM: &str = "claim";
pub(crate) const TRUST: &str = "feed";
const HOST_TRUST: &str = "feed-host";
/// A URL that was spared and is fetched after all.
const RELEASED: &str = "feed-released";
/// One claim in so many is fetched all the same, also of a host with a sample that held.
const CHECK_EVERY: u64 = 20;
/// A feed is withdrawn when more than one sampled host in so many had a failed sample,
const FAILED_ONE_IN: u64 = 10;
/// and so many hosts had.
const FAILED_HOSTS: u64 = 3;
/// Imports of one name whose claims count; of more, the last ones.
const MAX_IMPORTS: usize = 64;

/// What samples said about a feed, or about its claims on one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Trust {
    pub(crate) checks: u64,
    pub(crate) failed: u64,
    /// Of a feed: the digests of what was imported under its name, checked twice. Claims of other
    /// imports were never checked to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) imports: Vec<String>,
}

impl Trust {
    /// Takes in an import whose digest was right twice. What was learnt before stays.
    pub(crate) fn take_in(&mut self, import: &str) {
        self.imports.retain(|known| known != import);
        self.imports.push(import.to_owned());
        let old = self.imports.len().saturating_sub(MAX_IMPORTS);
        self.imports.drain(..old);
    }
}

/// A feed as the samples of its hosts show it.
#[derive(Debug, Default)]
struct Feed {
    all: Trust,
    /// By the host of the claimed URL, then by that of the page that is said to stand for it: true claims
    /// within one host say nothing about claims that lead to another.
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
        // Before 0.2 there was only what all checks said.
        let before = self.hosts.is_empty() && self.all.failed * FAILED_ONE_IN > self.all.checks;
        before || (failed >= FAILED_HOSTS && failed * FAILED_ONE_IN > sampled)
    }
}

/// A page that was fetched as a sample of a feed's claims: of which host, and leading to which.
#[derive(Clone, Debug)]
struct Check {
    feed: String,
    host: String,
    to: String,
}

/// What a failed sample withdraws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Withdrawn {
    Nothing,
    Host,
    Feed,
}

/// The feeds of a data directory, shared between the fetching tasks and the commit thread.
#[derive(Debug, Default)]
pub(super) struct Feeds {
    trust: Mutex<BTreeMap<String, Feed>>,
    /// Who writes a feed cannot know which claims are checked.
    secret: u64,
    /// No claim is followed: a recrawl requests what a feed spared.
    pub(super) follows_none: AtomicBool,
    /// Claims that were followed, and whose other page has not come yet.
    pub(super) open: AtomicU64,
}

/// A claim: the feed that makes it, and the page that is said to stand for this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) feed: String,
    pub(super) of: Url,
}

/// The note of a claim.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Feed>> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The claim about a URL, of a feed and a host that are trusted so far.
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
        // A note of before 0.2 names no import.
        let taken =
            import.is_none_or(|import| feed.all.imports.iter().any(|known| known == import));
        let trusted = taken && !feed.has_failed(&host_key(url)) && !feed.is_lost();
        trusted.then(|| Some(Claim { feed: name.to_owned(), of: Url::parse(of).ok()? }))?
    }

    /// Whether a claim is to be followed without a look. Not so long as no sample of its host held, and
    /// not if it is one of those that are checked.
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

    /// A check has ended; what is withdrawn by that.
    fn checked(&self, frontier: &dyn Frontier, check: &Check, held: bool) -> Withdrawn {
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

/// What a trusted feed says about a URL: the feed, and the page that stands for it.
pub(crate) fn claimed(frontier: &dyn Frontier, url: &Url) -> Result<Option<(String, Url)>> {
    let claim = Feeds::read(frontier, 0)?.claim(frontier, url);
    Ok(claim.map(|claim| (claim.feed, claim.of)))
}

/// What the commit thread remembers of claims.
#[derive(Debug, Default)]
pub(super) struct OpenClaims {
    /// Followed: the page that stands for it must come.
    followed: Vec<(Url, Claim)>,
    /// Fetched as checks before the page that is said to stand for them.
    waiting: HashMap<String, Vec<(String, String)>>,
}

impl Writer {
    /// Claims that an earlier run followed.
    pub(super) fn remember_claims(&mut self) -> Result<()> {
        if self.feeds.lock().is_empty() {
            return Ok(());
        }
        self.each_followed(|writer, url, claim| {
            // One that was dropped since stands in the log all the same.
            if writer.feeds.claim(&*writer.frontier, &url).is_some_and(|now| now.of == claim.of) {
                writer.claims.followed.push((url, claim));
            } else if writer.frontier.note_of(url.as_str(), RELEASED)?.is_none() {
                // Withdrawn or replaced, and the run was killed before the page was queued.
                writer.release(&url)?;
            }
            Ok(())
        })?;
        self.feeds.open.store(self.claims.followed.len() as u64, Relaxed);
        Ok(())
    }

    /// Calls `visit` with every claim of the log that was followed.
    fn each_followed(
        &mut self,
        mut visit: impl FnMut(&mut Self, Url, Claim) -> Result<()>,
    ) -> Result<()> {
        self.committer.commit_as_it_is()?;
        let Ok(log) = std::fs::File::open(self.root.join("skipped.jsonl")) else { return Ok(()) };
        for line in std::io::BufRead::lines(std::io::BufReader::new(log)) {
            let line = line.context("skipped.jsonl")?;
            let Ok(skipped) = Skipped::parse(&line) else { continue };
            let claim = skipped.claim.and_then(|claim| {
                Some(Claim { of: Url::parse(&claim.of).ok()?, feed: claim.feed })
            });
            if let (Ok(url), Some(claim)) = (Url::parse(&skipped.url), claim) {
                visit(self, url, claim)?;
            }
        }
        Ok(())
    }

    /// Follows a claim, if the page that stands for this one is known or can be fetched; otherwise the
    /// text would be lost, and the claim is dropped.
    pub(super) fn follow_claim(&mut self, url: &Url, depth: u16, claim: &Claim) -> Result<bool> {
        if self.committer.store().id_of(claim.of.as_str().as_bytes())?.is_none() {
            match self.rules.admit(&claim.of, depth) {
                Some(Ok(target)) if target != *url => {
                    self.frontier.push(Entry::page(target, depth))?;
                    self.claims.followed.push((url.clone(), claim.clone()));
                    self.feeds.open.fetch_add(1, Relaxed);
                }
                _ => {
                    self.frontier.note(url.as_str(), CLAIM, Vec::new());
                    return Ok(false);
                }
            }
        }
        let detail = format!("{}: the same as {}", claim.feed, claim.of);
        let time = format_time(std::time::SystemTime::now());
        let line = Skipped::new(time, url.as_str(), SkipReason::Feed, detail);
        let claim = hapax_data::Claim { feed: claim.feed.clone(), of: claim.of.to_string() };
        self.committer.skip_line(&Skipped { claim: Some(claim), ..line })?;
        Ok(true)
    }

    /// The same of a URL that was queued before, such as a seed.
    pub(super) fn claimed(&mut self, lease: Lease, claim: &Claim) -> Result<()> {
        let (url, depth) = (lease.entry.url.clone(), lease.entry.depth);
        let now = std::time::Instant::now();
        if self.follow_claim(&url, depth, claim)? {
            self.frontier.free_unasked(&lease, now);
            self.committer.finish(Some(&lease));
        } else {
            self.frontier.put_back(lease, Duration::ZERO, now);
        }
        Ok(())
    }

    /// Whether a URL that nobody met before is left out by a feed.
    pub(super) fn left_to_feed(&mut self, url: &Url, depth: u16) -> Result<bool> {
        let Some(claim) = self.feeds.claim(&*self.frontier, url) else { return Ok(false) };
        if self.frontier.knows(url.as_str())? || !self.feeds.is_followed(&claim, url) {
            return Ok(false);
        }
        let followed = self.follow_claim(url, depth, &claim)?;
        if followed {
            self.frontier.mark(url)?;
        }
        Ok(followed)
    }

    /// What a fetched page says about the claims on it and for it.
    pub(super) fn check_claims(&mut self, url: &Url, outcome: &Outcome) -> Result<()> {
        let alike = !matches!(outcome, Outcome::New);
        let mut ended: Vec<(Check, bool)> = Vec::new();
        let check = |feed: String, url: &Url, of: &Url| Check {
            feed,
            host: host_key(url),
            to: host_key(of),
        };
        for (page, feed) in self.claims.waiting.remove(url.as_str()).unwrap_or_default() {
            // The page that stands for it came after it: the two must be one.
            let Ok(claimed) = Url::parse(&page) else { continue };
            ended.push((check(feed, &claimed, url), self.are_one(&page, url.as_str())?));
        }
        if let Some(claim) = self.feeds.claim(&*self.frontier, url) {
            let known = self.committer.store().id_of(claim.of.as_str().as_bytes())?.is_some();
            if alike || known {
                let held = known && self.are_one(url.as_str(), claim.of.as_str())?;
                ended.push((check(claim.feed, url, &claim.of), held));
            } else {
                let waiting = self.claims.waiting.entry(claim.of.to_string()).or_default();
                waiting.push((url.to_string(), claim.feed.clone()));
                let depth = self.committer.depth_of(url.as_str())?.max(1);
                self.push(&claim.of, depth, 0)?;
            }
        }
        for (check, held) in ended {
            match self.feeds.checked(&*self.frontier, &check, held) {
                Withdrawn::Nothing => {}
                Withdrawn::Host => self.withdraw(&check.feed, Some(&check.host))?,
                Withdrawn::Feed => self.withdraw(&check.feed, None)?,
            }
        }
        Ok(())
    }

    /// Whether one of two pages stands for the other, or a third one for both.
    fn are_one(&self, url: &str, of: &str) -> Result<bool> {
        let one = self.committer.stands_for(url)?;
        Ok(one.is_some() && one == self.committer.stands_for(of)?)
    }

    /// Everything that was spared by a feed, or by its claims on one host, is fetched after all.
    fn withdraw(&mut self, feed: &str, host: Option<&str>) -> Result<()> {
        let of = host.map(|host| format!(" of {host}")).unwrap_or_default();
        tracing::warn!("a check of the feed {feed} failed: what it spared{of} is fetched");
        let detail = format!("a check failed: what it spared{of} is fetched after all");
        self.committer.skip(feed, SkipReason::FeedDistrusted, &detail)?;
        let withdrawn = |url: &Url, claim: &Claim| {
            claim.feed == feed && host.is_none_or(|host| host_key(url) == host)
        };
        self.each_followed(|writer, url, claim| {
            if withdrawn(&url, &claim) {
                writer.release(&url)?;
            }
            Ok(())
        })?;
        self.claims.followed.retain(|(url, claim)| !withdrawn(url, claim));
        self.feeds.open.store(self.claims.followed.len() as u64, Relaxed);
        Ok(())
    }

    /// Queues a page that a feed spared, unless it is known by now. The note goes with the same commit, so
    /// that a killed run neither loses the page nor requests it twice.
    fn release(&mut self, url: &Url) -> Result<()> {
        self.frontier.note(url.as_str(), RELEASED, b"1".to_vec());
        if self.committer.store().id_of(url.as_str().as_bytes())?.is_none() {
            self.frontier.push_again(Entry::page(url.clone(), 1))?;
        }
        Ok(())
    }

    /// A recrawl requests what a feed spared.
    pub(super) fn request_spared(&mut self) -> Result<()> {
        if self.feeds.lock().is_empty() {
            return Ok(());
        }
        self.each_followed(|writer, url, _| writer.release(&url))?;
        self.claims.followed.clear();
        self.feeds.open.store(0, Relaxed);
        Ok(())
    }

    /// When nothing else is left: a claim whose other page never came is dropped.
    pub(super) fn settle_claims(&mut self) -> Result<bool> {
        if self.feeds.open.load(Relaxed) == 0 {
            return Ok(false);
        }
        for (url, claim) in std::mem::take(&mut self.claims.followed) {
            let there = self.committer.store().id_of(claim.of.as_str().as_bytes())?.is_some();
            if !there {
                self.frontier.note(url.as_str(), CLAIM, Vec::new());
                self.release(&url)?;
            }
        }
        self.committer.commit(false)?;
        self.feeds.open.store(0, Relaxed);
        Ok(true)
    }
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

//! What other crawls found to be duplicates: their claims spare downloads, are checked by a share of
//! them, and are dropped with their feed when the checks fail. Nothing unique may be lost by them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use hapax_frontier::{Entry, Frontier, Lease};
use serde::{Deserialize, Serialize};
use url::Url;

use super::commit::Outcome;
use super::log::Skipped;
use super::writer::Writer;

/// Under these names the frontier remembers a URL's claim, and what was learnt about a feed.
pub(crate) const CLAIM: &str = "claim";
pub(crate) const TRUST: &str = "feed";
/// One claim in so many is fetched all the same, and the first few of a feed are.
const CHECK_EVERY: u64 = 20;
const FIRST_CHECKS: usize = 3;
/// A feed is distrusted when more than one check in so many failed.
const FAILED_ONE_IN: u64 = 10;

/// What checks said about a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trust {
    pub(crate) checks: u64,
    pub(crate) failed: u64,
}

impl Trust {
    pub(crate) const fn is_lost(self) -> bool {
        self.failed * FAILED_ONE_IN > self.checks
    }
}

/// The feeds of a data directory, shared between the fetching tasks and the commit thread.
#[derive(Debug, Default)]
pub(super) struct Feeds {
    trust: Mutex<BTreeMap<String, Trust>>,
    /// URLs that are fetched as checks, by feed.
    begun: Mutex<BTreeMap<String, HashSet<u64>>>,
    /// Who writes a feed cannot know which claims are checked.
    secret: u64,
    /// Claims that were followed, and whose other page has not come yet.
    pub(super) open: AtomicU64,
}

/// A claim: the feed that makes it, and the page that is said to stand for this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) feed: String,
    pub(super) of: Url,
}

impl Feeds {
    pub(super) fn read(frontier: &dyn Frontier, secret: u64) -> Result<Self> {
        let feeds = Self { secret, ..Self::default() };
        frontier.notes(TRUST, &mut |name, value| {
            let trust = serde_json::from_slice(value).unwrap_or_default();
            feeds.lock().insert(name.to_owned(), trust);
        })?;
        Ok(feeds)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Trust>> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The claim about a URL, of a feed that is trusted.
    pub(super) fn claim(&self, frontier: &dyn Frontier, url: &Url) -> Option<Claim> {
        if self.lock().is_empty() {
            return None;
        }
        let note = frontier.note_of(url.as_str(), CLAIM).ok().flatten()?;
        let note = String::from_utf8(note).ok()?;
        let (feed, of) = note.split_once('\n')?;
        let trusted = self.lock().get(feed).is_some_and(|trust| !trust.is_lost());
        trusted.then(|| Some(Claim { feed: feed.to_owned(), of: Url::parse(of).ok()? }))?
    }

    /// Whether a claim is to be followed without a look, or is one of those that are checked.
    pub(super) fn is_followed(&self, claim: &Claim, url: &Url) -> bool {
        let key = hapax_frontier::url_key(&format!("{} {url}", self.secret)) as u64;
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = begun.entry(claim.feed.clone()).or_default();
        // A URL that was chosen is asked about again when its turn comes.
        if begun.contains(&key) {
            return false;
        }
        let checked = begun.len() < FIRST_CHECKS || key.is_multiple_of(CHECK_EVERY);
        if checked {
            begun.insert(key);
        }
        !checked
    }

    /// A check has ended; whether the feed is distrusted by that.
    fn checked(&self, frontier: &dyn Frontier, feed: &str, held: bool) -> bool {
        let mut all = self.lock();
        let trust = all.entry(feed.to_owned()).or_default();
        let before = trust.is_lost();
        trust.checks += 1;
        trust.failed += u64::from(!held);
        frontier.note(feed, TRUST, serde_json::to_vec(trust).unwrap_or_default());
        trust.is_lost() && !before
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
            let Ok(skipped) = serde_json::from_str::<Skipped<'_>>(&line) else { continue };
            if skipped.reason != "feed" {
                continue;
            }
            let claim = skipped.detail.split_once(SAYS).and_then(|(feed, of)| {
                Some(Claim { feed: feed.to_owned(), of: Url::parse(of).ok()? })
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
        let detail = format!("{}{SAYS}{}", claim.feed, claim.of);
        self.committer.skip(url.as_str(), "feed", &detail)?;
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
        let mut ended: Vec<(String, bool)> = Vec::new();
        for (page, feed) in self.claims.waiting.remove(url.as_str()).unwrap_or_default() {
            // The page that stands for it came after it: the two must be one.
            ended.push((feed, self.are_one(&page, url.as_str())?));
        }
        if let Some(claim) = self.feeds.claim(&*self.frontier, url) {
            let known = self.committer.store().id_of(claim.of.as_str().as_bytes())?.is_some();
            if alike || known {
                let held = known && self.are_one(url.as_str(), claim.of.as_str())?;
                ended.push((claim.feed, held));
            } else {
                let waiting = self.claims.waiting.entry(claim.of.to_string()).or_default();
                waiting.push((url.to_string(), claim.feed.clone()));
                let depth = self.committer.depth_of(url.as_str())?.max(1);
                self.push(&claim.of, depth, 0)?;
            }
        }
        for (feed, held) in ended {
            if self.feeds.checked(&*self.frontier, &feed, held) {
                self.distrust(&feed)?;
            }
        }
        Ok(())
    }

    /// Whether one of two pages stands for the other, or a third one for both.
    fn are_one(&self, url: &str, of: &str) -> Result<bool> {
        let one = self.committer.stands_for(url)?;
        Ok(one.is_some() && one == self.committer.stands_for(of)?)
    }

    /// Everything that was spared by a feed is fetched after all.
    fn distrust(&mut self, feed: &str) -> Result<()> {
        tracing::warn!("the feed {feed} is not to be trusted: what it spared is fetched");
        let detail = "its checks failed: what it spared is fetched after all";
        self.committer.skip(feed, "feed-distrusted", detail)?;
        self.each_followed(|writer, url, claim| {
            if claim.feed == feed {
                writer.frontier.push_again(Entry::page(url, 1))?;
            }
            Ok(())
        })?;
        self.claims.followed.retain(|(_, claim)| claim.feed != feed);
        self.feeds.open.store(self.claims.followed.len() as u64, Relaxed);
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
                self.frontier.push_again(Entry::page(url, 1))?;
            }
        }
        self.committer.commit(false)?;
        self.feeds.open.store(0, Relaxed);
        Ok(true)
    }
}

/// Between a feed's name and the page, in the detail of a skipped URL.
const SAYS: &str = ": the same as ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_is_distrusted_by_its_failures_not_by_one_in_many() {
        let trust = |checks, failed| Trust { checks, failed };
        assert!(!trust(0, 0).is_lost() && !trust(30, 0).is_lost() && !trust(30, 3).is_lost());
        assert!(trust(1, 1).is_lost() && trust(30, 4).is_lost());
    }
}

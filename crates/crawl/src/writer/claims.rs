//! Claims of feeds on the commit thread: follows, verifies and withdraws them.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hapax_data::{Context, SkipReason, Skipped};
use hapax_frontier::{End, Entry, HostAnswer, Lease};
use hapax_url::host_key;
use hapax_warc::format_time;
use url::Url;

use super::Writer;
use crate::admission::Admission;
use crate::commit::Outcome;
use crate::error::Result;
use crate::feeds::{CLAIM, Check, Claim, RELEASED, Withdrawn};

impl Writer {
    pub(crate) fn remember_claims(&mut self) -> Result<()> {
        if self.feeds.lock().is_empty() {
            return Ok(());
        }
        self.each_followed(|writer, url, claim| {
            // A claim that was dropped since is still in the log.
            if writer.feeds.claim(&*writer.frontier, &url).is_some_and(|now| now.of == claim.of) {
                writer.claims.followed.push((url, claim));
            } else if writer.frontier.note_of(url.as_str(), RELEASED)?.is_none() {
                // It was withdrawn or replaced, and the run was killed before the page was queued.
                writer.release(&url)?;
            }
            Ok(())
        })?;
        self.feeds.open.store(self.claims.followed.len() as u64, Relaxed);
        Ok(())
    }

    /// Calls `visit` with every followed claim in the log.
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

    /// Follows a claim if the representative is known or can be fetched. Otherwise the text would be lost, and the
    /// claim is dropped. Returns whether it is followed.
    pub(crate) fn follow_claim(&mut self, url: &Url, depth: u16, claim: &Claim) -> Result<bool> {
        if self.committer.store().id_of(claim.of.as_str().as_bytes())?.is_none() {
            match self.rules.admit(&claim.of, depth) {
                Admission::Admitted(target) if target != *url => {
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

    /// Follows a claim about a URL that was queued before, such as a seed.
    pub(crate) fn claimed(&mut self, lease: &mut Lease, claim: &Claim) -> Result<End> {
        let (url, depth) = (lease.entry.url.clone(), lease.entry.depth);
        if !self.follow_claim(&url, depth, claim)? {
            return Ok(End::PutBack { wait: Duration::ZERO });
        }
        self.frontier.free(lease, HostAnswer::Unasked, Instant::now());
        Ok(End::Done)
    }

    /// Returns whether a claim excludes a URL that was not known before.
    pub(crate) fn left_to_feed(&mut self, url: &Url, depth: u16) -> Result<bool> {
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

    /// Verifies the claims about a fetched page, and those that name it as the representative.
    pub(crate) fn check_claims(&mut self, url: &Url, outcome: &Outcome) -> Result<()> {
        if matches!(outcome, Outcome::Against(_)) {
            // It was not compared with the page that the claim names.
            return Ok(());
        }
        let alike = !matches!(outcome, Outcome::New { .. });
        let mut ended: Vec<(Check, bool)> = Vec::new();
        let check = |feed: String, url: &Url, of: &Url| Check {
            feed,
            host: host_key(url),
            to: host_key(of),
        };
        for (page, feed) in self.claims.waiting.remove(url.as_str()).unwrap_or_default() {
            // The representative came after the sample: both must be one page.
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

    /// Returns whether two pages have the same representative.
    fn are_one(&self, url: &str, of: &str) -> Result<bool> {
        let one = self.committer.stands_for(url)?;
        Ok(one.is_some() && one == self.committer.stands_for(of)?)
    }

    /// Fetches all URLs that a feed excluded, or those of one host.
    fn withdraw(&mut self, feed: &str, host: Option<&str>) -> Result<()> {
        let of = host.map(|host| format!(" of {host}")).unwrap_or_default();
        tracing::warn!(
            "the feed {feed} was wrong about a sampled page. The URLs that it excluded{of} are fetched"
        );
        let detail = format!(
            "the feed was wrong about a sampled page; the URLs that it excluded{of} are fetched"
        );
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

    /// Queues a page that a feed excluded, unless it is known now. The note is in the same commit, so that a killed
    /// run neither loses the page nor requests it twice.
    fn release(&mut self, url: &Url) -> Result<()> {
        self.frontier.note(url.as_str(), RELEASED, b"1".to_vec());
        if self.committer.store().id_of(url.as_str().as_bytes())?.is_none() {
            self.frontier.push_again(Entry::page(url.clone(), 1))?;
        }
        Ok(())
    }

    /// Queues all URLs that feeds excluded, for a recrawl.
    pub(crate) fn request_spared(&mut self) -> Result<()> {
        if self.feeds.lock().is_empty() {
            return Ok(());
        }
        self.each_followed(|writer, url, _| writer.release(&url))?;
        self.claims.followed.clear();
        self.feeds.open.store(0, Relaxed);
        Ok(())
    }

    /// When nothing else is left, drops claims whose representative was not fetched. Returns whether claims were
    /// open.
    pub(crate) fn settle_claims(&mut self) -> Result<bool> {
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

//! Seeds that no run fetched, or whose redirects ended in a failure. Every run requests them again, and follows their
//! redirects again.

use hapax_data::{Again, SkipReason};
use hapax_frontier::Entry;
use hapax_url::host_key;
use url::Url;

use super::Writer;
use crate::error::Result;
use crate::host_file::outdate;
use crate::notes::TARGET;
use crate::redirect_ends::{MAX_LOOKED_UP, is_outdated, redirects_of};

impl Writer {
    /// Returns whether no run fetched a seed, or the end of its redirects. The same for a URL to which a seed leads.
    pub(super) fn has_failed(&mut self, seed: &Url) -> Result<bool> {
        if self.committer.is_shared() {
            return Ok(false);
        }
        let targets = redirects_of(&*self.frontier, self.committer.store(), seed)?;
        for target in &targets {
            self.committer.seeds.recall(&*self.frontier, target)?;
        }
        let end = targets.last().unwrap_or(seed);
        if self.committer.forgotten(seed, &host_key(seed))
            || self.committer.forgotten(end, &host_key(end))
            || self.committer.store().id_of(end.as_str().as_bytes())?.is_some()
        {
            return Ok(false);
        }
        match self.committer.seeds.failure(end.as_str()) {
            Some(failed) => Ok(failed.again != Again::Never),
            None if self.links_only || !self.frontier.knows(end.as_str())? => Ok(false),
            // A list, or an earlier version stored no reason.
            None if targets.is_empty() => Ok(true),
            // It failed before the seed led there, unless it is a list or still queued.
            None => Ok(!self.is_list(end)? && !self.frontier.is_waiting(end.as_str())?),
        }
    }

    /// Prepares another request for a seed: its redirects, and the files of their hosts, may have changed.
    pub(super) fn retry_seed(&mut self, seed: &Url) -> Result<()> {
        self.committer.seeds.retry(seed.as_str());
        let by_file = [SkipReason::CrawlDelay, SkipReason::Reserved, SkipReason::Robots];
        let mut next = Some(seed.clone());
        for _ in 0..=MAX_LOOKED_UP {
            let Some(url) = next else { break };
            let failed = self.committer.seeds.failure(url.as_str());
            if failed.is_some_and(|failed| by_file.contains(&failed.reason)) {
                outdate(&*self.frontier, &host_key(&url))?;
            }
            next = self.committer.outdate_target(url.as_str())?;
        }
        Ok(())
    }

    /// Queues the target of a redirect. Returns whether it is queued now. A known target is requested again, once in a
    /// run, if a seed leads there that is requested again, and the target was not fetched.
    pub(super) fn push_target(&mut self, from: &Url, target: Entry) -> Result<bool> {
        let url = target.url.as_str();
        let follows = self.committer.seeds.is_retried(from.as_str());
        if self.frontier.push(target.clone())? {
            if follows {
                self.committer.seeds.retry(url);
            }
            return Ok(true);
        }
        Ok(follows
            && (is_outdated(&*self.frontier, url)? || self.has_failed(&target.url)?)
            && self.committer.seeds.retry(url)
            && self.frontier.push_again(target)?)
    }

    /// Removes the alias of a seed that was requested again, unless it still redirects to the same target. A failure
    /// of its former targets is no failure of the seed any more. A recrawl compares aliases by itself.
    pub(super) fn end_former_alias(&mut self, url: &Url, target: Option<&Url>) -> Result<()> {
        if self.committer.look.on || !self.committer.seeds.holds(url.as_str()) {
            return Ok(());
        }
        let former = redirects_of(&*self.frontier, self.committer.store(), url)?;
        if former.is_empty() || former.first() == target {
            return Ok(());
        }
        for to in &former {
            // If it was requested again, its failure is new: it is a seed, or another seed leads there.
            if Some(to) != target && !self.committer.seeds.is_retried(to.as_str()) {
                self.committer.seeds.fetched(&*self.frontier, to.as_str());
            }
        }
        self.frontier.note(url.as_str(), TARGET, Vec::new());
        self.committer.remove_alias(url, "it does not redirect to the same page now")
    }
}

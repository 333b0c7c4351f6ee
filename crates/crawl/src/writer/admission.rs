//! What is queued: links, redirects and entries of sitemaps that the crawl admits, and the lines about others.

use hapax_data::SkipReason;
use hapax_frontier::Entry;
use url::Url;

use super::Writer;
use crate::admission::{Admission, Refusal};
use crate::admit::{Knowledge, Stage, admit};
use crate::error::{Error, Result};
use crate::patterns::MIN_HOST_PAGES;
use crate::rules::Rules;

impl Knowledge for Writer {
    type Error = Error;

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn is_forgotten(&self, url: &Url, host: &str) -> bool {
        self.committer.forgotten(url, host)
    }

    fn pattern(&mut self, url: &Url, host: &str) -> Result<Option<String>> {
        let pages = self.stats.host_pages(host);
        // Only what is new counts for the checks, not a link that is met again.
        if pages < MIN_HOST_PAGES || self.frontier.knows(url.as_str())? {
            return Ok(None);
        }
        Ok(self.patterns.leaves_out(url, pages))
    }

    fn is_left_to_feed(&mut self, url: &Url, depth: u16) -> Result<bool> {
        self.left_to_feed(url, depth)
    }
}

impl Writer {
    /// Judges a URL before it is queued.
    pub(crate) fn admit(&mut self, url: &Url, depth: u16) -> Result<Admission> {
        admit(url, depth, Stage::Queue, self)
    }

    /// Logs why a URL is not queued.
    pub(crate) fn not_admitted(&mut self, admission: Admission) -> Result<()> {
        match admission {
            Admission::Admitted(_) | Admission::NoWebAddress | Admission::LeftToFeed => Ok(()),
            Admission::Refused(refusal) => self.refuse(refusal).map(drop),
            Admission::LeftOut(refusal) => match self.frontier.mark(&refusal.url)? {
                true => self.committer.skip_refused(refusal),
                false => Ok(()),
            },
        }
    }

    /// Logs a refused URL once, however often it is linked; not if another way had brought it in. Returns
    /// whether there is a line now.
    pub(crate) fn refuse(&mut self, refusal: Refusal) -> Result<bool> {
        let url = &refusal.url;
        let fresh = !self.frontier.knows(url.as_str())? && self.frontier.refuse(url)?;
        if fresh {
            self.committer.skip_refused(refusal)?;
        }
        Ok(fresh)
    }

    /// Queues a link.
    pub(crate) fn push(&mut self, url: &Url, depth: u16, hops: u8) -> Result<()> {
        match self.admit(url, depth)? {
            Admission::Admitted(url) => {
                self.queue_if_place(Entry { hops, ..Entry::page(url, depth) }, None)
            }
            other => self.not_admitted(other),
        }
    }

    /// A link that asks not to be followed: logged once for each URL that nothing else has led to yet.
    pub(crate) fn pass_by(&mut self, url: &Url, depth: u16, from: &Url) -> Result<()> {
        let Admission::Admitted(url) = self.rules.admit(url, depth) else {
            // It would not be followed anyway, which is logged in the usual way.
            return self.push(url, depth, 0);
        };
        // Under a name of its own: what is refused for its depth is taken in by a later run.
        let mut named = url.clone();
        named.set_fragment(Some("nofollow"));
        if self.frontier.refuse(&named)? && !self.frontier.knows(url.as_str())? {
            let detail = format!("rel=nofollow on {from}");
            self.committer.skip(url.as_str(), SkipReason::Nofollow, &detail)?;
        }
        Ok(())
    }
}

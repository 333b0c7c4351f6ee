//! Leases that ended without a page: logs and counts them.

use std::time::Instant;

use hapax_data::{Again, SkipCause, SkipReason};
use hapax_frontier::{End, Entry, EntryKind, Fault, HostAnswer, Lease};
use hapax_url::Applied;
use url::Url;

use super::admission::rewritten;
use super::{FIRST_MISS, Writer};
use crate::admission::Skip;
use crate::error::Result;
use crate::page::Unread;
use crate::rules::by_rule;

impl Writer {
    /// Handles a URL that was not requested, or whose response is not used.
    pub(super) fn skipped(
        &mut self,
        lease: &Lease,
        cause: SkipCause,
        detail: String,
    ) -> Result<End> {
        if lease.entry.kind != EntryKind::Probe {
            self.stats.host_failed(&lease.host);
            self.committer.skip_refused(Skip::of_lease(&lease.entry, cause, detail))?;
        }
        Ok(End::Done)
    }

    /// Handles a response that is not a page. `bytes` is its size if it counts as a page.
    pub(super) fn unread(
        &mut self,
        lease: &Lease,
        why: &Unread,
        bytes: Option<u64>,
    ) -> Result<End> {
        if lease.entry.kind == EntryKind::Page {
            let skip = Skip::of_lease(&lease.entry, why.reason, why.detail.clone());
            self.committer.skip_refused(skip)?;
            if let Some(bytes) = bytes {
                self.committer.count_unused(Some(&lease.host), bytes);
            }
            self.stats.release(&lease.host);
        }
        Ok(End::Done)
    }

    /// Defers a URL to the next run; it stays queued.
    pub(super) fn deferred(
        &mut self,
        lease: &mut Lease,
        reason: SkipReason,
        detail: &str,
        fault: Fault,
    ) -> Result<End> {
        if lease.entry.kind != EntryKind::Probe {
            let skip = Skip::of_lease(&lease.entry, reason, detail.to_owned());
            self.committer.skip_refused(Skip { again: Some(Again::NextRun), ..skip })?;
            return Ok(End::Defer { fault });
        }
        // A probe can be dropped.
        if self.frontier.free(lease, HostAnswer::Failed, Instant::now()) {
            self.host_down(&lease.entry.url)?;
        }
        Ok(End::Done)
    }

    pub(super) fn gone(&mut self, lease: &Lease, status: u16) -> Result<End> {
        let url = lease.entry.url.as_str();
        let mut detail = format!("status {status}");
        if lease.entry.kind == EntryKind::Page {
            if self.committer.is_first_miss(url)? {
                detail.push_str(FIRST_MISS);
            } else {
                self.committer.gone(url)?;
            }
        }
        self.stats.host_failed(&lease.host);
        let skip = Skip::of_lease(&lease.entry, SkipReason::Http4xx, detail);
        self.committer.skip_refused(skip)?;
        Ok(End::Done)
    }

    /// Handles a queued URL that a given rule skips, or replaces by another URL.
    pub(super) fn given(&mut self, lease: &Lease, result: Applied) -> Result<End> {
        let Entry { url, depth, .. } = &lease.entry;
        match result {
            Applied::Rewritten { to, rule } => {
                self.push(&to, *depth, lease.entry.hops)?;
                self.committer.skip_refused(rewritten(url.clone(), *depth, &to, rule))?;
            }
            Applied::Skipped { rule } => {
                self.committer.skip_refused(by_rule(url.clone(), *depth, rule))?;
            }
            Applied::Unchanged => {}
        }
        Ok(End::Done)
    }

    /// Handles a URL that is equivalent to `target` according to robots.txt.
    pub(super) fn clean(&mut self, lease: &Lease, target: &Url) -> Result<End> {
        match lease.entry.kind {
            EntryKind::Sitemap => self.sitemap_is(&lease.entry, target)?,
            _ => self.push(target, lease.entry.depth, lease.entry.hops)?,
        }
        let detail = format!("the same as {target}");
        self.committer.skip(lease.entry.url.as_str(), SkipReason::CleanParam, &detail)?;
        Ok(End::Done)
    }
}

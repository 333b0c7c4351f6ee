//! Leases that ended without a page: what of them is logged and counted.

use std::time::Instant;

use hapax_data::SkipReason;
use hapax_frontier::{EntryKind, Fault, Lease};
use url::Url;

use super::Writer;
use crate::error::Result;
use crate::page::Unread;
use crate::rules::Refusal;

impl Writer {
    /// Ends a lease of which nothing is logged.
    pub(super) fn quiet(&mut self, lease: &Lease) -> Result<()> {
        self.committer.finish(Some(lease));
        Ok(())
    }

    /// The URL was not requested, or its answer is not used.
    pub(super) fn skipped(
        &mut self,
        lease: &Lease,
        reason: SkipReason,
        detail: String,
    ) -> Result<()> {
        if lease.entry.kind != EntryKind::Probe {
            self.stats.host_failed(&lease.host);
            self.committer.skip_refused(Refusal::of_lease(&lease.entry, reason, detail))?;
        }
        self.quiet(lease)
    }

    /// Its answer is no page. `bytes` were transferred, if they count as a page.
    pub(super) fn unread(&mut self, lease: &Lease, why: &Unread, bytes: Option<u64>) -> Result<()> {
        if lease.entry.kind == EntryKind::Page {
            self.committer.skip(lease.entry.url.as_str(), why.reason, &why.detail)?;
            if let Some(bytes) = bytes {
                self.committer.count_unused(Some(lease), bytes);
            }
            self.stats.release(&lease.host);
        }
        self.quiet(lease)
    }

    /// It is given up for this run, and stays queued.
    pub(super) fn deferred(
        &mut self,
        lease: &Lease,
        reason: SkipReason,
        detail: &str,
        fault: Fault,
    ) -> Result<()> {
        let down;
        if lease.entry.kind == EntryKind::Probe {
            down = self.frontier.free_failed(lease, Instant::now());
            self.committer.finish(Some(lease));
        } else {
            down = self.frontier.defer(lease, fault, Instant::now());
            self.committer.skip(lease.entry.url.as_str(), reason, detail)?;
        }
        if down { self.host_down(&lease.entry.url) } else { Ok(()) }
    }

    /// The server says that it is not there.
    pub(super) fn gone(&mut self, lease: &Lease, status: u16) -> Result<()> {
        let url = lease.entry.url.as_str();
        if lease.entry.kind == EntryKind::Page {
            self.committer.gone(url)?;
        }
        self.stats.host_failed(&lease.host);
        self.committer.skip(url, SkipReason::Http4xx, &format!("status {status}"))?;
        self.quiet(lease)
    }

    /// robots.txt says that it is the same as `target`.
    pub(super) fn clean(&mut self, lease: &Lease, target: &Url) -> Result<()> {
        match lease.entry.kind {
            EntryKind::Sitemap => self.sitemap_is(&lease.entry, target)?,
            _ => self.push(target, lease.entry.depth, lease.entry.hops)?,
        }
        let detail = format!("the same as {target}");
        self.committer.skip(lease.entry.url.as_str(), SkipReason::CleanParam, &detail)?;
        self.quiet(lease)
    }
}

//! Messages from fetch tasks to the commit thread.

use std::time::SystemTime;

use hapax_data::SkipReason;
use hapax_fetch::{Response, Sitemap};
use hapax_frontier::{Fault, Lease};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use crate::feeds::Claim;
use crate::page::{PageWork, Unread};

/// What a lease came to.
#[derive(Debug)]
pub(super) enum Message {
    Page(Box<PageWork>),
    Sitemap {
        lease: Lease,
        sitemap: Sitemap,
        /// Its room among what waits for the commit thread.
        room: Option<OwnedSemaphorePermit>,
    },
    Redirect {
        lease: Lease,
        target: Url,
        /// For good: 301 or 308.
        moved: bool,
    },
    /// It is not there: 404 or 410.
    Gone {
        lease: Lease,
        status: u16,
    },
    /// The host says that this URL is the same as another one.
    Clean {
        lease: Lease,
        target: Url,
    },
    /// Another crawl found it to be a duplicate.
    Claimed {
        lease: Lease,
        claim: Claim,
    },
    /// A robots.txt names a sitemap outside of the crawl.
    SitemapElsewhere(Url),
    /// It is still what was fetched before.
    Unchanged {
        lease: Lease,
        response: Box<Response>,
        time: SystemTime,
    },
    Skip {
        lease: Lease,
        reason: SkipReason,
        detail: String,
    },
    /// What came is no page; how many bytes of a body were read, if there was one.
    Unread {
        lease: Lease,
        why: Unread,
        bytes: Option<u64>,
    },
    /// Nothing to say about it.
    Quiet {
        lease: Lease,
    },
    /// Given up for this run, tried again in the next.
    Defer {
        lease: Lease,
        reason: SkipReason,
        detail: String,
        fault: Fault,
    },
    /// The lease went back to its queue; the URL of a host that was given up by that.
    Again {
        down: Option<Url>,
    },
}

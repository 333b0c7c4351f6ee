//! Messages from fetch tasks to the commit thread.

use std::time::SystemTime;

use hapax_data::SkipReason;
use hapax_fetch::{Response, Sitemap};
use hapax_frontier::{Fault, Lease};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use crate::feeds::Claim;
use crate::page::{PageWork, Unread};

/// What a task sends.
#[derive(Debug)]
pub(super) enum Message {
    /// The result of a lease, which the commit thread ends.
    Ended { lease: Lease, result: LeaseResult },
    /// The lease went back to its queue; the URL of a host that was given up by that.
    Returned { down: Option<Url> },
    /// A robots.txt names a sitemap outside of the crawl.
    SitemapElsewhere(Url),
}

/// The result of a lease.
#[derive(Debug)]
pub(super) enum LeaseResult {
    Page(Box<PageWork>),
    Sitemap {
        sitemap: Sitemap,
        /// Its room among what waits for the commit thread.
        room: Option<OwnedSemaphorePermit>,
    },
    Redirect {
        target: Url,
        /// For good: 301 or 308.
        moved: bool,
        sets_cookie: bool,
    },
    /// It is not there: 404 or 410.
    Gone {
        status: u16,
    },
    /// The host says that this URL is the same as another one.
    Clean {
        target: Url,
    },
    /// Another crawl found it to be a duplicate.
    Claimed {
        claim: Claim,
    },
    /// It is still what was fetched before.
    Unchanged {
        response: Box<Response>,
        time: SystemTime,
    },
    Skip {
        reason: SkipReason,
        detail: String,
    },
    /// What came is no page; how many bytes of a body were read, if there was one.
    Unread {
        why: Unread,
        bytes: Option<u64>,
    },
    /// Nothing to say about it.
    Quiet,
    /// Given up for this run, tried again in the next.
    Defer {
        reason: SkipReason,
        detail: String,
        fault: Fault,
    },
}

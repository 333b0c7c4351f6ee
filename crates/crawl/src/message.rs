//! Messages from fetch tasks to the commit thread.

use std::time::SystemTime;

use hapax_data::{SkipCause, SkipReason};
use hapax_fetch::{Response, Sitemap};
use hapax_frontier::{Fault, Lease};
use hapax_url::Applied;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use crate::feeds::Claim;
use crate::page::{PageWork, Unread};

#[derive(Debug)]
pub(super) enum Message {
    /// The result of a lease, which the commit thread ends.
    Ended { lease: Lease, result: LeaseResult },
    /// The lease returned to its queue. `down` is a URL of the host if the host was given up because of it.
    Returned { down: Option<Url> },
    /// A robots.txt names a sitemap outside of the crawl.
    SitemapElsewhere(Url),
}

#[derive(Debug)]
pub(super) enum LeaseResult {
    Page(Box<PageWork>),
    Sitemap {
        sitemap: Sitemap,
        /// Its permit in the commit queue.
        room: Option<OwnedSemaphorePermit>,
    },
    Redirect {
        target: Url,
        /// Whether it is permanent: 301 or 308.
        moved: bool,
        sets_cookie: bool,
    },
    /// Status 404 or 410.
    Gone {
        status: u16,
    },
    /// A given rule requests another URL, or none. It was queued before the rule was given.
    Given {
        result: Applied,
    },
    /// robots.txt (Clean-param) declares this URL equal to another one.
    Clean {
        target: Url,
    },
    /// A feed of another crawl lists it as a duplicate.
    Claimed {
        claim: Claim,
    },
    Unchanged {
        response: Box<Response>,
        time: SystemTime,
    },
    Skip {
        cause: SkipCause,
        detail: String,
    },
    /// The response is not a page. `bytes` is the size of its body, if it had one.
    Unread {
        why: Unread,
        bytes: Option<u64>,
    },
    /// Done, without a log line.
    Quiet,
    /// Deferred to the next run.
    Defer {
        reason: SkipReason,
        detail: String,
        fault: Fault,
    },
}

impl LeaseResult {
    pub(super) fn skip(cause: impl Into<SkipCause>, detail: String) -> Self {
        Self::Skip { cause: cause.into(), detail }
    }
}

//! Signals between scheduler and commit thread, and the handle that stops a crawl.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::sync::{Notify, watch};

/// Signals between scheduler and commit thread.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Leases handed out and not yet finished by the commit thread.
    pub(crate) active: AtomicU64,
    /// There are new links, finished leases or a commit: the scheduler looks again.
    pub(crate) wake: Notify,
    /// The run ends: long operations stop early.
    pub(crate) stops: AtomicBool,
    /// Hosts with dropped links that can be found again in this run.
    pub(crate) rereads: AtomicU64,
    /// Tasks that were aborted in the end: their leases stay queued.
    pub(crate) aborted: AtomicU64,
    /// The commit thread has failed.
    pub(crate) failed: AtomicBool,
}

/// How soon a crawl ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// It goes on.
    No,
    /// Requests in flight may end within some seconds.
    Soon,
    /// Requests in flight are dropped.
    Now,
}

/// Stops a crawl from any thread. Nothing is lost: the crawl can be resumed.
#[derive(Clone, Debug)]
pub struct StopHandle(Arc<watch::Sender<Asked>>);

impl Default for StopHandle {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Asked::No)))
    }
}

impl StopHandle {
    /// Makes no further request, waits up to five seconds for those in flight, and commits what was fetched.
    pub fn stop(&self) {
        self.ask(Asked::Soon);
    }

    /// Drops requests in flight too; the next run makes them again.
    pub fn stop_now(&self) {
        self.ask(Asked::Now);
    }

    fn ask(&self, asked: Asked) {
        self.0.send_modify(|now| *now = asked.max(*now));
    }

    /// Waits until this was requested, or more.
    pub(crate) async fn asked(&self, least: Asked) {
        let mut changes = self.0.subscribe();
        // The sender lives in this handle.
        let _ = changes.wait_for(|asked| *asked >= least).await;
    }
}

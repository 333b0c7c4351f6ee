//! What scheduler and commit thread tell each other, and how a crawl is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::sync::{Notify, watch};

/// What scheduler and commit thread tell each other.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Leases handed out and not yet finished by the commit thread.
    pub(crate) active: AtomicU64,
    /// New links, finished leases or a commit: look again.
    pub(crate) wake: Notify,
    /// The run ends: what takes long breaks off.
    pub(crate) stops: AtomicBool,
    /// Hosts of which links were dropped, and can be found again in this run.
    pub(crate) rereads: AtomicU64,
    /// The commit thread has failed.
    pub(crate) failed: AtomicBool,
}

/// How soon a crawl ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// It does not.
    No,
    /// Requests in flight may end within some seconds.
    Soon,
    /// They are dropped.
    Now,
}

/// Stops a crawl from anywhere: nothing is lost, and the same crawl can go on later.
#[derive(Clone, Debug)]
pub struct StopHandle(Arc<watch::Sender<Asked>>);

impl Default for StopHandle {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Asked::No)))
    }
}

impl StopHandle {
    /// No further request is made; those in flight have five seconds to end. What was fetched is committed.
    pub fn stop(&self) {
        self.ask(Asked::Soon);
    }

    /// The same without the five seconds: requests in flight are dropped, and made again later.
    pub fn stop_now(&self) {
        self.ask(Asked::Now);
    }

    fn ask(&self, asked: Asked) {
        self.0.send_modify(|now| *now = asked.max(*now));
    }

    /// Until this was asked, or more.
    pub(crate) async fn asked(&self, least: Asked) {
        let mut changes = self.0.subscribe();
        // The sender lives in this handle.
        let _ = changes.wait_for(|asked| *asked >= least).await;
    }
}

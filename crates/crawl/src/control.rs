//! Signals between scheduler and commit thread, and the handle that stops a crawl.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::sync::{Notify, watch};

#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Number of leases handed out and not yet finished by the commit thread.
    pub(crate) active: AtomicU64,
    /// Wakes the scheduler: there are new links, ended leases or a commit.
    pub(crate) wake: Notify,
    /// The run ends: long operations must stop early.
    pub(crate) stops: AtomicBool,
    /// Number of hosts with dropped links that this run can find again.
    pub(crate) rereads: AtomicU64,
    /// Number of pages that contradicted rules about URLs, whose excluded URLs are still to be queued again.
    pub(crate) given_up: AtomicU64,
    /// Number of tasks aborted at the end; their leases stay queued.
    pub(crate) aborted: AtomicU64,
    pub(crate) failed: AtomicBool,
}

/// How soon a crawl must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    No,
    /// Requests in flight may end within five seconds.
    Soon,
    Now,
}

/// Stops a crawl from any thread. Nothing is lost: the crawl can be resumed.
#[derive(Clone, Debug)]
pub struct StopHandle {
    asked: Arc<watch::Sender<Asked>>,
    /// Whether a stop was requested, for work without an event loop.
    flag: Arc<AtomicBool>,
}

impl Default for StopHandle {
    fn default() -> Self {
        Self { asked: Arc::new(watch::Sender::new(Asked::No)), flag: Arc::default() }
    }
}

impl StopHandle {
    /// Makes no further request, waits up to five seconds for those in flight, and commits the fetched pages.
    pub fn stop(&self) {
        self.ask(Asked::Soon);
    }

    /// Drops requests in flight too; the next run makes them again.
    pub fn stop_now(&self) {
        self.ask(Asked::Now);
    }

    fn ask(&self, asked: Asked) {
        self.flag.store(true, Relaxed);
        self.asked.send_modify(|now| *now = asked.max(*now));
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Waits until a stop of at least this urgency is requested.
    pub(crate) async fn asked(&self, least: Asked) {
        let mut changes = self.asked.subscribe();
        // Cannot fail: the sender is in this handle.
        let _ = changes.wait_for(|asked| *asked >= least).await;
    }

    /// Waits for `work`, and requests a stop when `shutdown` resolves, once.
    pub(crate) async fn stopped_by<T>(
        &self,
        mut work: impl Future<Output = T> + Unpin,
        mut shutdown: impl Future<Output = ()> + Unpin,
        asked: &mut bool,
    ) -> T {
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = &mut shutdown, if !*asked => {
                    *asked = true;
                    self.stop();
                }
            }
        }
    }
}

//! The scheduler: starts a task for each lease until nothing is left, a limit is reached or a stop is requested.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use hapax_frontier::Next;
use tokio::sync::mpsc;

use crate::concurrency::ConcurrencyLimit;
use crate::context::Shared;
use crate::control::{Asked, Control, StopHandle};
use crate::error::Result;
use crate::fetch::work;
use crate::message::Message;
use crate::run_limits::RunLimits;
use crate::summary::Stop;

/// Grace period of requests in flight after a stop.
const GRACE: Duration = Duration::from_secs(5);
/// Interval of checks of the limits of time and disk, while all hosts wait.
const LOOK_AROUND: Duration = Duration::from_secs(1);

/// Returns whether nothing is left that this run could fetch.
fn is_complete(shared: &Shared, control: &Control) -> bool {
    let counts = shared.frontier.counts();
    control.active.load(Relaxed) == 0
        && counts.queued <= counts.deferred
        && shared.feeds.open.load(Relaxed) == 0
        && control.rereads.load(Relaxed) == 0
        && control.given_up.load(Relaxed) == 0
}

pub(crate) async fn schedule(
    shared: &Arc<Shared>,
    control: &Arc<Control>,
    limits: &RunLimits,
    answers: mpsc::Sender<Message>,
    concurrency: usize,
    handle: &StopHandle,
) -> Result<Stop> {
    let lanes = ConcurrencyLimit::new(concurrency, &shared.patience, control);
    let mut tasks = tokio::task::JoinSet::new();
    let stop = loop {
        if control.failed.load(Relaxed) {
            break Stop::Write;
        }
        while tasks.try_join_next().is_some() {}
        let active = control.active.load(Relaxed);
        if let Some(stop) = limits.reached(active) {
            // Responses in flight may turn out not to be pages: the limit is certain only when none is left.
            if active == 0 || !matches!(stop, Stop::MaxPages) {
                let all = matches!(stop, Stop::MaxPages) && is_complete(shared, control);
                break if all { Stop::Complete } else { stop };
            }
        } else if let Some(place) = lanes.enter() {
            match shared.frontier.next(Instant::now())? {
                Next::Lease(lease) => {
                    control.active.fetch_add(1, Relaxed);
                    shared.stats.in_flight.fetch_add(1, Relaxed);
                    let (shared, answers) = (Arc::clone(shared), answers.clone());
                    tasks.spawn(async move {
                        let stats = Arc::clone(&shared.stats);
                        work(shared, *lease, answers, place).await;
                        stats.in_flight.fetch_sub(1, Relaxed);
                    });
                    continue;
                }
                Next::At(at) => {
                    // Wake up in time to check the limits of time and disk.
                    let at = at.min(Instant::now() + LOOK_AROUND);
                    tokio::select! {
                        () = tokio::time::sleep_until(at.into()) => {}
                        () = control.wake.notified() => {}
                        () = handle.asked(Asked::Soon) => break Stop::Signal,
                    }
                    continue;
                }
                Next::Idle if active == 0 && is_complete(shared, control) => break Stop::Complete,
                Next::Idle => {}
            }
        }
        tokio::select! {
            () = control.wake.notified() => {}
            Some(_) = tasks.join_next() => {}
            // Only commits by age need this tick.
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
            () = handle.asked(Asked::Soon) => break Stop::Signal,
        }
    };
    control.stops.store(true, Relaxed);
    drop(answers);
    if stop != Stop::Complete && stop != Stop::Write {
        let ended = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(GRACE) => {}
            () = handle.asked(Asked::Now) => {}
        }
    }
    // Leases that have not ended stay queued.
    control.aborted.store(tasks.len() as u64, Relaxed);
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    Ok(stop)
}

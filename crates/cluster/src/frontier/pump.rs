//! The thread that talks to the cluster: it sends pushed URLs and ended leases, leases in advance, renews leases.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::calls::Notice;
use super::{Shared, calls, look};
use crate::error::Result;
use crate::keys::HOST_PARTS;

pub(super) const BATCH: usize = 512;
/// URLs leased in advance.
const AHEAD: usize = 32;
/// Shortest time between two exchanges with the cluster.
pub(super) const PACE: Duration = Duration::from_millis(2);
/// Longest time between them while leases are wanted.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const COUNT_AGAIN: Duration = Duration::from_millis(200);
/// Time after which a worker takes a waiting host from a part that another worker prefers.
const OTHERS_FIRST: Duration = Duration::from_secs(2);

pub(super) fn run(shared: &Shared) {
    // The time at which each part is polled next.
    let mut due = vec![Instant::now(); HOST_PARTS as usize];
    let (mut counted, mut renewed) = (Instant::now(), Instant::now());
    while !shared.stop.load(Ordering::Relaxed) {
        let quiet = {
            let local = shared.local();
            let mut local = match local.ends.is_empty() && local.pushes.len() < BATCH {
                true => {
                    let waited = shared.work.wait_timeout(local, PACE * 2);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                false => local,
            };
            // Also if `next` is not called.
            local.give_back_stale(Instant::now());
            local.failed.is_some()
        };
        if quiet {
            // The next call of `next` returns the error; nothing is sent until then.
            std::thread::sleep(LOOK_AGAIN);
            continue;
        }
        let done = step(shared, &mut due, &mut counted, &mut renewed);
        if let Err(error) = done {
            shared.local().failed.get_or_insert(error);
        }
    }
}

fn step(
    shared: &Shared,
    due: &mut [Instant],
    counted: &mut Instant,
    renewed: &mut Instant,
) -> Result<()> {
    let cluster = &shared.cluster;
    flush_parts(shared, due)?;
    if renewed.elapsed() >= cluster.lease / 4 {
        let held = shared.local().leases();
        calls::renew(cluster, &held)?;
        cluster.heartbeat()?;
        *renewed = Instant::now();
    }
    if counted.elapsed() >= COUNT_AGAIN {
        counts(shared)?;
        *counted = Instant::now();
    }
    // A worker that is leaving takes no more leases.
    if shared.stop.load(Ordering::Relaxed) { Ok(()) } else { take(shared, due) }
}

fn take(shared: &Shared, due: &mut [Instant]) -> Result<()> {
    let want = {
        let local = shared.local();
        if local.ready.len() > AHEAD / 2 { 0 } else { AHEAD - local.ready.len() }
    };
    if want == 0 {
        return Ok(());
    }
    let now = Instant::now();
    let mut parts = Vec::new();
    for (part, due) in (0..).zip(due.iter()) {
        if *due <= now {
            let mine = shared.cluster.prefers(part);
            parts.push((part, if mine { Duration::ZERO } else { OTHERS_FIRST }));
        }
    }
    if parts.is_empty() {
        return Ok(());
    }
    if shared.local().orphans {
        let held = shared.local().leases();
        calls::reclaim(&shared.cluster, &held)?;
        shared.local().orphans = false;
    }
    let Some(found) = calls::take(&shared.cluster, &shared.options, &parts, want)? else {
        shared.local().orphans = true;
        std::thread::sleep(LOOK_AGAIN);
        return Ok(());
    };
    let mut local = shared.local();
    for ((part, age), found) in parts.into_iter().zip(found) {
        let full = !found.leases.is_empty();
        local.held.extend(found.unreadable.iter().map(Notice::sequence));
        local.ends.extend(found.unreadable);
        for ahead in found.leases {
            local.held.insert(ahead.lease.sequence);
            local.ready.push_back(ahead);
        }
        if let Some(due) = due.get_mut(part as usize) {
            let wait = found.wait.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
            // Parts that another worker prefers are polled less often.
            let wait = if age.is_zero() { wait } else { wait.max(LOOK_AGAIN / 2) };
            *due = now + if full { PACE } else { wait.max(PACE) };
        }
    }
    Ok(())
}

/// Sends everything pending, and returns when it has arrived.
pub(super) fn flush(shared: &Shared) -> Result<()> {
    flush_parts(shared, &mut [])
}

fn flush_parts(shared: &Shared, due: &mut [Instant]) -> Result<()> {
    let _sending = shared.sending.lock().unwrap_or_else(PoisonError::into_inner);
    let (pushes, ends) = {
        let mut local = shared.local();
        (std::mem::take(&mut local.pushes), std::mem::take(&mut local.ends))
    };
    let now = Instant::now();
    let mut touched = |part: u64| {
        if let Some(due) = due.get_mut(part as usize) {
            *due = now;
        }
    };
    let (mut pushed, mut ended) = (0, 0);
    let mut send = || -> Result<()> {
        for pushes in pushes.chunks(BATCH) {
            pushes.iter().for_each(|push| touched(crate::keys::part_of(&push.host)));
            calls::push(&shared.cluster, &shared.options, pushes)?;
            pushed += pushes.len();
        }
        for ends in ends.chunks(BATCH) {
            ends.iter().for_each(|end| touched(end.part()));
            calls::end(&shared.cluster, &shared.options, ends)?;
            shared.local().arrived(ends);
            ended += ends.len();
        }
        Ok(())
    };
    let sent = send();
    let mut local = shared.local();
    // The last counts do not include these URLs.
    local.told.queued += pushed as u64;
    if sent.is_err() {
        // A lease must not end before its links have arrived: unsent ones stay for the next attempt.
        local.pushes.splice(0..0, pushes.into_iter().skip(pushed));
        local.ends.splice(0..0, ends.into_iter().skip(ended));
    }
    sent
}

pub(super) fn counts(shared: &Shared) -> Result<()> {
    let told = look::counts(&shared.cluster)?;
    let mut local = shared.local();
    local.idle = if told.queued <= told.deferred { local.idle + 1 } else { 0 };
    local.told = told;
    Ok(())
}

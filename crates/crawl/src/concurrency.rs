//! Limits how many leases are in progress. Leases that wait for slow servers move to a second limit, so that hosts
//! that do not respond do not block the others.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::control::Control;
use crate::config::Patience;

#[derive(Debug)]
pub(super) struct ConcurrencyLimit {
    fast: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    slow_after: Duration,
    control: Arc<Control>,
}

impl ConcurrencyLimit {
    /// Allows `most` leases at a time, and `aside_factor` times as many that wait for slow servers.
    pub(super) fn new(most: usize, patience: &Patience, control: &Arc<Control>) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let slow = most.saturating_mul(patience.aside_factor).min(Semaphore::MAX_PERMITS);
        Self {
            fast: Arc::new(Semaphore::new(most)),
            slow: Arc::new(Semaphore::new(slow)),
            slow_after: patience.aside_after,
            control: Arc::clone(control),
        }
    }

    pub(super) fn enter(&self) -> Option<LeaseSlot> {
        let permit = Arc::clone(&self.fast).try_acquire_owned().ok()?;
        let (slow, control) = (Arc::clone(&self.slow), Arc::clone(&self.control));
        let slow_after = self.slow_after;
        Some(LeaseSlot { _permit: permit, aside: false, slow, slow_after, control })
    }
}

/// The slot of one lease; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct LeaseSlot {
    _permit: OwnedSemaphorePermit,
    /// Counts towards the limit for slow servers.
    aside: bool,
    slow: Arc<Semaphore>,
    slow_after: Duration,
    control: Arc<Control>,
}

impl LeaseSlot {
    /// Waits for a server. After `slow_after`, the lease moves to the limit for slow servers, if a permit is free
    /// there, and frees its slot. Parsing and waiting for the commit thread do not use this function: they keep the
    /// slot.
    pub(super) async fn server<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        while !self.aside {
            if let Ok(answer) = tokio::time::timeout(self.slow_after, &mut answer).await {
                return answer;
            }
            self.step_aside();
        }
        answer.await
    }

    fn step_aside(&mut self) {
        if let Ok(permit) = Arc::clone(&self.slow).try_acquire_owned() {
            (self._permit, self.aside) = (permit, true);
            self.control.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    // Other values than the defaults.
    const SLOW_AFTER: Duration = Duration::from_secs(1);
    const SLOW_FACTOR: usize = 2;

    #[tokio::test]
    async fn a_request_to_a_slow_server_is_parked_while_the_limit_allows_it() {
        let control = Arc::default();
        let patience =
            Patience { aside_after: SLOW_AFTER, aside_factor: SLOW_FACTOR, ..Patience::default() };
        let lanes = Arc::new(ConcurrencyLimit::new(1, &patience, &control));
        let mut hanging = Vec::new();
        for number in 0..=SLOW_FACTOR {
            let began = Instant::now();
            let mut place = loop {
                match lanes.enter() {
                    Some(place) => break place,
                    None => tokio::time::sleep(SLOW_AFTER / 20).await,
                }
                assert!(began.elapsed() < SLOW_AFTER * 5, "{number}");
            };
            // The first lease gets its slot immediately, each other one after the one before has waited.
            assert!(number == 0 || began.elapsed() > SLOW_AFTER / 2, "{:?}", began.elapsed());
            hanging.push(tokio::spawn(async move {
                place.server(std::future::pending::<()>()).await;
            }));
        }
        tokio::time::sleep(SLOW_AFTER * 2).await;
        assert!(lanes.enter().is_none(), "nobody else can stand aside");
        // A slow lease ends: the next one moves there and frees its slot.
        hanging[0].abort();
        tokio::time::sleep(SLOW_AFTER * 2).await;
        let mut place = lanes.enter().unwrap();
        assert_eq!(place.server(async { 7 }).await, 7);
        assert!(!place.aside);
        hanging.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

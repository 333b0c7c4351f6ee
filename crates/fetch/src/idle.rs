//! Limits idle connections over all hosts. The client's pool limits them per host only: a crawl of many hosts would
//! reach the limit of open files.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time after which the pool closes an idle connection, at its second check at the latest.
pub(crate) const IDLE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct IdleConnections {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// Connections that may be open, over all hosts; an upper bound.
    all: usize,
    hosts: HashMap<String, Host>,
    swept: Option<Instant>,
}

#[derive(Debug)]
struct Host {
    in_flight: usize,
    /// Connections that may be open; an upper bound.
    open: usize,
    last: Instant,
}

#[derive(Debug)]
pub(crate) struct Request<'a> {
    of: &'a IdleConnections,
    /// `None` if its connection is closed afterwards.
    host: Option<String>,
}

impl IdleConnections {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, host: String, now: Instant) -> Request<'_> {
        let mut open = self.lock();
        if open.all >= self.max {
            open.sweep(now);
        }
        let free = open.all < self.max;
        let Open { all, hosts, .. } = &mut *open;
        let known = hosts.get(&host).is_some_and(|host| host.in_flight < host.open);
        if !known && !free {
            return Request { of: self, host: None };
        }
        let entry = hosts.entry(host.clone()).or_insert(Host { in_flight: 0, open: 0, last: now });
        entry.in_flight += 1;
        entry.last = now;
        if entry.open < entry.in_flight {
            entry.open += 1;
            *all += 1;
        }
        Request { of: self, host: Some(host) }
    }
}

impl Open {
    /// Removes hosts whose connections the pool has closed; at most once a second.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|swept| now.duration_since(swept) < Duration::from_secs(1)) {
            return;
        }
        self.swept = Some(now);
        let all = &mut self.all;
        self.hosts.retain(|_, host| {
            let stays = host.in_flight > 0 || now.duration_since(host.last) <= 2 * IDLE;
            if !stays {
                *all -= host.open;
            }
            stays
        });
    }
}

impl Request<'_> {
    pub(crate) const fn stays_open(&self) -> bool {
        self.host.is_some()
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let Some(host) = &self.host else { return };
        if let Some(host) = self.of.lock().hosts.get_mut(host) {
            host.in_flight = host.in_flight.saturating_sub(1);
            host.last = host.last.max(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_beyond_the_limit_are_closed_until_others_have_waited_long_enough() {
        let idle = IdleConnections::new(3);
        let start = Instant::now();
        let begin = |host: &str, now| idle.begin(host.to_owned(), now);
        let first = begin("a", start);
        let second = begin("a", start);
        assert!(first.stays_open() && second.stays_open());
        drop((first, second));
        // Two connections to a are open; two further requests reuse them.
        let (third, fourth) = (begin("a", start), begin("a", start));
        assert!(third.stays_open() && fourth.stays_open() && idle.lock().all == 2);
        assert!(begin("b", start).stays_open());
        assert!(!begin("c", start).stays_open(), "a fourth one");
        assert!(begin("b", start).stays_open(), "b has one already");
        drop((third, fourth));
        let later = start + 2 * IDLE + Duration::from_secs(2);
        assert!(begin("c", later).stays_open(), "those of a and b are closed by now");
        assert_eq!(idle.lock().all, 1);
        // A request in flight keeps its connection, whatever its duration.
        let slow = [begin("d", later), begin("e", later)];
        let much_later = later + Duration::from_secs(600);
        assert!(begin("f", much_later).stays_open(), "c is gone");
        assert!(!begin("g", much_later).stays_open());
        assert!(slow.iter().all(Request::stays_open));
    }
}

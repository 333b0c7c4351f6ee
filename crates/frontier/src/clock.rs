//! When a host or address may be requested again, and which part of the delay a lease can give back.

use std::time::Instant;

/// The clock of a host or an address. A lease advances it before the request. If no request is made, the clock goes
/// back, unless another lease has advanced it since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The time set by requests and by all leases except the last.
    firm: Instant,
    /// The last lease, and the time that it set.
    lent: Option<(u64, Instant)>,
}

impl Clock {
    pub(crate) const fn new(at: Instant) -> Self {
        Self { firm: at, lent: None }
    }

    /// Returns the earliest time of the next request.
    pub(crate) fn at(&self) -> Instant {
        self.lent.map_or(self.firm, |(_, until)| self.firm.max(until))
    }

    /// Allows no request before `until`, even if the last lease is given back.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.firm = self.firm.max(until);
    }

    /// Advances the clock for a lease; earlier leases keep their effect.
    pub(crate) fn lend(&mut self, sequence: u64, until: Instant) {
        self.firm = self.at();
        self.lent = Some((sequence, until));
    }

    /// Undoes the lease's advance: it made no request.
    pub(crate) fn give_back(&mut self, sequence: u64) {
        self.lent = self.lent.filter(|(lease, _)| *lease != sequence);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_what_the_last_lease_holds_is_given_back() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut clock = Clock::new(start);
        clock.lend(1, at(1));
        clock.give_back(1);
        assert_eq!(clock.at(), start);
        clock.lend(2, at(2));
        clock.lend(3, at(3));
        clock.give_back(2);
        assert_eq!(clock.at(), at(3), "another lease holds it");
        clock.give_back(3);
        assert_eq!(clock.at(), at(2), "of the one before it is not known any more");
        clock.lend(4, at(4));
        clock.hold(at(5));
        clock.give_back(4);
        assert_eq!(clock.at(), at(5), "somebody was asked");
    }
}

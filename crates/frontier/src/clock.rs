//! When something may be asked again, and what of that is only lent to a lease.

use std::time::Instant;

/// The clock of a host or an address. A lease moves it on before anything is asked; if nothing is, and
/// no other lease has moved it since, it goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Until when it is held by what was asked, or by a lease before the last one.
    firm: Instant,
    /// The last lease, and until when that holds it.
    lent: Option<(u64, Instant)>,
}

impl Clock {
    pub(crate) const fn new(at: Instant) -> Self {
        Self { firm: at, lent: None }
    }

    /// Nothing is asked before this.
    pub(crate) fn at(&self) -> Instant {
        self.lent.map_or(self.firm, |(_, until)| self.firm.max(until))
    }

    /// Nothing is asked before `until`, whatever becomes of the last lease.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.firm = self.firm.max(until);
    }

    /// A lease holds it until then; what leases before it held stays.
    pub(crate) fn lend(&mut self, sequence: u64, until: Instant) {
        self.firm = self.at();
        self.lent = Some((sequence, until));
    }

    /// The lease has asked nothing.
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

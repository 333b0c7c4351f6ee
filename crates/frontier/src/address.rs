//! One address, which many hosts may share: its clock and its breaker.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use crate::clock::Clock;
use crate::entry::Options;

/// Bits of an IPv6 address below those of its network: whoever has one has all of a /64.
const INTERFACE: u128 = u64::MAX as u128;

/// What politeness takes for one address: of IPv6 the /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !INTERFACE).into(),
        ip => ip,
    }
}

/// Failures are counted by host, each host once, until the address answers anybody: a host that fails
/// alone is its own breaker's matter, and never stops the others. Enough different ones in a row open
/// the breaker; from then on each request beyond the pause that is not answered counts, whosever it is.
/// Where a host would be given up, the address is down: its hosts are given up by their next failure,
/// each after a try of its own, for a few names that lead here and fail must not cost a site its crawl.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) clock: Clock,
    /// Hosts whose requests were not answered since it answered anybody, at most as many as open the
    /// breaker.
    silent: Vec<usize>,
    /// In a row.
    pauses: u32,
    paused_until: Instant,
}

impl Address {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { clock: Clock::new(now), silent: Vec::new(), pauses: 0, paused_until: now }
    }

    /// It answered, whatever it said.
    pub(crate) fn answered(&mut self) {
        (self.silent, self.pauses) = (Vec::new(), 0);
    }

    /// It did not answer what a host was asked for at `asked`.
    pub(crate) fn silent(&mut self, host: usize, asked: Instant, now: Instant, options: &Options) {
        // Many may be under way when a pause begins: they say nothing new.
        if asked < self.paused_until {
            return;
        }
        if !self.silent.contains(&host) && self.pauses == 0 {
            self.silent.push(host);
        }
        if self.silent.len() < options.breaker_after.max(1) as usize {
            return;
        }
        self.pauses = self.pauses.saturating_add(1);
        let wait = match self.is_down(options) {
            true => options.delay.max(options.address_delay),
            false => options.breaker_wait * (1 << (self.pauses - 1).min(8)),
        };
        self.paused_until = now + wait;
        self.clock.hold(self.paused_until);
    }

    /// No host of it is tried more than once.
    pub(crate) const fn is_down(&self, options: &Options) -> bool {
        self.pauses > options.give_up_after.saturating_sub(options.breaker_after)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whoever_has_an_address_of_ipv6_has_its_network() {
        let network = |text: &str| super::network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2::1"), "2001:db8:1:2::");
        assert_ne!(network("2001:db8:1:3::1"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
    }

    #[test]
    fn different_hosts_open_the_breaker_once_and_an_answer_closes_it() {
        let options = Options { breaker_after: 3, give_up_after: 5, ..Options::default() };
        let start = Instant::now();
        let mut address = Address::new(start);
        let at = |seconds| start + Duration::from_secs(seconds);
        // One host, however often; another one now and then, while others answer.
        for round in 0..100 {
            address.silent(1, at(round), at(round), &options);
            address.silent(2, at(round), at(round), &options);
            if round % 10 == 9 {
                address.answered();
            }
        }
        assert_eq!(address.clock.at(), start);
        address.silent(1, at(100), at(100), &options);
        address.silent(2, at(100), at(100), &options);
        address.silent(3, at(100), at(100), &options);
        assert_eq!(address.clock.at(), at(110));
        // Under way when the pause began.
        for host in 4..60 {
            address.silent(host, at(100), at(112), &options);
        }
        assert_eq!(address.clock.at(), at(110));
        address.silent(1, at(110), at(112), &options);
        assert_eq!(address.clock.at(), at(132), "twice as long");
        address.silent(1, at(132), at(132), &options);
        assert!(address.is_down(&options));
        assert_eq!(address.clock.at(), at(133), "the others have one try, a delay apart");
        address.answered();
        assert!(!address.is_down(&options));
        address.silent(1, at(140), at(140), &options);
        assert_eq!(address.clock.at(), at(133));
    }
}

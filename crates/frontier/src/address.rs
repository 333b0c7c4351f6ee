//! The clock and the circuit breaker of one IP address, which several hosts may share.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use crate::clock::Clock;
use crate::entry::Options;

/// The interface bits of an IPv6 address: one owner usually holds a whole /64.
const INTERFACE: u128 = u64::MAX as u128;

/// Returns the unit of politeness for an address: the address itself for IPv4, its /64 for IPv6.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !INTERFACE).into(),
        ip => ip,
    }
}

/// The breaker counts failing hosts, each once, until the address answers a request: one failing host never stops the
/// others. After [`Options::breaker_after`] different hosts in a row it opens; each later unanswered request, sent
/// after the pause, lengthens it. When a host would be given up, the address is down: each of its hosts gets one more
/// try. So a few dead names at this address cannot end the crawl of a working site.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) clock: Clock,
    /// Hosts that got no answer since the address last answered one, at most `breaker_after`.
    silent: Vec<usize>,
    /// Consecutive pauses.
    pauses: u32,
    paused_until: Instant,
}

impl Address {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { clock: Clock::new(now), silent: Vec::new(), pauses: 0, paused_until: now }
    }

    pub(crate) fn answered(&mut self) {
        (self.silent, self.pauses) = (Vec::new(), 0);
    }

    /// Records that a request of `host`, sent at `asked`, got no answer.
    pub(crate) fn silent(&mut self, host: usize, asked: Instant, now: Instant, options: &Options) {
        // Requests that were in flight when the pause began are not new evidence.
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

    /// Returns whether each host of the address has only one try left.
    pub(crate) const fn is_down(&self, options: &Options) -> bool {
        self.pauses > options.give_up_after.saturating_sub(options.breaker_after)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ipv6_addresses_of_one_64_network_count_as_one_server() {
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
        // Host 1 fails every time; host 2 too, while others answer every tenth time.
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
        // These were in flight when the pause began.
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

//! Decides which addresses may be dialled, so that links cannot lead the crawler into private networks.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use ipnet::IpNet;
use url::{Host, Url};

/// The addresses that a crawl may reach: global ones, and the exceptions below.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    /// Private networks that are allowed (`--allow-private`).
    pub allow: Vec<IpNet>,
    /// IP addresses or `localhost`, with their ports, that the user named as seeds.
    pub exact: HashSet<(String, u16)>,
    /// Allowed ports; empty: all. Bad ports are blocked in any case.
    pub ports: Vec<RangeInclusive<u16>>,
}

impl AddressGuard {
    /// Allows exactly the host and port of a seed whose host is an IP address or `localhost`.
    pub fn allow_seed(&mut self, seed: &Url) {
        let literal = match seed.host() {
            Some(Host::Domain(name)) => is_localhost(name),
            Some(_) => true,
            None => false,
        };
        if let (true, Some(host), Some(port)) =
            (literal, seed.host_str(), seed.port_or_known_default())
        {
            self.exact.insert((host.to_owned(), port));
        }
    }

    /// Returns whether a seed allowed exactly this host and port.
    pub fn is_exact(&self, url: &Url) -> bool {
        let key = (
            url.host_str().unwrap_or_default().to_owned(),
            url.port_or_known_default().unwrap_or(0),
        );
        self.exact.contains(&key)
    }

    /// Checks a URL whose host is an IP address; names are checked when they are resolved.
    pub fn permits_url(&self, url: &Url) -> bool {
        if self.is_exact(url) {
            return true;
        }
        match url.host() {
            Some(Host::Ipv4(ip)) => self.permits(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => self.permits(IpAddr::V6(ip)),
            Some(Host::Domain(name)) if is_localhost(name) => {
                self.permits(IpAddr::V4(Ipv4Addr::LOCALHOST))
            }
            Some(Host::Domain(_)) => true,
            None => false,
        }
    }

    /// Returns whether a URL's port may be dialled: it is in `ports`, if any, and the Fetch standard does not block
    /// it. So a link cannot make the crawler talk to a mail server or a database.
    pub fn permits_port(&self, url: &Url) -> bool {
        let named = |port| self.ports.is_empty() || self.ports.iter().any(|p| p.contains(&port));
        let is_bad = |port| BAD_PORTS.binary_search(&port).is_ok();
        url.port_or_known_default().is_none_or(named) && !url.port().is_some_and(is_bad)
            || self.is_exact(url)
    }

    /// Checks the address that is dialled.
    pub fn permits(&self, ip: IpAddr) -> bool {
        let ip = inner(ip);
        is_global(ip) || self.allow.iter().any(|net| net.contains(&ip))
    }

    /// Returns whether the name `localhost` may be resolved: a seed allowed it for some port.
    pub(crate) fn knows_localhost(&self) -> bool {
        self.exact.iter().any(|(host, _)| is_localhost(host))
    }
}

pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Returns the IPv4 address that an IPv6 address contains (mapped, NAT64, 6to4), else the address itself.
fn inner(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return IpAddr::V4(v4);
    }
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 =
        |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => v4(g, h),
        (0x2002, high) => v4(high, c),
        _ => ip,
    }
}

/// Returns whether an address is global: not in the IANA special-purpose registries (2026). Of IPv6 only 2000::/3 is
/// global unicast (RFC 4291, section 2.4).
fn is_global(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !V4.iter().any(|(net, bits)| matches_v4(ip, *net, *bits)),
        IpAddr::V6(ip) => {
            let unicast = matches_v6(ip, [0x2000, 0, 0, 0, 0, 0, 0, 0], 3);
            unicast && !V6.iter().any(|(net, bits)| matches_v6(ip, *net, *bits))
        }
    }
}

/// WHATWG Fetch, section 2.9, "bad port", and four databases.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566,
    6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
];

const V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Within 2000::/3.
const V6: &[([u16; 8], u32)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

fn matches_v4(ip: Ipv4Addr, net: [u8; 4], bits: u32) -> bool {
    let mask = u32::MAX << (32 - bits);
    (u32::from(ip) ^ u32::from(Ipv4Addr::from(net))) & mask == 0
}

fn matches_v6(ip: Ipv6Addr, net: [u16; 8], bits: u32) -> bool {
    let mask = u128::MAX << (128 - bits);
    (u128::from(ip) ^ u128::from(Ipv6Addr::from(net))) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_that_are_named_and_never_bad_ones() {
        let mut guard = AddressGuard { ports: vec![443..=443, 8000..=8999], ..Default::default() };
        guard.allow_seed(&Url::parse("http://127.0.0.1:9999/").unwrap());
        let permits = |url: &str| guard.permits_port(&Url::parse(url).unwrap());
        assert!(permits("https://a.example/") && permits("http://a.example:8443/"));
        assert!(!permits("http://a.example/") && !permits("http://a.example:9999/"));
        assert!(permits("http://127.0.0.1:9999/"), "a seed names it");
        let all = AddressGuard { ports: vec![1..=65_535], ..Default::default() };
        let permits = |url: &str| all.permits_port(&Url::parse(url).unwrap());
        assert!(permits("http://a.example:9999/") && !permits("http://a.example:25/"));
    }

    #[test]
    fn special_addresses_are_refused_in_every_spelling() {
        let guard = AddressGuard::default();
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f.1",
            "017700000001",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "0.0.0.0",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[2001:db8::1]",
            "[fc00::1]",
            "[fd12::1]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[::127.0.0.1]",
            "[100::1]",
            "localhost",
            "LOCALHOST",
            "a.localhost",
            "localhost.",
            "192.88.99.1",
            "[2001::1]",
            "[64:ff9b:1::1]",
            "[::ffff:0:127.0.0.1]",
            "[100:0:0:1::1]",
            "[4000::1]",
            "[3fff::1]",
        ] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert!(!guard.permits_url(&url), "{host}");
        }
    }

    #[test]
    fn each_network_is_refused_from_its_first_address_to_its_last() {
        let guard = AddressGuard::default();
        let networks = "0.0.0.0-0.255.255.255 10.0.0.0-10.255.255.255 100.64.0.0-100.127.255.255 \
            127.0.0.0-127.255.255.255 169.254.0.0-169.254.255.255 172.16.0.0-172.31.255.255 \
            192.0.0.0-192.0.0.255 192.0.2.0-192.0.2.255 192.88.99.0-192.88.99.255 \
            192.168.0.0-192.168.255.255 198.18.0.0-198.19.255.255 198.51.100.0-198.51.100.255 \
            203.0.113.0-203.0.113.255 224.0.0.0-255.255.255.255 \
            ::-1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 2001::-2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff \
            2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 3fff::-3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff \
            4000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        let permits = |address: Option<IpAddr>| address.map(|address| guard.permits(address));
        let moved = |address: IpAddr, by: i128| match address {
            IpAddr::V4(ip) => u32::try_from(i128::from(u32::from(ip)) + by)
                .ok()
                .map(|bits| IpAddr::V4(bits.into())),
            IpAddr::V6(ip) => {
                u128::from(ip).checked_add_signed(by).map(|bits| IpAddr::V6(bits.into()))
            }
        };
        for network in networks.split_whitespace() {
            let (first, last) = network.split_once('-').unwrap();
            let [first, last]: [IpAddr; 2] = [first, last].map(|end| end.parse().unwrap());
            for address in [Some(first), moved(first, 1), moved(last, -1), Some(last)] {
                assert_eq!(permits(address), Some(false), "{address:?}");
            }
            // The neighbours are global, or do not exist.
            for address in [moved(first, -1), moved(last, 1)] {
                assert_ne!(permits(address), Some(false), "{address:?}");
            }
        }
    }

    #[test]
    fn global_addresses_and_names_pass() {
        let guard = AddressGuard::default();
        for host in [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "198.20.0.1",
            "192.0.1.1",
            "[2600::1]",
            "[2a00:1450::1]",
            "[64:ff9b::808:808]",
            "[2002:808:808::]",
            "example.org",
        ] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            assert!(guard.permits_url(&url), "{host}");
        }
    }

    #[test]
    fn a_seed_allows_its_own_host_and_port_only() {
        let mut guard = AddressGuard::default();
        guard.allow_seed(&Url::parse("http://127.0.0.1:8080/x").unwrap());
        guard.allow_seed(&Url::parse("http://intranet.example/").unwrap());
        assert!(guard.permits_url(&Url::parse("http://127.0.0.1:8080/y").unwrap()));
        assert!(!guard.permits_url(&Url::parse("http://127.0.0.1:8081/").unwrap()));
        assert!(!guard.permits_url(&Url::parse("http://127.0.0.2:8080/").unwrap()));
        assert!(!guard.permits("10.0.0.1".parse().unwrap()));
        guard.allow.push("10.0.0.0/24".parse().unwrap());
        assert!(guard.permits("10.0.0.1".parse().unwrap()));
        assert!(guard.permits("::ffff:10.0.0.1".parse().unwrap()));
    }
}

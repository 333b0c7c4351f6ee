//! A synthetic web with a known answer: hosts with navigation and advertisements of their own, mirrors, edited copies,
//! versions for printers, session ids, redirects, Chinese, traps, forbidden paths, slow and dying
//! hosts. Every page is a function of its URL, so that a web of any size takes no memory.

mod page;
mod serve;
mod text;

use std::net::Ipv4Addr;

pub(crate) use serve::Server;

/// Stories and versions for printers of a host.
const STORIES: u64 = 150;
const PRINTS: u64 = 50;
pub(crate) const PAGES_PER_HOST: u64 = STORIES + PRINTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    News,
    /// The stories of another host, word by word.
    Mirror,
    /// The same with a sentence changed in each.
    Edited,
    Chinese,
}

/// A web of `hosts` hosts, each an address of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Web {
    pub(crate) hosts: u64,
    pub(crate) port: u16,
}

impl Web {
    /// Of about so many pages, ten hosts at least.
    pub(crate) fn of_pages(pages: u64, port: u16) -> Self {
        Self { hosts: pages.div_ceil(PAGES_PER_HOST).max(10), port }
    }

    pub(crate) fn seeds(&self) -> String {
        (0..self.hosts).map(|host| self.url(host, "/") + "\n").collect()
    }

    fn url(&self, host: u64, path: &str) -> String {
        format!("http://{}:{}{path}", address(host), self.port)
    }

    fn role(host: u64) -> Role {
        match host % 10 {
            6 => Role::Mirror,
            7 => Role::Edited,
            8 => Role::Chinese,
            _ => Role::News,
        }
    }

    /// Stops to answer after some requests.
    pub(crate) const fn dies(host: u64) -> bool {
        host % 100 == 55
    }

    const fn slow(host: u64) -> bool {
        host % 100 == 75
    }

    /// Has a calendar without end, and paths that grow.
    const fn traps(host: u64) -> bool {
        host % 50 == 13
    }

    /// Some URLs of it fail when they are asked for the first time.
    const fn stumbles(host: u64) -> bool {
        host % 10 == 9
    }

    /// What a story is about: equal for those that are the same page.
    fn text(host: u64, story: u64) -> u64 {
        let first = match Self::role(host) {
            Role::Mirror | Role::Edited => host - 6,
            _ => host,
        };
        first * STORIES + story
    }

    /// Every page that can be reached and is no trap. Those of dying hosts are not among them.
    pub(crate) fn pages(&self) -> impl Iterator<Item = String> + '_ {
        let hosts = (0..self.hosts).filter(|host| !Self::dies(*host));
        hosts.flat_map(|host| (0..STORIES).map(move |story| (host, story))).flat_map(
            move |(host, story)| {
                let print = has_print(story).then(|| print_path(story));
                let session = has_session(story).then(|| session_path(story));
                let paths = [Some(story_path(story)), print, session];
                paths.into_iter().flatten().map(move |path| self.url(host, &path))
            },
        )
    }

    /// The number of a page's text; `None` for traps, and for hosts that die.
    pub(crate) fn text_of(&self, url: &str) -> Option<u64> {
        let (host, path) = self.place_of(url)?;
        let story: u64 = match path {
            "/" => 0,
            path => {
                let rest = path.strip_prefix("/story/").or_else(|| path.strip_prefix("/print/"))?;
                rest.split('?').next()?.parse().ok()?
            }
        };
        (!Self::dies(host) && story < STORIES).then(|| Self::text(host, story))
    }

    /// Whether a person would keep this page of all with its text: it names itself as canonical.
    pub(crate) fn is_original(&self, url: &str) -> bool {
        let role = self.place_of(url).map(|(host, _)| Self::role(host));
        self.is_plain(url) && matches!(role, Some(Role::News | Role::Chinese))
    }

    /// Whether a page is the one that a person would keep of its own host: no print version, no session.
    pub(crate) fn is_plain(&self, url: &str) -> bool {
        self.place_of(url).is_some_and(|(_, path)| {
            path == "/" || path.starts_with("/story/") && !path.contains('?')
        })
    }

    fn place_of<'u>(&self, url: &'u str) -> Option<(u64, &'u str)> {
        let rest = url.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        let (address, port) = authority.split_once(':')?;
        let host = host_of(address.parse().ok()?)?;
        (port.parse() == Ok(self.port) && host < self.hosts).then_some((host, path))
    }
}

const fn has_print(story: u64) -> bool {
    story >= 1 && story <= PRINTS
}

const fn has_session(story: u64) -> bool {
    story % 25 == 7
}

const fn has_redirect(story: u64) -> bool {
    story % 25 == 9
}

fn story_path(story: u64) -> String {
    if story == 0 { "/".to_owned() } else { format!("/story/{story}") }
}

fn print_path(story: u64) -> String {
    format!("/print/{story}")
}

/// A parameter that no list of tracking parameters knows.
fn session_path(story: u64) -> String {
    format!("/story/{story}?visit=a{story}")
}

/// From 127.1.0.1 on, 250 a block.
fn address(host: u64) -> Ipv4Addr {
    let block = host / 250;
    Ipv4Addr::new(127, 1 + (block / 250) as u8, (block % 250) as u8, 1 + (host % 250) as u8)
}

/// The host of an address, and whether it is one.
fn host_of(address: Ipv4Addr) -> Option<u64> {
    let [_, high, block, low] = address.octets();
    let (high, low) = (high.checked_sub(1)?, low.checked_sub(1)?);
    Some((u64::from(high) * 250 + u64::from(block)) * 250 + u64::from(low))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn addresses_and_hosts_are_one_to_one() {
        for host in [0, 1, 249, 250, 499, 62_499, 62_500, 1_000_000] {
            assert_eq!(host_of(address(host)), Some(host));
        }
    }

    #[test]
    fn every_text_has_one_original_and_every_page_a_text() {
        let web = Web::of_pages(20_000, 80);
        assert_eq!(web.hosts, 100);
        let pages: HashSet<String> = web.pages().collect();
        assert_eq!(pages.len(), web.pages().count());
        let texts: HashSet<u64> = pages.iter().map(|url| web.text_of(url).unwrap()).collect();
        let originals: Vec<&String> = pages.iter().filter(|url| web.is_original(url)).collect();
        let of: HashSet<u64> = originals.iter().map(|url| web.text_of(url).unwrap()).collect();
        assert_eq!((originals.len(), &of), (texts.len(), &texts));
        assert_eq!(web.text_of("http://127.1.0.14:80/calendar/2026/11"), None);
    }
}

//! A synthetic web with a known answer: hosts with separate navigation and advertisements, mirrors, edited copies,
//! print versions, session ids, redirects, Chinese, traps, forbidden paths, slow and dying hosts. Every page is a
//! function of its URL, so a web of any size takes no memory.

mod page;
mod serve;
mod text;

use std::net::Ipv4Addr;

pub(crate) use serve::Server;

/// Stories and print versions on one host.
const STORIES: u64 = 150;
const PRINTS: u64 = 50;
pub(crate) const PAGES_PER_HOST: u64 = STORIES + PRINTS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    News,
    /// The stories of another host, unchanged.
    Mirror,
    /// The stories of another host, with one sentence of each changed.
    Edited,
    Chinese,
}

/// A web of `hosts` hosts, each with a separate address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Web {
    pub(crate) hosts: u64,
    pub(crate) port: u16,
}

impl Web {
    /// A web of about `pages` pages and at least ten hosts.
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

    /// Whether the host stops answering after some requests.
    pub(crate) const fn dies(host: u64) -> bool {
        host % 100 == 55
    }

    const fn slow(host: u64) -> bool {
        host % 100 == 75
    }

    /// Whether the host has an endless calendar and endlessly growing paths.
    const fn traps(host: u64) -> bool {
        host % 50 == 13
    }

    /// Whether some URLs of the host fail on the first request.
    const fn stumbles(host: u64) -> bool {
        host % 10 == 9
    }

    /// The number of a story's text, equal for duplicates.
    fn text(host: u64, story: u64) -> u64 {
        let first = match Self::role(host) {
            Role::Mirror | Role::Edited => host - 6,
            _ => host,
        };
        first * STORIES + story
    }

    /// Every reachable page, except those of traps and dying hosts.
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

    /// The number of a page's text; `None` for traps and dying hosts.
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

    /// Whether the page should be kept of all pages with its text: it names itself as canonical.
    pub(crate) fn is_original(&self, url: &str) -> bool {
        let role = self.place_of(url).map(|(host, _)| Self::role(host));
        self.is_plain(url) && matches!(role, Some(Role::News | Role::Chinese))
    }

    /// Whether the page should be kept of its host: not a print version, no session id.
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

/// The parameter is in no list of tracking parameters.
fn session_path(story: u64) -> String {
    format!("/story/{story}?visit=a{story}")
}

/// Addresses begin at 127.1.0.1, with 250 hosts a block.
fn address(host: u64) -> Ipv4Addr {
    let block = host / 250;
    Ipv4Addr::new(127, 1 + (block / 250) as u8, (block % 250) as u8, 1 + (host % 250) as u8)
}

/// The host with this address, if there is one.
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

//! The sources of dropped links to a host, stored between runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use url::Url;

/// Maximum number of sitemaps of a host; a recrawl finds the entries of further ones.
const MAX_SITEMAPS: usize = 100;
/// Maximum number of unarchived pages with links to a host. A recrawl requests these pages.
const MAX_PAGES: usize = 20;
/// Maximum number of hosts whose pages have dropped links to one host; beyond it the whole archive is read.
const MAX_SOURCES: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sources {
    /// Hosts of archived pages.
    pub(crate) hosts: BTreeSet<String>,
    /// There are more of them than the limit.
    pub(crate) all: bool,
    pub(crate) sitemaps: BTreeSet<String>,
    /// Some links cannot be found in the archive: their page is not in it (`noindex`, `--links-only`, `--no-warc`) or
    /// damaged, or their sitemap is beyond the limit.
    pub(crate) unarchived: bool,
    /// Such pages, up to the limit.
    pub(crate) pages: BTreeSet<String>,
    /// There are more of them than the limit.
    pub(crate) more_pages: bool,
}

impl Sources {
    pub(crate) fn add_host(&mut self, host: &str) -> bool {
        if self.all || self.hosts.contains(host) {
            return false;
        }
        self.all = self.hosts.len() >= MAX_SOURCES;
        self.all || self.hosts.insert(host.to_owned())
    }

    pub(crate) fn add_sitemap(&mut self, sitemap: &Url) -> bool {
        if self.sitemaps.len() < MAX_SITEMAPS {
            return self.sitemaps.insert(sitemap.to_string());
        }
        !self.sitemaps.contains(sitemap.as_str()) && !std::mem::replace(&mut self.unarchived, true)
    }

    /// Adds a page that is not in the archive.
    pub(crate) fn add_page(&mut self, page: Option<&Url>) -> bool {
        let mut fresh = !std::mem::replace(&mut self.unarchived, true);
        match page {
            Some(page) if self.pages.len() < MAX_PAGES => {
                fresh |= self.pages.insert(page.to_string());
            }
            Some(page) if self.pages.contains(page.as_str()) => {}
            _ => fresh |= !std::mem::replace(&mut self.more_pages, true),
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_beyond_the_limits_of_a_host_wait_for_a_recrawl() {
        let url = |number: usize| Url::parse(&format!("http://a.example/{number}")).unwrap();
        let mut sources = Sources::default();
        assert!((0..MAX_SITEMAPS).all(|number| sources.add_sitemap(&url(number))));
        assert!(!sources.add_sitemap(&url(3)) && !sources.unarchived, "known");
        assert!(sources.add_sitemap(&url(MAX_SITEMAPS)) && sources.unarchived);
        let mut sources = Sources::default();
        assert!((0..MAX_PAGES).all(|number| sources.add_page(Some(&url(number)))));
        assert!(!sources.add_page(Some(&url(3))) && !sources.more_pages, "known");
        assert!(sources.add_page(Some(&url(MAX_PAGES))) && sources.more_pages);
    }

    #[test]
    fn sources_are_remembered_up_to_a_limit_and_read_back() {
        let mut sources = Sources::default();
        let url = Url::parse("http://a.example/sitemap.xml").unwrap();
        assert!(sources.add_host("a.example") && !sources.add_host("a.example"));
        assert!(sources.add_sitemap(&url) && !sources.add_sitemap(&url));
        for number in 0..=MAX_SOURCES {
            sources.add_host(&number.to_string());
        }
        assert!(sources.all && sources.hosts.len() == MAX_SOURCES);
        let note = serde_json::to_vec(&sources).unwrap();
        assert_eq!(serde_json::from_slice::<Sources>(&note).unwrap(), sources);
        assert!(serde_json::from_slice::<Sources>(b"").is_err(), "nothing is missing");
    }
}

//! Where `/sitemap.xml` is tried, of hosts whose robots.txt names no sitemap.
//!
//! A domain may have endless names of hosts. So it is tried at once on the seeds' hosts, the site's own name and some other hosts of
//! the site; on further ones when a second page of the host is requested.

use std::collections::{HashMap, HashSet};

use hapax_url::{UrlKey, registrable_site, url_key};
use url::Url;

pub(crate) const USUAL_SITEMAP: &str = "/sitemap.xml";
/// Number of hosts of a site on which it is tried at once, besides `example.org` and `www.example.org`.
const MAX_HOSTS: usize = 4;
/// Maximum number of hosts that wait for their second page, and of sites. Beyond it all are forgotten.
const MAX_WAITING: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct UsualSitemaps {
    /// The first hosts of each site.
    hosts: HashMap<UrlKey, Vec<UrlKey>>,
    /// Hosts of which one page was requested.
    waiting: HashSet<UrlKey>,
}

impl UsualSitemaps {
    /// Returns whether to try it now. Otherwise the host waits for its second page.
    pub(crate) fn is_tried(&mut self, host: &str, url: &Url, is_seed: bool) -> bool {
        let site = registrable_site(url);
        let name = url.host_str().unwrap_or_default();
        // Other names have a dot before the site's.
        let is_other = name.strip_suffix(&site).is_some_and(|name| !matches!(name, "" | "www."));
        if is_seed || !is_other {
            return true;
        }
        let host = url_key(host);
        if self.hosts.len() >= MAX_WAITING {
            self.hosts.clear();
        }
        let hosts = self.hosts.entry(url_key(&site)).or_default();
        if !hosts.contains(&host) {
            if hosts.len() >= MAX_HOSTS {
                if self.waiting.len() >= MAX_WAITING {
                    self.waiting.clear();
                }
                // It waits already if its robots.txt had left memory between two pages.
                if self.waiting.insert(host) {
                    return false;
                }
                self.waiting.remove(&host);
                return true;
            }
            hosts.push(host);
        }
        true
    }

    /// Returns whether to try it at a further page of this host.
    pub(crate) fn is_due(&mut self, host: &str) -> bool {
        !self.waiting.is_empty() && self.waiting.remove(&url_key(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(usual: &mut UsualSitemaps, host: &str, is_seed: bool) -> bool {
        usual.is_tried(host, &Url::parse(&format!("http://{host}/page")).unwrap(), is_seed)
    }

    #[test]
    fn endless_hosts_of_a_site_wait_for_their_second_page() {
        let mut usual = UsualSitemaps::default();
        let names = (0..40).map(|at| format!("h{at}.a.example"));
        let first = names.filter(|name| tried(&mut usual, name, false)).count();
        assert_eq!(first, MAX_HOSTS);
        assert!(tried(&mut usual, "h3.a.example", false), "asked again after it left memory");
        for host in ["a.example", "www.a.example", "127.0.0.1:80", "localhost", "h1.b.example"] {
            assert!(tried(&mut usual, host, false), "{host}");
        }
        assert!(tried(&mut usual, "seed.a.example", true));
        assert!(usual.is_due("h39.a.example"));
        assert!(tried(&mut usual, "h38.a.example", false), "robots.txt was read anew for page two");
        assert!(!usual.is_due("h38.a.example"));
        for host in ["h39.a.example", "h3.a.example", "new.a.example"] {
            assert!(!usual.is_due(host), "{host}");
        }
    }

    #[test]
    fn its_memory_is_limited() {
        let mut usual = UsualSitemaps::default();
        for at in 0..MAX_WAITING + 100 {
            tried(&mut usual, &format!("h{at}.a.example"), false);
        }
        assert!(usual.waiting.len() <= MAX_WAITING);
        for at in 0..MAX_WAITING + 100 {
            tried(&mut usual, &format!("h.a{at}.example"), false);
        }
        assert!(usual.hosts.len() <= MAX_WAITING);
    }
}

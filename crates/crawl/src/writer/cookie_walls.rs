//! Pages behind a cookie wall: the page redirects to another URL, which sets a cookie and redirects back.
//!
//! With cookies, such a page is requested once more in a run. Without them it is a loop, and the log names the flag.

use std::collections::HashSet;

use hapax_url::{UrlKey, url_key};

const MAX_URLS: usize = 100_000;

/// Redirects of this run that set cookies.
#[derive(Debug, Default)]
pub(crate) struct CookieWalls {
    keeps_cookies: bool,
    /// Pages that were requested once more.
    again: HashSet<UrlKey>,
    /// URLs whose redirect set a cookie.
    setters: HashSet<UrlKey>,
}

impl CookieWalls {
    pub(crate) fn new(keeps_cookies: bool) -> Self {
        Self { keeps_cookies, ..Self::default() }
    }

    pub(super) const fn keeps_cookies(&self) -> bool {
        self.keeps_cookies
    }

    pub(crate) fn set_cookie(&mut self, url: &str) {
        if self.setters.len() < MAX_URLS {
            self.setters.insert(url_key(url));
        }
    }

    /// Returns whether to request a page again that redirects lead back to: once in a run, if cookies are kept.
    pub(crate) fn asks_again(&mut self, url: &str) -> bool {
        self.keeps_cookies && self.again.len() < MAX_URLS && self.again.insert(url_key(url))
    }

    /// Returns what the log line of a loop over these URLs adds about cookies.
    pub(crate) fn hint<'u>(&self, mut urls: impl Iterator<Item = &'u str>) -> &'static str {
        match !self.keeps_cookies && urls.any(|url| self.setters.contains(&url_key(url))) {
            true => "; it sets cookies, which are kept with --cookies",
            false => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_requested_again_once_and_only_with_cookies() {
        let mut with = CookieWalls::new(true);
        assert!(with.asks_again("http://a.example/"));
        assert!(!with.asks_again("http://a.example/"));
        with.set_cookie("http://a.example/");
        assert_eq!(with.hint(["http://a.example/"].into_iter()), "");
        let mut without = CookieWalls::new(false);
        assert!(!without.asks_again("http://a.example/"));
        without.set_cookie("http://a.example/");
        assert!(
            without
                .hint(["http://b.example/", "http://a.example/"].into_iter())
                .contains("--cookies")
        );
        assert_eq!(without.hint(["http://b.example/"].into_iter()), "");
    }
}

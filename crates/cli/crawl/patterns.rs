//! URLs that differ only in what does not matter: where nearly every page of a pattern turned out to
//! be a duplicate, further ones are not fetched, but for a few that check whether that is still so.

use std::collections::HashMap;

use hapax_frontier::host_key;
use url::Url;

/// Nothing is left out before a host has had so many pages.
pub(super) const MIN_HOST_PAGES: u64 = 1000;
/// Nor before so many pages of a pattern were seen.
const MIN_PAGES: u64 = 200;
/// Share of duplicates among them.
const MAX_SHARE: f64 = 0.95;
/// One in so many is fetched all the same.
const CHECK: u64 = 20;
/// Patterns held in memory.
const MAX_PATTERNS: usize = 10_000;

#[derive(Debug, Default)]
struct Seen {
    pages: u64,
    discarded: u64,
    left_out: u64,
}

/// What became of the pages of each pattern in this run.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, Seen>);

impl Patterns {
    /// Counts a page.
    pub(super) fn saw(&mut self, url: &Url, discarded: bool) {
        let pattern = pattern(url);
        if self.0.len() >= MAX_PATTERNS && !self.0.contains_key(&pattern) {
            self.forget_the_rare();
        }
        let seen = self.0.entry(pattern).or_default();
        seen.pages += 1;
        seen.discarded += u64::from(discarded);
    }

    /// Makes room: what was seen least goes.
    fn forget_the_rare(&mut self) {
        let mut least = 1;
        while self.0.len() > MAX_PATTERNS / 2 {
            self.0.retain(|_, seen| seen.pages > least);
            least *= 2;
        }
    }

    /// Why a URL is not worth fetching, if it is not.
    pub(super) fn leaves_out(&mut self, url: &Url, host_pages: u64) -> Option<String> {
        if host_pages < MIN_HOST_PAGES {
            return None;
        }
        let pattern = pattern(url);
        let seen = self.0.get_mut(&pattern)?;
        let share = seen.discarded as f64 / seen.pages.max(1) as f64;
        if seen.pages < MIN_PAGES || share < MAX_SHARE {
            return None;
        }
        seen.left_out += 1;
        if seen.left_out % CHECK == 0 {
            return None;
        }
        Some(format!("{} of {} pages like {pattern} were duplicates", seen.discarded, seen.pages))
    }
}

/// `a.example/print/*?lang&page`: the host, the folder, and the names of the parameters.
fn pattern(url: &Url) -> String {
    let folder = url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = host_key(url);
    let mut digits = false;
    for c in folder.chars() {
        match (c.is_ascii_digit(), digits) {
            (true, false) => out.push('#'),
            (true, true) => {}
            (false, _) => out.push(c),
        }
        digits = c.is_ascii_digit();
    }
    out.push_str("/*");
    if let Some(query) = url.query() {
        let mut names: Vec<&str> =
            query.split('&').map(|pair| pair.split('=').next().unwrap_or(pair)).collect();
        names.sort_unstable();
        names.dedup();
        out.push('?');
        out.push_str(&names.join("&"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_pattern_of_duplicates_is_left_out_but_for_checks_and_only_on_a_large_host() {
        let mut patterns = Patterns::default();
        for i in 0..MIN_PAGES {
            patterns.saw(&url(&format!("http://a.example/print/{i}?sid={i}&x=1")), true);
            patterns.saw(&url(&format!("http://a.example/article/{i}")), i % 2 == 0);
        }
        let print = url("http://a.example/print/new?x=2&sid=9");
        assert_eq!(patterns.leaves_out(&print, MIN_HOST_PAGES - 1), None);
        assert_eq!(patterns.leaves_out(&url("http://a.example/article/x"), MIN_HOST_PAGES), None);
        assert_eq!(patterns.leaves_out(&url("http://a.example/print/new"), MIN_HOST_PAGES), None);
        let left_out = (0..100).filter(|_| patterns.leaves_out(&print, MIN_HOST_PAGES).is_some());
        assert_eq!(left_out.count(), 95);
        let why = patterns.leaves_out(&print, MIN_HOST_PAGES).unwrap();
        assert_eq!(why, "200 of 200 pages like a.example/print/*?sid&x were duplicates");
        // When the checks find pages of their own, the pattern is fetched again.
        for _ in 0..20 {
            patterns.saw(&print, false);
        }
        assert_eq!(patterns.leaves_out(&print, MIN_HOST_PAGES), None);
    }

    #[test]
    fn patterns_are_bounded() {
        let mut patterns = Patterns::default();
        for i in 0..MAX_PATTERNS * 3 {
            patterns.saw(&url(&format!("http://a{i}.example/")), true);
            assert!(patterns.0.len() <= MAX_PATTERNS);
            // Seen again and again, whatever comes beside it.
            if i % 10 == 0 {
                patterns.saw(&url("http://late.example/print/x"), true);
            }
        }
        let late = url("http://late.example/print/y");
        assert!(patterns.leaves_out(&late, MIN_HOST_PAGES).is_some());
    }
}

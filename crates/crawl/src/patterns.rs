//! Rules about URL patterns. If nearly all pages of a pattern were duplicates, further URLs of it are not requested,
//! except samples that verify the rule. On hosts with almost only duplicates fewer pages suffice.

use std::collections::HashMap;

use hapax_url::host_key;
use url::Url;

use crate::config::Dust;

/// Minimum number of pages of a host before any of its URLs is excluded.
pub(super) const MIN_HOST_PAGES: u64 = 1000;
/// `--dust-pages` is divided by this number on a host whose pages of rare patterns are duplicates.
const FEWER: u64 = 10;
/// Minimum share of duplicates among the pages of rare patterns of such a host.
const MAX_HOST_SHARE: f64 = 0.98;
/// At twice this number of pages their counts are halved, so that changes are noticed soon.
const RECENT: u64 = 1000;
/// Number of the first excluded URL that is requested as a sample; the next samples are at each power of two.
pub(super) const FIRST_SAMPLE: u64 = 4;
/// A pattern is dropped after two pages that are not duplicates, if they are more than one in five since its first
/// URL was excluded.
const CONTRADICTIONS: u64 = 2;
const CONTRADICTING: u64 = 5;
/// Maximum number of patterns and hosts in memory.
const MAX_PATTERNS: usize = 10_000;

/// URLs that this run excluded by one rule.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    pub(crate) example: Url,
    pub(crate) count: u64,
    /// The rule, in the form of a rules file where it has one.
    pub(crate) rule: String,
    pub(crate) detail: String,
}

/// Returns whether an excluded URL is requested as a sample, to verify the rule: numbers 4, 8, 16 and so on.
const fn is_sample(left_out: u64) -> bool {
    left_out >= FIRST_SAMPLE && left_out.is_power_of_two()
}

#[derive(Debug, Default)]
struct Seen {
    pages: u64,
    discarded: u64,
    left_out: u64,
    /// Number of pages since the first URL was excluded, and how many of them were not duplicates.
    since: u64,
    contradictions: u64,
    example: Option<Url>,
}

impl Seen {
    fn count(&mut self, discarded: bool) {
        if self.pages >= 2 * RECENT {
            self.pages /= 2;
            self.discarded /= 2;
        }
        self.pages += 1;
        self.discarded += u64::from(discarded);
        if self.left_out > 0 {
            self.since += 1;
            self.contradictions += u64::from(!discarded);
            let is_wrong = self.contradictions * CONTRADICTING > self.since;
            if self.contradictions >= CONTRADICTIONS && is_wrong {
                // Learn it again.
                *self = Self::default();
            }
        }
    }

    /// Returns whether there were this number of pages, with this share of duplicates.
    fn repeats(&self, min_pages: u64, max_share: f64) -> bool {
        let share = self.discarded as f64 / self.pages.max(1) as f64;
        self.pages >= min_pages && share >= max_share
    }
}

/// Counts of pages of each pattern and each host in this run.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    seen: HashMap<String, Seen>,
    dust: Dust,
}

impl Patterns {
    pub(super) fn new(dust: Dust) -> Self {
        Self { seen: HashMap::new(), dust }
    }

    pub(super) fn saw(&mut self, url: &Url, discarded: bool) {
        let pages = self.count(pattern(url), discarded);
        if pages <= self.dust.pages {
            // The counts of the host apply to patterns without sufficient counts.
            self.count(host_key(url), discarded);
        }
    }

    fn count(&mut self, key: String, discarded: bool) -> u64 {
        if self.seen.len() >= MAX_PATTERNS && !self.seen.contains_key(&key) {
            self.forget_the_rare();
        }
        let seen = self.seen.entry(key).or_default();
        seen.count(discarded);
        seen.pages
    }

    /// Makes room: removes the half with the fewest pages.
    fn forget_the_rare(&mut self) {
        let mut all: Vec<(String, Seen)> = self.seen.drain().collect();
        // Ties are broken by name, so that all runs give the same result.
        all.sort_by(|(a, one), (b, other)| other.pages.cmp(&one.pages).then_with(|| a.cmp(b)));
        all.truncate(MAX_PATTERNS / 2);
        self.seen.extend(all);
    }

    /// Returns whether a URL is excluded.
    pub(super) fn leaves_out(&mut self, url: &Url, host_pages: u64) -> bool {
        if host_pages < MIN_HOST_PAGES {
            return false;
        }
        // On any host, pages of each pattern are fetched first: it may be the one with distinct texts.
        let host = self.seen.get(&host_key(url));
        let repeats = host.is_some_and(|host| host.repeats(MIN_HOST_PAGES, MAX_HOST_SHARE));
        let Dust { pages, share } = self.dust;
        let Some(seen) = self.seen.get_mut(&pattern(url)) else { return false };
        if !seen.repeats(if repeats { pages / FEWER } else { pages }, share) {
            return false;
        }
        seen.left_out += 1;
        seen.example.get_or_insert_with(|| url.clone());
        !is_sample(seen.left_out)
    }

    /// Returns the URLs that this run excluded, by pattern.
    pub(super) fn left_out(&self) -> Vec<LeftOut> {
        let mut all: Vec<_> = self.seen.iter().filter(|(_, seen)| seen.left_out > 0).collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        let line = |(pattern, seen): (&String, &Seen)| {
            let Seen { pages, discarded, left_out, .. } = seen;
            let detail = format!(
                "{left_out} links like {pattern} were not followed: {discarded} of the last {pages} such pages were duplicates"
            );
            let rule = format!("pattern {pattern}");
            Some(LeftOut { example: seen.example.clone()?, count: *left_out, rule, detail })
        };
        all.into_iter().filter_map(line).collect()
    }
}

/// Replaces each run of digits by `#`.
pub(super) fn without_digits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut digits = false;
    for c in text.chars() {
        match (c.is_ascii_digit(), digits) {
            (true, false) => out.push('#'),
            (true, true) => {}
            (false, _) => out.push(c),
        }
        digits = c.is_ascii_digit();
    }
    out
}

/// Returns host, folder and names of the parameters: `a.example/print/*?lang&page`.
fn pattern(url: &Url) -> String {
    let folder = url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = host_key(url) + &without_digits(folder) + "/*";
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

    const MIN_PAGES: u64 = 200;
    const FEW_PAGES: u64 = MIN_PAGES / FEWER;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_duplicate_url_pattern_is_skipped_except_samples_only_on_large_hosts() {
        let mut patterns = Patterns::default();
        for i in 0..MIN_PAGES {
            patterns.saw(&url(&format!("http://a.example/print/{i}?sid={i}&x=1")), true);
            patterns.saw(&url(&format!("http://a.example/article/{i}")), i % 2 == 0);
        }
        let print = url("http://a.example/print/new?x=2&sid=9");
        assert!(!patterns.leaves_out(&print, MIN_HOST_PAGES - 1));
        assert!(!patterns.leaves_out(&url("http://a.example/article/x"), MIN_HOST_PAGES));
        assert!(!patterns.leaves_out(&url("http://a.example/print/new"), MIN_HOST_PAGES));
        let left_out = (0..100).filter(|_| patterns.leaves_out(&print, MIN_HOST_PAGES));
        assert_eq!(left_out.count(), 95, "all but number 4, 8, 16, 32 and 64");
        let [line] = &patterns.left_out()[..] else { panic!("{:?}", patterns.left_out()) };
        assert_eq!(line.count, 100);
        assert_eq!(
            line.detail,
            "100 links like a.example/print/*?sid&x were not followed: 200 of the last 200 such pages were duplicates"
        );
        // Two samples that are not duplicates end the rule.
        patterns.saw(&print, false);
        assert!(patterns.leaves_out(&print, MIN_HOST_PAGES));
        patterns.saw(&print, false);
        assert!(!patterns.leaves_out(&print, MIN_HOST_PAGES));
    }

    #[test]
    fn on_a_host_of_duplicates_few_pages_of_a_pattern_suffice_and_of_each_some_are_fetched() {
        let mut patterns = Patterns::default();
        let page =
            |i: u64| url(&format!("http://mirror.example/{}/x", "f".repeat(i as usize % 500)));
        let strange = url("http://mirror.example/new/1");
        let seen = |patterns: &mut Patterns, times: u64, discarded: bool| {
            (0..times).for_each(|_| patterns.saw(&strange, discarded));
            patterns.leaves_out(&strange, MIN_HOST_PAGES)
        };
        (0..MIN_HOST_PAGES).for_each(|i| patterns.saw(&page(i), true));
        assert!(!seen(&mut patterns, 0, true), "nobody has looked at one");
        assert!(!seen(&mut patterns, FEW_PAGES - 1, true));
        assert!(seen(&mut patterns, 1, true));
        assert!(!seen(&mut patterns, 2, false), "the checks found others");
        // This applies to no other host, and needs more than one pattern of this host.
        let mut patterns = Patterns::default();
        (0..100_000).for_each(|_| patterns.saw(&page(7), true));
        assert!(!seen(&mut patterns, FEW_PAGES, true));
        assert!(seen(&mut patterns, MIN_PAGES, true));
    }

    #[test]
    fn how_many_pages_and_which_share_of_them_repeat_is_a_setting() {
        let print = url("http://a.example/print/new");
        let left_out = |pages: u64, share: f64, seen: u64| {
            let mut patterns = Patterns::new(Dust { pages, share });
            for i in 0..seen {
                patterns.saw(&url(&format!("http://a.example/print/{i}")), i % 4 != 0);
            }
            patterns.leaves_out(&print, MIN_HOST_PAGES)
        };
        assert!(left_out(40, 0.7, 40) && !left_out(40, 0.7, 39) && !left_out(40, 0.8, 40));
        assert!(!left_out(u64::MAX, 0.5, 5000), "never");
    }

    #[test]
    fn patterns_are_bounded() {
        let mut patterns = Patterns::default();
        for i in 0..MAX_PATTERNS * 3 {
            patterns.saw(&url(&format!("http://a{i}.example/")), true);
            assert!(patterns.seen.len() <= MAX_PATTERNS);
            // Seen repeatedly, between all others.
            if i % 10 == 0 {
                patterns.saw(&url("http://late.example/print/x"), true);
            }
        }
        let late = url("http://late.example/print/y");
        assert!(patterns.leaves_out(&late, MIN_HOST_PAGES));
    }
}

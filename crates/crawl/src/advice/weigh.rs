//! Which rules lose no page: simulates the crawl by them.

use hapax_url::{Applied, GivenRules};

use super::known::{Known, NONE};
use super::links::Links;

/// A crawl of the known addresses by rules: which are requested, and by which links they are found.
#[derive(Debug)]
pub(super) struct Simulation<'a> {
    known: &'a Known,
    links: &'a Links,
    seeds: Vec<u32>,
    /// Addresses that no link of a known page leads to, such as those of sitemaps.
    unlinked: Vec<u32>,
    rules: GivenRules,
    /// For each address the one that is requested: itself, another one, or [`NONE`].
    to: Vec<u32>,
    /// Number of requests.
    pub(super) requests: u64,
    /// Bytes of the pages that are not requested.
    saved_bytes: u64,
}

/// What a rule would have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    pub(super) pages: u64,
    pub(super) bytes: u64,
}

impl<'a> Simulation<'a> {
    /// Simulates the crawl without rules.
    pub(super) fn new(known: &'a Known, links: &'a Links, seeds: &[url::Url]) -> Self {
        let seeds: Vec<u32> = seeds.iter().filter_map(|seed| known.find(seed.as_str())).collect();
        let to: Vec<u32> = known.all().collect();
        let rules = GivenRules::default();
        let mut own = Self {
            known,
            links,
            seeds,
            unlinked: Vec::new(),
            rules,
            to,
            requests: 0,
            saved_bytes: 0,
        };
        let visited = own.visit(&own.to);
        own.unlinked = known.all().filter(|at| !is(&visited, *at)).collect();
        own.requests = known.len() as u64;
        own
    }

    /// Adds a rule if a crawl by all rules so far has every kept page; otherwise returns the reason.
    pub(super) fn add(&mut self, rule: &str) -> Result<Saved, String> {
        let mut rules = self.rules.clone();
        rules.add(rule)?;
        let to = self.targets(&rules, needle(rule));
        let visited = self.visit(&to);
        let mut lost = self.known.kept().filter(|at| !is(&visited, *at));
        if let Some(first) = lost.next() {
            let count = 1 + lost.count();
            let s = if count == 1 { "" } else { "s" };
            let example = self.known.url(first);
            let mut why = format!("it would lose {count} unique page{s}, such as {example}");
            if let Some(to) = self.unseen_target(&rules, first) {
                why += &format!(": it requests {to} instead, which the crawl has not seen");
            }
            return Err(why);
        }
        let mut saved = Saved::default();
        for at in self.known.all().filter(|at| !is(&visited, *at)) {
            saved.pages += 1;
            saved.bytes += u64::from(self.known.bytes.get(at as usize).copied().unwrap_or(0));
        }
        let requests = self.known.len() as u64 - saved.pages;
        let more = self.requests.saturating_sub(requests);
        if more == 0 {
            return Err("it would save no request beyond the rules above".to_owned());
        }
        let bytes = saved.bytes.saturating_sub(self.saved_bytes);
        (self.rules, self.to, self.requests) = (rules, to, requests);
        self.saved_bytes = saved.bytes;
        Ok(Saved { pages: more, bytes })
    }

    /// Returns the address that is requested for each known one by rules of which the newest contains `needle`. A
    /// target that was never requested may have no page.
    fn targets(&self, rules: &GivenRules, needle: &str) -> Vec<u32> {
        let may_match = |at: u32| {
            let url = self.known.url(at);
            // The name of a parameter may be encoded.
            url.contains(needle) || url.contains('%')
        };
        let applied = |at: u32| match self.known.parsed(at).map(|url| rules.apply(&url)) {
            None | Some(Applied::Unchanged) => at,
            Some(Applied::Skipped { .. }) => NONE,
            Some(Applied::Rewritten { to, .. }) => self.known.find(to.as_str()).unwrap_or(NONE),
        };
        let target = |at: u32| match self.to.get(at as usize).copied().unwrap_or(at) {
            _ if may_match(at) => applied(at),
            NONE => NONE,
            before if before != at && may_match(before) => applied(at),
            before => before,
        };
        self.known.all().map(target).collect()
    }

    /// Returns the address that rules request instead of a known one, if the crawl has not seen it.
    fn unseen_target(&self, rules: &GivenRules, at: u32) -> Option<url::Url> {
        match rules.apply(&self.known.parsed(at)?) {
            Applied::Rewritten { to, .. } if self.known.find(to.as_str()).is_none() => Some(to),
            _ => None,
        }
    }

    /// Returns which addresses a crawl requests.
    fn visit(&self, to: &[u32]) -> Vec<bool> {
        let mut visited = vec![false; self.known.len()];
        // A person named the seeds: rules do not apply to them.
        let mut open = self.seeds.clone();
        let resolved = |at: u32| to.get(at as usize).copied().filter(|to| *to != NONE);
        open.extend(self.unlinked.iter().filter_map(|at| resolved(*at)));
        while let Some(at) = open.pop() {
            match visited.get_mut(at as usize) {
                Some(visited) if !*visited => *visited = true,
                _ => continue,
            }
            let is_redirect = self.known.is_redirect.get(at as usize).copied().unwrap_or(false);
            for link in self.links.of(at) {
                // The page is behind the redirect.
                let next = if is_redirect { Some(link) } else { resolved(link) };
                open.extend(next.filter(|next| !is(&visited, *next)));
            }
        }
        visited
    }
}

/// Returns a text that each address contains that a rule changes.
fn needle(rule: &str) -> &str {
    let mut words = rule.split(' ');
    let (verb, word) = (words.next(), words.next().unwrap_or_default());
    match verb {
        Some("drop-parameter") => word.trim_start_matches(';'),
        Some("skip") => {
            let parts = word.split(['*', '$']);
            parts.max_by_key(|part| part.len()).unwrap_or_default()
        }
        // Of an alias: the host without its scheme and port, which addresses may leave out.
        _ => {
            let host = word.rsplit_once("//").map_or(word, |(_, host)| host);
            host.split([':', '/']).next().unwrap_or_default()
        }
    }
}

fn is(visited: &[bool], at: u32) -> bool {
    visited.get(at as usize).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_a_rule_changes_contain_its_needle() {
        for (rule, url) in [
            ("drop-parameter ;sid a.example/", "http://a.example/x;sid=1"),
            ("skip a.example/print/", "http://a.example/print/7"),
            ("skip a.example:81/*/amp$", "http://a.example:81/7/amp"),
            ("skip */print/", "http://a.example/print/7"),
            ("skip a.example/*?sort=b$", "http://a.example/7?sort=b"),
            ("skip a.example/shop/*&sort=b&", "http://a.example/shop/7?x=1&sort=b&y=2"),
            ("host-alias http://a.example https://a.example", "http://a.example/7"),
            ("host-alias https://a.example:443 b.example", "https://a.example/7"),
        ] {
            let rules = GivenRules::parse(rule).unwrap();
            let parsed = url::Url::parse(url).unwrap();
            assert_ne!(rules.apply(&parsed), Applied::Unchanged, "{rule}");
            assert!(url.contains(needle(rule)), "{rule}");
        }
    }

    const ADDRESSES: [&str; 20] = [
        "http://a.example/",
        "http://a.example/x",
        "http://a.example/x?s=1",
        "http://a.example/x?s=2",
        "http://a.example/y",
        "http://a.example/y?s=1",
        "http://a.example/y?t=1",
        "http://a.example/y?s=1&t=1",
        "http://a.example/print/x",
        "http://a.example/print/y",
        "http://a.example/x/amp",
        "https://a.example/x",
        "https://a.example/y",
        "http://m.a.example/x",
        "http://m.a.example/y?s=1",
        "http://a.example/z",
        "http://a.example/z?t=2",
        "http://b.example/z",
        "http://b.example/x",
        "http://a.example/print/z",
    ];
    const RULES: [&str; 13] = [
        "skip a.example/*?s=1$",
        "skip a.example/x*?s=2$",
        "skip a.example/*?s=1&",
        "drop-parameter s a.example/",
        "drop-parameter t",
        "drop-parameter s a.example/x",
        "skip a.example/print/",
        "skip */*/amp$",
        "host-alias http://a.example https://a.example",
        "host-alias http://m.a.example http://a.example",
        "host-alias http://b.example http://a.example",
        "skip b.example/",
        "skip a.example/z",
    ];

    /// The reference: a crawl by these rules, as the engine does it, one address after the other.
    fn crawl(
        pages: &[(usize, Vec<usize>, bool)],
        seeds: &[usize],
        rules: &GivenRules,
    ) -> std::collections::BTreeSet<usize> {
        let of = |url: &str| pages.iter().position(|(at, ..)| ADDRESSES[*at] == url);
        let mut seen = std::collections::BTreeSet::new();
        let mut queue: Vec<usize> = seeds.to_vec();
        while let Some(page) = queue.pop() {
            if !seen.insert(page) {
                continue;
            }
            let (_, links, is_redirect) = &pages[page];
            for link in links.iter().map(|link| link % pages.len()) {
                let url = url::Url::parse(ADDRESSES[pages[link].0]).unwrap();
                queue.extend(match rules.apply(&url) {
                    _ if *is_redirect => Some(link),
                    Applied::Unchanged => Some(link),
                    Applied::Skipped { .. } => None,
                    Applied::Rewritten { to, .. } => of(to.as_str()),
                });
            }
        }
        seen
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]
        #[test]
        fn accepted_rules_never_lose_a_unique_page(
            order in proptest::sample::subsequence((0..ADDRESSES.len()).collect::<Vec<_>>(), 4..ADDRESSES.len()),
            links in proptest::collection::vec(proptest::collection::vec(0..20usize, 0..5), 20),
            kept in 1..8usize,
            redirects in proptest::collection::vec(proptest::bool::weighted(0.15), 20),
            rules in proptest::sample::subsequence(RULES.to_vec(), 1..RULES.len()),
        ) {
            let kept = kept.min(order.len());
            let is_redirect = |at: usize| at >= kept && redirects[at];
            let pages: Vec<(usize, Vec<usize>, bool)> = order
                .iter()
                .enumerate()
                .map(|(at, address)| (*address, links[at].clone(), is_redirect(at)))
                .collect();
            let known = Known::of_test(pages.iter().map(|(at, _, is)| (ADDRESSES[*at], *is)), kept as u32);
            let count = order.len();
            let pairs = pages.iter().enumerate().flat_map(|(from, (_, links, _))| {
                links.iter().map(move |to| (from as u32, (to % count) as u32))
            });
            let links = Links::of_test(pairs.collect());
            let seeds = [url::Url::parse(ADDRESSES[order[0]]).unwrap()];
            let mut simulation = Simulation::new(&known, &links, &seeds);
            let before = crawl(&pages, &[0], &GivenRules::default());
            let mut accepted = GivenRules::default();
            for rule in rules {
                if simulation.add(rule).is_ok() {
                    accepted.add(rule).unwrap();
                }
            }
            // Pages that no link leads to were found otherwise, and are found so again.
            let unlinked = (0..pages.len()).filter(|page| !before.contains(page)).filter_map(|page| {
                let url = url::Url::parse(ADDRESSES[pages[page].0]).unwrap();
                match accepted.apply(&url) {
                    Applied::Unchanged => Some(page),
                    Applied::Skipped { .. } => None,
                    Applied::Rewritten { to, .. } => {
                        pages.iter().position(|(at, ..)| ADDRESSES[*at] == to.as_str())
                    }
                }
            });
            let starts: Vec<usize> = std::iter::once(0).chain(unlinked).collect();
            let after = crawl(&pages, &starts, &accepted);
            for page in 0..kept {
                proptest::prop_assert!(after.contains(&page), "{} by {:?}", ADDRESSES[order[page]], accepted.lines());
            }
            proptest::prop_assert!(after.len() as u64 <= simulation.requests);
        }
    }
}

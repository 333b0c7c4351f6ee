//! Where a rule holds. A part that does not change the pages of one folder may name the pages of another one:
//! `/post/7?id=81f3c` and `/product?id=7`. So the first excluded URLs of each new place are requested as samples. If one
//! of them is a new page, the rule does not hold at this place.

use std::collections::BTreeMap;

use hapax_page::HASH;
use serde::{Deserialize, Serialize};

use super::facets::covers;
use super::learn::{Rule, SiteRules};
use super::parts::{Address, Part, is_random, words_of};
use crate::patterns::without_digits;

/// Maximum number of places of a rule. At further ones only the usual samples are requested.
const MAX_PLACES: usize = 64;
/// Number of samples that are requested at a new place.
const SAMPLES: u8 = 2;
/// The same for a rule about hosts: each host also has a robots.txt and a sitemap.
const HOST_SAMPLES: u8 = 1;
/// Maximum number of places where a rule does not hold. Beyond it the rule is removed.
const MAX_EXCEPTIONS: usize = 16;
/// Maximum number of digits behind the name of a host or folder that is not random, such as `shop12`.
const COUNTER: usize = 3;
/// Maximum number of letters before the number of such a host.
const SHORT_NAME: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AtPlace {
    /// Duplicates of this place led to the rule.
    Learnt,
    /// Number of samples requested.
    Sampled(u8),
    /// A page shows that the rule does not hold here.
    Exempt,
}

/// The places of a rule, by [`place`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Places(BTreeMap<u64, AtPlace>);

impl Places {
    /// Returns whether the rule applies to this part of a URL.
    pub(super) fn hold(&self, address: &Address, part: &Part) -> bool {
        let is_exempt = |place| self.0.get(&place).is_some_and(|at| matches!(at, AtPlace::Exempt));
        self.0.is_empty() || !place(address, part).is_some_and(is_exempt)
    }

    /// Records that duplicates of this place led to the rule, also after it did not hold here.
    pub(super) fn learn(&mut self, address: &Address, part: &Part) {
        self.set(address, part, AtPlace::Learnt);
    }

    fn set(&mut self, address: &Address, part: &Part, at: AtPlace) -> bool {
        let Some(place) = place(address, part) else { return false };
        let fits = self.0.len() < MAX_PLACES || self.0.contains_key(&place);
        if fits {
            self.0.insert(place, at);
        }
        fits
    }

    /// Returns whether an excluded URL is one of the first of a place, so that it is requested.
    pub(super) fn needs_sample(&self, address: &Address, part: &Part) -> bool {
        place(address, part).is_some_and(|place| match self.0.get(&place) {
            Some(AtPlace::Sampled(samples)) => {
                *samples < if *part == Part::Host { HOST_SAMPLES } else { SAMPLES }
            }
            Some(_) => false,
            None => self.0.len() < MAX_PLACES,
        })
    }

    /// Counts a sample.
    pub(super) fn sampled(&mut self, address: &Address, part: &Part) {
        let Some(place) = place(address, part) else { return };
        match self.0.get_mut(&place) {
            Some(AtPlace::Sampled(samples)) => *samples = samples.saturating_add(1),
            Some(_) => {}
            None => _ = self.set(address, part, AtPlace::Sampled(1)),
        }
    }

    /// Returns whether duplicates of this place led to the rule.
    fn is_learnt(&self, address: &Address, part: &Part) -> bool {
        place(address, part).is_none_or(|place| self.0.get(&place) == Some(&AtPlace::Learnt))
    }

    /// Records that the rule does not hold at this place. Returns `false` if the rule must be removed instead.
    fn except(&mut self, address: &Address, part: &Part) -> bool {
        let exempt = self.0.values().filter(|at| matches!(at, AtPlace::Exempt)).count();
        exempt < MAX_EXCEPTIONS && self.set(address, part, AtPlace::Exempt)
    }
}

/// Returns whether a rule of the site excludes this part of a URL.
pub(super) fn drops(rules: &SiteRules, address: &Address, part: &Part) -> bool {
    let holds =
        |rule: &Rule| rule.places.hold(address, part) && covers(&rule.evidence, address, part);
    rules.get(part).is_some_and(holds)
}

/// Takes a sample of these rules back that cannot be compared: there is no page at the URL that is requested instead.
pub(super) fn sampled_in_vain(rules: &mut SiteRules, address: &Address, parts: &[Part]) {
    for part in parts {
        let Some(rule) = rules.get_mut(part) else { continue };
        let at = place(address, part).and_then(|place| rule.places.0.get_mut(&place));
        if let Some(AtPlace::Sampled(samples)) = at {
            *samples = samples.saturating_sub(1);
        }
    }
}

/// Withdraws rules about these parts, which a page contradicts: at the page's place, or everywhere if duplicates of this
/// place led to them. Returns the parts that the page is evidence against.
pub(super) fn withdraw(rules: &mut SiteRules, address: &Address, parts: Vec<Part>) -> Vec<Part> {
    let is_learnt =
        |part: &Part| rules.get(part).is_none_or(|rule| rule.places.is_learnt(address, part));
    // Parts that were not learnt here are more likely to be wrong than the others.
    let (learnt, elsewhere): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_learnt);
    let wrong = if elsewhere.is_empty() { learnt } else { elsewhere };
    for part in &wrong {
        let Some(rule) = rules.get_mut(part) else { continue };
        if rule.places.is_learnt(address, part) || !rule.places.except(address, part) {
            rules.remove(part);
        }
        let change = if rules.contains_key(part) { "limited" } else { "removed" };
        tracing::info!(
            "rule {change}, {part} changes the page {}/{}",
            address.host,
            address.path()
        );
    }
    wrong
}

/// Returns the pattern of a segment: equal for pages of one kind.
fn pattern(segment: &str) -> String {
    if is_random(segment) {
        "*".to_owned()
    } else if words_of(segment).len() > 2 || segment.matches('-').count() > 2 {
        "-".to_owned()
    } else {
        without_digits(&segment.to_lowercase())
    }
}

/// Returns what a value looks like. Most random values of a site look the same, and differ from names.
fn kind(value: &str) -> String {
    let letters = value.trim_end_matches(|c: char| c.is_ascii_digit());
    if value.bytes().all(|c| c.is_ascii_digit()) {
        "digits"
    } else if value.bytes().all(|c| c.is_ascii_lowercase() || c == b'-') {
        "words"
    } else if !value.bytes().any(|c| c.is_ascii_digit()) {
        "letters"
    } else if value.len() - letters.len() <= COUNTER
        && letters.bytes().all(|c| c.is_ascii_alphabetic())
    {
        // Its length and no letters, so that random values have few kinds.
        return format!("{}#", letters.len());
    } else {
        "mixed"
    }
    .to_owned()
}

/// Returns whether this is probably no random name of a host: letters, or a few of them with a number.
fn is_name(host: &str) -> bool {
    let letters = host.trim_end_matches(|c: char| c.is_ascii_digit());
    letters.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
        && (letters.len() == host.len()
            || letters.len() <= SHORT_NAME && host.len() - letters.len() <= COUNTER)
}

/// Returns the hash of the place of a part: the pattern of the rest of the URL, and what the value looks like if it is
/// in the host or path. `None` for parts that have one place only.
fn place(address: &Address, part: &Part) -> Option<u64> {
    let host = address.host.strip_suffix(&address.site).unwrap_or(&address.host);
    let host = host.trim_end_matches('.');
    let patterns = || address.segments.iter().map(|segment| pattern(segment));
    let value = |index: usize| kind(address.segments.get(index).map_or("", String::as_str));
    let mut names: Vec<String> = match part {
        Part::Whole { .. } | Part::Facets { .. } => return None,
        // Each random host costs three requests: its robots.txt, its sitemap and the page.
        Part::Host if is_name(host) => vec![kind(host)],
        Part::Host => return None,
        Part::Folder => vec![value(0), pattern(address.last())],
        Part::Segment { index, .. } | Part::Segments { index, .. } => {
            let length = if let Part::Segments { length, .. } = part { *length } else { 1 };
            let before = patterns().take(*index);
            let rest = patterns().skip(index.saturating_add(length));
            before.chain([value(*index)]).chain(rest).collect()
        }
        Part::Word { index, .. } => {
            let before = patterns().take(*index);
            let rest = patterns().skip(index.saturating_add(1));
            before.chain([kind(&address.value(part))]).chain(rest).collect()
        }
        Part::Tail { index, .. } => patterns().take(*index).chain([value(*index)]).collect(),
        Part::PathInfo => patterns().take(address.script().unwrap_or(usize::MAX)).collect(),
        Part::Case | Part::Slashes | Part::Parameter(_) | Part::Order => Vec::new(),
    };
    if matches!(part, Part::Host | Part::Case | Part::Slashes | Part::Parameter(_) | Part::Order) {
        names.extend(patterns().filter(|pattern| !pattern.is_empty()));
    }
    if *part != Part::Host {
        names.push(pattern(host));
    }
    Some(HASH.hash(names.join("\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::learn::Evidence;
    use super::*;

    fn address(url: &str) -> Address {
        Address::of(&Url::parse(url).unwrap()).unwrap()
    }

    fn id() -> Part {
        Part::Parameter("id".to_owned())
    }

    /// Rules about parts that were learnt at a URL.
    fn learnt(url: &str, parts: &[Part]) -> SiteRules {
        let rule = |part: &Part| {
            let mut rule = Rule::new(Evidence::default());
            rule.places.learn(&address(url), part);
            (part.clone(), rule)
        };
        parts.iter().map(rule).collect()
    }

    #[test]
    fn random_values_are_of_one_place_and_names_of_another() {
        let of = |url: &str, part: &Part| place(&address(url), part);
        let same = |one: &str, two: &str, part: &Part| of(one, part) == of(two, part);
        let segment = address("http://a.example/81f3c00a/p7").segment(0);
        let host = "http://u81f3c00a.a.example/p7";
        for (one, two, part, is_same) in [
            ("http://a.example/post/7?id=8", "http://a.example/post/19?id=3", id(), true),
            ("http://a.example/post/7?id=8", "http://a.example/product?id=8", id(), false),
            (
                "http://a.example/81f3c00a/p7",
                "http://a.example/3c0a81f0/p12",
                segment.clone(),
                true,
            ),
            ("http://a.example/81f3c00a/p7", "http://a.example/guide/p7", segment.clone(), false),
            ("http://a.example/guide/p1", "http://a.example/reference/p7", segment, true),
            (host, "http://u3c0a81f0.a.example/p8", Part::Host, true),
            (host, "http://shop7.a.example/p7", Part::Host, false),
        ] {
            assert_eq!(same(one, two, &part), is_same, "{one} {two}");
        }
        assert_eq!(of(host, &Part::Whole { host: "a.example".to_owned() }), None);
    }

    #[test]
    fn the_first_urls_of_a_new_place_are_samples() {
        let mut rules = learnt("http://a.example/post/7?id=81f", &[id()]);
        let needs =
            |rules: &SiteRules, url: &str| rules[&id()].places.needs_sample(&address(url), &id());
        let sampled = |rules: &mut SiteRules, url: &str| {
            rules.get_mut(&id()).unwrap().places.sampled(&address(url), &id());
        };
        assert!(!needs(&rules, "http://a.example/post/9?id=3c0"), "the rule was learnt here");
        for number in 0..SAMPLES {
            let url = format!("http://a.example/product?id={number}");
            assert!(needs(&rules, &url));
            sampled(&mut rules, &url);
        }
        let next = "http://a.example/product?id=9";
        assert!(!needs(&rules, next));
        sampled_in_vain(&mut rules, &address(next), &[id()]);
        assert!(needs(&rules, next));
        sampled(&mut rules, next);
        for number in 0..200 {
            let name = char::from(b'a' + (number % 20) as u8).to_string();
            let url = format!("http://a.example/{}?id=1", name.repeat(1 + number / 20));
            sampled(&mut rules, &url);
        }
        assert_eq!(rules[&id()].places.0.len(), MAX_PLACES);
        assert!(!needs(&rules, "http://a.example/further?id=1"));
    }

    #[test]
    fn a_page_exempts_its_place_and_where_the_rule_was_learnt_it_removes_the_rule() {
        let sid = Part::Parameter("sid".to_owned());
        let post = address("http://a.example/post/7?id=81f&sid=1");
        let product = address("http://a.example/product?id=7&sid=2");
        let mut rules = learnt("http://a.example/post/3?id=3c0&sid=3", &[id(), sid.clone()]);
        rules.get_mut(&sid).unwrap().places.learn(&product, &sid);
        // The parameter that was learnt elsewhere is the wrong one.
        assert_eq!(withdraw(&mut rules, &product, vec![id(), sid.clone()]), [id()]);
        assert!(drops(&rules, &post, &id()) && !drops(&rules, &product, &id()));
        assert!(drops(&rules, &product, &sid));
        let note = serde_json::to_vec(&rules.iter().collect::<Vec<_>>()).unwrap();
        let read: Vec<(Part, Rule)> = serde_json::from_slice(&note).unwrap();
        assert_eq!(read.into_iter().collect::<SiteRules>(), rules);
        // Enough duplicates of the place let the rule hold there again.
        rules.get_mut(&id()).unwrap().places.learn(&product, &id());
        assert!(drops(&rules, &product, &id()));
        assert_eq!(withdraw(&mut rules, &post, vec![id()]), [id()]);
        assert!(!rules.contains_key(&id()));
    }

    #[test]
    fn a_rule_with_many_exceptions_is_removed() {
        let mut rules = learnt("http://a.example/post/7?id=81f", &[id()]);
        for number in 0..=MAX_EXCEPTIONS {
            assert!(rules.contains_key(&id()), "{number}");
            let name = char::from(b'a' + number as u8);
            let product = address(&format!("http://a.example/{name}?id=1"));
            withdraw(&mut rules, &product, vec![id()]);
        }
        assert!(rules.is_empty());
    }
}

//! Rules about the parts of a site's URLs, and when their samples are due.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::facets::covers;
use super::parts::{Address, Part};
use super::places::Places;
use crate::patterns::FIRST_SAMPLE;

/// A rule: this part of the site's URLs does not change the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) evidence: Evidence,
    /// Number of excluded URLs, samples included.
    left_out: u64,
    /// Value of `left_out` at which the next sample is due.
    due: u64,
    #[serde(default)]
    pub(super) places: Places,
}

impl Rule {
    pub(super) fn new(evidence: Evidence) -> Self {
        Self { evidence, left_out: 0, due: FIRST_SAMPLE, places: Places::default() }
    }

    /// Counts an excluded URL. Returns whether a sample is due.
    pub(super) fn leave_out(&mut self, address: &Address, part: &Part) -> bool {
        self.left_out += 1;
        self.left_out >= self.due || self.places.needs_sample(address, part)
    }

    /// Records a sample: the next one is due at twice the number of excluded URLs, of whole URLs at one and a half times. A
    /// sample of several rules counts for those that are at least halfway to the next one.
    pub(super) fn sampled(&mut self, address: &Address, part: &Part) {
        self.places.sampled(address, part);
        if 2 * self.left_out >= self.due {
            let last = self.left_out.max(FIRST_SAMPLE);
            self.due = last + if matches!(part, Part::Whole { .. }) { last / 2 } else { last };
        }
    }
}

pub(super) type SiteRules = BTreeMap<Part, Rule>;

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
        rule.places.unsampled(address, part);
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

/// Returns whether there is no rule about a part, or one about fewer filters.
pub(super) fn is_news(rules: Option<&SiteRules>, (part, evidence): &(Part, Evidence)) -> bool {
    let rule = rules.and_then(|rules| rules.get(part));
    // A rule without filters is about all.
    rule.is_none_or(|rule| match rule.evidence.filters.is_empty() {
        true => false,
        false if evidence.filters.is_empty() => true,
        false => !evidence.filters.is_subset(&rule.evidence.filters),
    })
}

/// Removes the parameters and empty segments that rules exclude.
pub(super) fn simplify(address: &mut Address, rules: &SiteRules) {
    let own = address.clone();
    address.simplify(|part| drops(rules, &own, part));
}

/// Says why URLs are excluded.
pub(super) fn reason(part: &Part, evidence: &Evidence) -> String {
    let pages = evidence.alone + evidence.together;
    match part {
        Part::Whole { host } => {
            format!(
                "the last {pages} pages of {host} were duplicates of pages of the site, with links to new URLs"
            )
        }
        Part::Facets { .. } => format!(
            "the last {pages} pages with {part} had nothing that other pages of the site lack"
        ),
        part if evidence.versions > 0 => format!(
            "{part} does not change the page ({} kept pages that differ from another one in it have its name and most \
             of its words, and few of them have several links)",
            evidence.versions
        ),
        part => format!(
            "{part} does not change the page ({pages} duplicates differ from the kept page in it)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::places::{MAX_EXCEPTIONS, MAX_PLACES, SAMPLES, place};
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
            ("http://a.example/guide/p1", "http://a.example/reference/p7", segment.clone(), true),
            // One of 2,500 hexadecimal numbers has letters alone.
            ("http://a.example/guide/p1", "http://a.example/dcafeeae/p7", segment.clone(), false),
            ("http://a.example/guide/p1", "http://a.example/kqwrtzbo/p7", segment, false),
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

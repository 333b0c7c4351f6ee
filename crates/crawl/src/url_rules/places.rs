//! Where a rule holds. A part that does not change the pages of one folder may name the pages of another one:
//! `/post/7?id=81f3c` and `/product?id=7`. So the first excluded URLs of each new place are requested as samples. If one
//! of them is a new page, the rule does not hold at this place.

use std::collections::BTreeMap;

use hapax_page::HASH;
use serde::{Deserialize, Serialize};

use super::parts::{Address, Part, is_random, words_of};
use crate::patterns::without_digits;

/// Maximum number of places of a rule. At further ones only the usual samples are requested.
pub(super) const MAX_PLACES: usize = 64;
/// Number of samples that are requested at a new place.
pub(super) const SAMPLES: u8 = 2;
/// The same for a rule about hosts: each host also has a robots.txt and a sitemap.
const HOST_SAMPLES: u8 = 1;
/// Maximum number of places where a rule does not hold. Beyond it the rule is removed.
pub(super) const MAX_EXCEPTIONS: usize = 16;
/// Maximum number of digits behind the name of a host or folder that is not random, such as `shop12`.
const COUNTER: usize = 3;
/// Maximum number of letters before the number of such a host.
const SHORT_NAME: usize = 5;

/// Minimum number of letters of a random value, and of consonants in a row.
const LEAST_RANDOM: usize = 6;
const CONSONANTS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AtPlace {
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
pub(super) struct Places(pub(super) BTreeMap<u64, AtPlace>);

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

    /// Takes a sample back.
    pub(super) fn unsampled(&mut self, address: &Address, part: &Part) {
        let at = place(address, part).and_then(|place| self.0.get_mut(&place));
        if let Some(AtPlace::Sampled(samples)) = at {
            *samples = samples.saturating_sub(1);
        }
    }

    /// Returns whether duplicates of this place led to the rule.
    pub(super) fn is_learnt(&self, address: &Address, part: &Part) -> bool {
        place(address, part).is_none_or(|place| self.0.get(&place) == Some(&AtPlace::Learnt))
    }

    /// Records that the rule does not hold at this place. Returns `false` if the rule must be removed instead.
    pub(super) fn except(&mut self, address: &Address, part: &Part) -> bool {
        let exempt = self.0.values().filter(|at| matches!(at, AtPlace::Exempt)).count();
        exempt < MAX_EXCEPTIONS && self.set(address, part, AtPlace::Exempt)
    }
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
        if is_no_word(value) { "no words" } else { "words" }
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

/// Returns whether letters are probably random: hexadecimal digits that happen to be letters, or a row of consonants. One of
/// some thousand random values looks so, and must not use up the samples of words.
fn is_no_word(value: &str) -> bool {
    let is_vowel = |c: u8| matches!(c, b'a' | b'e' | b'i' | b'o' | b'u' | b'y' | b'-');
    let mut rows = value.as_bytes().split(|c| is_vowel(*c));
    value.len() >= LEAST_RANDOM
        && (value.bytes().all(|c| matches!(c, b'a'..=b'f'))
            || rows.any(|consonants| consonants.len() >= CONSONANTS))
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
pub(super) fn place(address: &Address, part: &Part) -> Option<u64> {
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

//! Decides whether two documents are duplicates: levels, thresholds, rules and evidence.

use std::cmp::Ordering;

use crate::error::{Error, Result};
use crate::record::DocId;
use crate::side::Side;
use crate::{BANDS, Fingerprint};

/// Which level of the decision found and confirmed a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Level {
    /// The normalised texts are equal.
    Text,
    /// A permuted Hamming table proposed the document.
    Hamming,
    /// A band of the sketch proposed the document, or an equal name.
    Sketch,
}

impl Level {
    /// Returns the level's name in logs: `text`, `hamming`, `sketch`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Hamming => "hamming",
            Self::Sketch => "sketch",
        }
    }
}

/// The stored document that another one duplicates, with the evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Neighbour {
    /// The number of the stored document.
    pub id: DocId,
    /// The fingerprint of the stored document.
    pub fingerprint: Fingerprint,
    /// Hamming distance of the two fingerprints.
    pub distance: u32,
    /// Estimated Jaccard similarity of the two texts; 1 if they are equal. `None` if a sketch is missing and the
    /// texts are not equal.
    pub similarity: Option<f64>,
    /// The similarity that the policy required.
    pub similarity_threshold: Option<f64>,
    /// The level that found the document.
    pub level: Level,
    /// The index of the Hamming table or of the kind of list ([`candidate_lists`](crate::candidate_lists)) that found
    /// the document; `None` for equal text.
    pub table: Option<usize>,
}

impl Neighbour {
    /// Returns whether nothing but an equal name proposed the document.
    pub fn is_by_name(&self) -> bool {
        self.level == Level::Sketch && self.table >= Some(BANDS)
    }

    /// Orders neighbours best first: equal text, then highest similarity, then smallest distance.
    pub fn best_first(&self, other: &Self) -> Ordering {
        (other.level == Level::Text)
            .cmp(&(self.level == Level::Text))
            .then(other.similarity.unwrap_or(0.0).total_cmp(&self.similarity.unwrap_or(0.0)))
            .then(self.distance.cmp(&other.distance))
    }
}

/// The answer to an offered document.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Verdict {
    /// No stored document is a duplicate. The document is stored under this number.
    New(DocId),
    /// The key was offered before, as new or as duplicate.
    Known(DocId),
    /// The document duplicates a stored document.
    Duplicate {
        /// The number under which the duplicate is recorded.
        id: DocId,
        /// The stored document.
        of: Neighbour,
    },
}

/// Thresholds of the decision.
///
/// The defaults were chosen on labelled pairs of web pages. A store rejects similarities outside 0 to 1. Thresholds
/// for names may be above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Policy {
    /// Largest Hamming distance that proposes a candidate, 0 to 7. Default 3.
    pub distance: u32,
    /// Largest Hamming distance that a similarity below [`similarity_sure`](Self::similarity_sure) can confirm. If
    /// more bits differ, the words differ, and only code or markup is equal. Default 20.
    pub max_distance: u32,
    /// From this similarity on, the number of differing bits is ignored: the texts differ only in a few repeated
    /// words, such as those of comments. Default 0.75.
    pub similarity_sure: f64,
    /// Smallest estimated similarity that confirms a candidate from another site. Default 0.5.
    pub similarity: f64,
    /// Smallest similarity for two documents of one site, which share a template. Default 0.55.
    pub similarity_same_site: f64,
    /// Documents with fewer tokens are short: one changed word flips several bits of the fingerprint. Default 50.
    pub short_tokens: u32,
    /// Smallest similarity for short documents. Default 0.65.
    pub similarity_short: f64,
    /// Documents with fewer tokens are thin: most of the compared text is the template. If either has a name, they
    /// are different unless they share site and names. Default 15.
    pub little_tokens: u32,
    /// Smallest similarity for thin documents. Default 0.7.
    pub similarity_little: f64,
    /// Two documents of one site with fewer tokens are mostly template: they are different if their numbers conflict.
    /// Default 200.
    pub template_tokens: u32,
    /// Smallest similarity below [`template_tokens`](Self::template_tokens), for one site without a shared name and
    /// for two sites with different names. Default 0.85.
    pub similarity_template: f64,
    /// The limit between short and long documents of one site that share no name, or whose first names differ only in
    /// numbers ([`name_hash`]). Shorter ones use [`similarity_name`](Self::similarity_name), longer ones
    /// [`similarity_name_long`](Self::similarity_name_long). Default 400.
    pub name_tokens: u32,
    /// Smallest similarity for the shorter ones; above 1, only equal text counts. Default 2.
    pub similarity_name: f64,
    /// Smallest similarity for the longer ones. 64 samples can estimate a true similarity of .89 as 1. Default 2.
    pub similarity_name_long: f64,
    /// Smallest estimated similarity at which a document proposed by a band or name is compared by its text, if the
    /// caller has texts ([`Confirm`](crate::Confirm)). Default .2.
    pub similarity_compared: f64,
    /// Use the papers' decision: equal text or Hamming distance only. Default off.
    pub hamming_only: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            distance: 3,
            max_distance: 20,
            similarity_sure: 0.75,
            similarity: 0.5,
            similarity_same_site: 0.55,
            short_tokens: 50,
            similarity_short: 0.65,
            little_tokens: 15,
            similarity_little: 0.7,
            template_tokens: 200,
            similarity_template: 0.85,
            name_tokens: 400,
            similarity_name: 2.0,
            similarity_name_long: ONLY_EQUAL,
            similarity_compared: 0.2,
            hamming_only: false,
        }
    }
}

/// Above every possible similarity.
const ONLY_EQUAL: f64 = 2.0;

/// A reason to require a similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The documents are of different sites: [`Policy::similarity`].
    OtherSite,
    /// They are of the same site: [`Policy::similarity_same_site`].
    SameSite,
    /// One is short: [`Policy::similarity_short`].
    Short,
    /// One is thin: [`Policy::similarity_little`]. If sites or names differ, only equal text counts.
    Little,
    /// They are of one site, below [`Policy::template_tokens`], and share no name: [`Policy::similarity_template`].
    Template,
    /// They are of one site, below [`Policy::template_tokens`], and their numbers conflict: only equal text counts.
    Numbers,
    /// They are of one site and have different names: [`Policy::similarity_name`].
    Name,
    /// They are of two sites, below [`Policy::template_tokens`], and have different names, like two pages of a
    /// template of which one is on a mirror: [`Policy::similarity_template`].
    OtherPage,
    /// They are of one site, and their first names differ only in numbers ([`name_hash`]):
    /// [`Policy::similarity_name`].
    NumberedName,
}

impl Rule {
    /// Returns a description of the rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OtherSite => "different sites",
            Self::SameSite => "the same site",
            Self::Short => "a short text",
            Self::Little => "little text",
            Self::Template => "fairly short, one site, no name in common",
            Self::Numbers => "fairly short, one site, other numbers",
            Self::Name => "one site, other names",
            Self::OtherPage => "fairly short, two sites, other names",
            Self::NumberedName => "one site, another number in the name",
        }
    }
}

impl Policy {
    pub(crate) fn check(&self) -> Result<()> {
        let all = [
            ("similarity_sure", self.similarity_sure, 1.0),
            ("similarity", self.similarity, 1.0),
            ("similarity_same_site", self.similarity_same_site, 1.0),
            ("similarity_short", self.similarity_short, 1.0),
            ("similarity_little", self.similarity_little, 1.0),
            ("similarity_template", self.similarity_template, 1.0),
            ("similarity_compared", self.similarity_compared, 1.0),
            ("similarity_name", self.similarity_name, ONLY_EQUAL),
            ("similarity_name_long", self.similarity_name_long, ONLY_EQUAL),
        ];
        let wrong = all.into_iter().find(|(_, value, most)| !(0.0..=*most).contains(value));
        wrong.map_or(Ok(()), |(name, value, _)| Err(Error::Threshold { name, value }))
    }

    /// Returns every rule that applies to two documents, with the similarity it requires. The strictest rule decides;
    /// above 1, only equal text counts.
    pub fn rules(&self, a: Side<'_>, b: Side<'_>) -> Vec<(Rule, f64)> {
        let tokens = a.tokens.min(b.tokens);
        let mut rules = Vec::with_capacity(5);
        if a.site == b.site {
            rules.push((Rule::SameSite, self.similarity_same_site));
            if tokens < self.template_tokens {
                if a.numbers.conflict(&b.numbers) {
                    rules.push((Rule::Numbers, ONLY_EQUAL));
                }
                if !shared_name(a.names, b.names) {
                    rules.push((Rule::Template, self.similarity_template));
                }
            }
            let short = tokens < self.name_tokens;
            let name = if short { self.similarity_name } else { self.similarity_name_long };
            if named_differently(a.names, b.names) {
                rules.push((Rule::Name, name));
            } else if numbered_differently(a.names[0], b.names[0]) {
                rules.push((Rule::NumberedName, name));
            }
        } else {
            rules.push((Rule::OtherSite, self.similarity));
            if tokens < self.template_tokens && named_differently(a.names, b.names) {
                rules.push((Rule::OtherPage, self.similarity_template));
            }
        }
        if tokens < self.short_tokens {
            rules.push((Rule::Short, self.similarity_short));
        }
        let named = is_named(a.names) || is_named(b.names);
        if tokens < self.little_tokens && named {
            let same = a.site == b.site && a.names == b.names;
            rules.push((Rule::Little, if same { self.similarity_little } else { ONLY_EQUAL }));
        }
        rules
    }

    /// Returns the similarity that two documents must reach.
    pub fn threshold(&self, a: Side<'_>, b: Side<'_>) -> f64 {
        self.rules(a, b).into_iter().map(|(_, similarity)| similarity).fold(0.0, f64::max)
    }

    /// Returns whether two documents of equal text have different names and so little text that it may be shared by
    /// all pages of a kind: for example, what each shop of a chain says about itself.
    fn names_tell_apart(&self, a: Side<'_>, b: Side<'_>) -> bool {
        let most = if a.site == b.site { self.template_tokens } else { self.short_tokens };
        a.tokens.min(b.tokens) < most && Self::names_differ(a, b)
    }

    /// Returns whether two documents have different names, or first names that differ only in numbers.
    pub(crate) fn names_differ(a: Side<'_>, b: Side<'_>) -> bool {
        named_differently(a.names, b.names) || numbered_differently(a.names[0], b.names[0])
    }

    /// Returns whether the words must differ too: distance above `max_distance`, similarity below `similarity_sure`.
    pub fn words_differ(&self, similarity: f64, distance: u32) -> bool {
        distance > self.max_distance && similarity < self.similarity_sure
    }

    /// Returns similarity and threshold if a candidate at this Hamming distance is confirmed.
    ///
    /// If a sketch is missing, the distance alone decides; short documents then need equal text.
    pub fn confirm(
        &self,
        level: Level,
        distance: u32,
        a: Side<'_>,
        b: Side<'_>,
    ) -> Option<(Option<f64>, Option<f64>)> {
        let similarity = similarity_of(a, b);
        if level == Level::Text {
            // The papers' policy looks at text and distance only.
            let numbers = a.site == b.site && a.numbers.conflict(&b.numbers);
            return (self.hamming_only || !(numbers || self.names_tell_apart(a, b)))
                .then_some((similarity.or(Some(1.0)), None));
        }
        if self.hamming_only {
            return (level == Level::Hamming).then_some((similarity, None));
        }
        let threshold = self.threshold(a, b);
        match similarity {
            Some(value) if value >= threshold && !self.words_differ(value, distance) => {
                Some((similarity, Some(threshold)))
            }
            Some(_) => None,
            None => {
                let long = a.tokens.min(b.tokens) >= self.short_tokens;
                (level == Level::Hamming && long).then_some((None, None))
            }
        }
    }

    /// Returns the evidence that a document duplicates the stored document `id`, and whether it is
    /// [confirmed](Self::confirm). `found` is the level and the table that proposed it. In both arrays the stored
    /// document is the second.
    pub fn weigh(
        &self,
        id: DocId,
        found: (Level, Option<usize>),
        fingerprints: [Fingerprint; 2],
        sides: [Side<'_>; 2],
    ) -> (Neighbour, bool) {
        let (level, table) = found;
        let [offered, fingerprint] = fingerprints;
        let [one, other] = sides;
        let distance = offered.distance(fingerprint);
        let confirmed = self.confirm(level, distance, one, other);
        let (similarity, similarity_threshold) =
            confirmed.unwrap_or_else(|| (similarity_of(one, other), None));
        let neighbour =
            Neighbour { id, fingerprint, distance, similarity, similarity_threshold, level, table };
        (neighbour, confirmed.is_some())
    }

    /// Returns the neighbour of [`weigh`](Self::weigh), if it is confirmed.
    pub fn neighbour(
        &self,
        id: DocId,
        found: (Level, Option<usize>),
        fingerprints: [Fingerprint; 2],
        sides: [Side<'_>; 2],
    ) -> Option<Neighbour> {
        let (neighbour, confirmed) = self.weigh(id, found, fingerprints, sides);
        confirmed.then_some(neighbour)
    }

    /// Returns whether a pair reaches the required similarity, where the caller set that above the default. A
    /// comparison of texts does not replace such a threshold.
    pub(crate) fn reaches_what_was_asked(&self, near: &Neighbour, one_site: bool) -> bool {
        let default = Self::default();
        let (asked, default) = if one_site {
            (self.similarity_same_site, default.similarity_same_site)
        } else {
            (self.similarity, default.similarity)
        };
        asked <= default
            || near.level == Level::Text
            || near.similarity.is_none_or(|similarity| similarity >= asked)
    }

    /// Returns whether a proposed document is similar enough to compare its text.
    pub fn is_in_doubt(&self, proposed: &Neighbour) -> bool {
        proposed.level != Level::Sketch
            || proposed.similarity.is_some_and(|value| value >= self.similarity_compared)
    }
}

fn similarity_of(a: Side<'_>, b: Side<'_>) -> Option<f64> {
    Some(a.sketch?.similarity(b.sketch?))
}

/// Combines the hash of a whole name and the hash of the name with every number masked, for [`Side::names`].
///
/// Names that differ only in numbers share the upper half; equal names share both. For a name without numbers both
/// hashes are `whole`, so a caller without masked hashes passes `whole` twice.
///
/// ```
/// use hapax_dedup::{FeatureHash, name_hash};
/// let hash = |text: &str| FeatureHash::Fnv1aMix.hash(text.as_bytes());
/// let name = |text: &str, masked: &str| name_hash(hash(text), hash(masked));
/// assert_eq!(name("item 41", "item 0") >> 32, name("item 97", "item 0") >> 32);
/// assert_ne!(name("item 41", "item 0"), name("item 97", "item 0"));
/// ```
pub const fn name_hash(whole: u64, numbers_masked: u64) -> u64 {
    (numbers_masked >> 32 << 32) | (whole & 0xFFFF_FFFF)
}

const fn numbered_differently(a: u64, b: u64) -> bool {
    a != b && a >> 32 == b >> 32 && a >> 32 != 0
}

fn shared_name(a: [u64; 2], b: [u64; 2]) -> bool {
    a.iter().any(|name| *name != 0 && b.contains(name))
}

fn named_differently(a: [u64; 2], b: [u64; 2]) -> bool {
    is_named(a) && is_named(b) && !shared_name(a, b)
}

fn is_named(names: [u64; 2]) -> bool {
    names.iter().any(|name| *name != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Numbers, Sketch};

    fn side(tokens: u32, site: u64, names: [u64; 2]) -> Side<'static> {
        Side { sketch: None, tokens, site, names, numbers: Numbers::default() }
    }

    #[test]
    fn many_other_bits_are_other_words_unless_nearly_all_shingles_are_shared() {
        let policy = Policy::default();
        let sketch =
            |from: u64| Sketch::from_hashes((from..from + 2000).map(crate::mix64)).unwrap();
        // The documents share 33 of 47 shingles, then 19 of 21.
        let (one, half, most) = (sketch(0), sketch(350), sketch(100));
        let ask = |other: &Sketch, distance| {
            let side = |sketch| Side { sketch: Some(sketch), ..side(900, 0, [0; 2]) };
            let (one, other) = (side(&one), Side { site: 1, ..side(other) });
            policy.confirm(Level::Sketch, distance, one, other).is_some()
        };
        assert!((0.5..0.75).contains(&one.similarity(&half)), "{}", one.similarity(&half));
        assert!(one.similarity(&most) >= 0.75);
        assert_eq!([20, 21].map(|distance| ask(&half, distance)), [true, false]);
        assert_eq!([20, 21, 40].map(|distance| ask(&most, distance)), [true; 3]);
    }

    #[test]
    fn a_short_text_under_another_name_is_another_page() {
        let policy = Policy::default();
        let same = |tokens, site, names| {
            let (one, other) = (side(tokens, 1, [5, 6]), side(tokens, site, names));
            policy.confirm(Level::Text, 0, one, other).is_some()
        };
        assert!(!same(199, 1, [7, 8]) && same(200, 1, [7, 8]), "one site");
        assert!(!same(49, 2, [7, 8]) && same(50, 2, [7, 8]), "two sites");
        assert!(same(30, 1, [7, 6]) && same(30, 1, [0, 0]), "one name in common, or none");
        let papers = Policy { hamming_only: true, ..Policy::default() };
        let (one, other) = (side(30, 1, [5, 6]), side(30, 1, [7, 8]));
        assert!(papers.confirm(Level::Text, 0, one, other).is_some(), "by distance alone");
    }

    #[test]
    fn equal_texts_with_other_numbers_in_their_tables_are_two_pages_of_a_site() {
        let policy = Policy::default();
        let numbers = |from: u64| Numbers::from_hashes((from..from + 4).map(crate::mix64));
        let same = |site, other: u64| {
            let side = |site, from| Side { numbers: numbers(from), ..side(900, site, [0; 2]) };
            policy.confirm(Level::Text, 0, side(1, 0), side(site, other)).is_some()
        };
        assert!(!same(1, 40), "one site");
        assert!(same(2, 40), "a mirror with a table of its own");
        assert!(same(1, 0), "the same numbers");
        assert!(same(1, 1), "one that changed");
    }

    #[test]
    fn a_short_page_of_another_site_under_another_name_must_be_very_like() {
        let policy = Policy::default();
        let asked =
            |tokens, names| policy.threshold(side(tokens, 1, [5, 6]), side(tokens, 2, names));
        assert_eq!(asked(199, [7, 8]), policy.similarity_template);
        assert_eq!(asked(200, [7, 8]), policy.similarity);
        assert_eq!(
            [asked(199, [7, 6]), asked(199, [0, 0])],
            [policy.similarity; 2],
            "one name, or none"
        );
    }

    #[test]
    fn a_number_in_the_first_name_makes_another_page() {
        let policy = Policy::default();
        let (one, other) = (name_hash(7 << 32 | 1, 5 << 32), name_hash(7 << 32 | 2, 5 << 32));
        let ask =
            |tokens, names| policy.threshold(side(tokens, 1, [one, 9]), side(tokens, 1, names));
        assert_eq!(ask(300, [other, 9]), policy.similarity_name);
        assert_eq!(ask(900, [other, 9]), policy.similarity_name_long);
        // The same name; another word; another second name; unmasked hashes, which carry no such evidence.
        for names in [[one, 9], [name_hash(1, 6 << 32), 9], [one, other]] {
            assert_eq!(ask(300, names), policy.similarity_same_site, "{names:x?}");
        }
        let small = policy.threshold(side(300, 1, [3, 9]), side(300, 1, [4, 9]));
        assert_eq!(small, policy.similarity_same_site);
        let elsewhere = policy.threshold(side(300, 1, [one, 9]), side(300, 2, [other, 9]));
        assert_eq!(elsewhere, policy.similarity);
    }

    #[test]
    fn a_thin_page_needs_the_same_site_and_page_names() {
        let policy = Policy::default();
        let ask = |a, b| policy.threshold(a, b);
        let little = side(14, 1, [5, 6]);
        assert_eq!(ask(little, side(14, 1, [5, 6])), policy.similarity_little);
        assert_eq!(ask(little, side(900, 1, [5, 6])), policy.similarity_little);
        for other in [side(14, 2, [5, 6]), side(14, 1, [5, 7]), side(14, 1, [0, 0])] {
            assert!(ask(little, other) > 1.0 && ask(other, little) > 1.0, "{other:?}");
        }
        // Without names, or with one more word, it is a short text like any other.
        assert_eq!(ask(side(14, 0, [0; 2]), side(14, 3, [0; 2])), policy.similarity_short);
        assert_eq!(ask(side(15, 2, [5, 6]), side(15, 1, [5, 6])), policy.similarity_short);
    }
}

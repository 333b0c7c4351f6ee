//! In which parts two URLs differ.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::parts::{Address, Part, name_of, without_word, words_of};

/// Pairs of URLs that differ in more parts are ignored.
const MAX_DIFFERING: usize = 12;

/// In which parts two URLs differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Differing {
    /// The parts that differ.
    pub(super) parts: Vec<Part>,
    /// Parts that contain the whole difference: larger or smaller ones than those in `parts`.
    pub(super) each: Vec<Part>,
    /// Whether the first URL's folder is the other one's with more folders before or behind it.
    pub(super) grows: bool,
}

impl Address {
    /// Returns the names of parameters of which the values differ.
    pub(super) fn differing_parameters(&self, other: &Self) -> BTreeSet<String> {
        let (one, two) = (self.sorted_pairs(), other.sorted_pairs());
        let names = one.iter().chain(&two).map(|pair| name_of(pair));
        let values = |pairs: &[&str], name: &str| -> Vec<String> {
            pairs.iter().filter(|pair| name_of(pair) == name).map(|&pair| pair.to_owned()).collect()
        };
        let differs = |name: &Cow<'_, str>| values(&one, name) != values(&two, name);
        names.filter(differs).map(Cow::into_owned).collect()
    }

    /// Returns in which parts two URLs of one site differ; `None` if they cannot be compared part by part.
    pub(super) fn differing(&self, other: &Self) -> Option<Differing> {
        if self.site != other.site {
            return None;
        }
        let mut found = Differing::default();
        let parts = &mut found.parts;
        if self.host != other.host {
            parts.push(Part::Host);
        }
        let script = self.script_shared_with(other);
        let same_length = self.segments.len() == other.segments.len();
        let both = self.segments.iter().zip(&other.segments);
        let shared = both.take_while(|(one, two)| one == two).count();
        if same_length && self.path().eq_ignore_ascii_case(&other.path()) {
            if self.segments != other.segments {
                parts.push(Part::Case);
            }
        } else if self.named_segments() == other.named_segments() {
            parts.push(Part::Slashes);
        } else if same_length {
            let segments = self.segments.iter().zip(&other.segments).enumerate();
            let differ: Vec<usize> =
                segments.filter(|(_, (one, two))| one != two).map(|(index, _)| index).collect();
            let word = |index| self.differing_word(other, index).filter(|_| differ.len() > 1);
            parts.extend(differ.iter().map(|at| word(*at).unwrap_or_else(|| self.segment(*at))));
            if let ([first, .., last], true) = (&differ[..], parts.len() == differ.len()) {
                found.each.extend(self.segments(*first..last + 1));
            }
            if let ([index], 1) = (&differ[..], parts.len()) {
                found.each.extend(self.differing_word(other, *index));
            }
        } else if self.last() == other.last() && !self.last().is_empty() {
            parts.push(Part::Folder);
        } else if script {
            parts.push(Part::PathInfo);
        } else if parts.is_empty() && shared > 0 {
            parts.push(self.tail(shared));
        } else {
            return None;
        }
        let [own, others] = [self.folders(), other.folders()];
        found.grows = found.parts == [Part::Folder]
            && !others.is_empty()
            && own.len() > others.len()
            && (own.starts_with(others) || own.ends_with(others));
        if !same_length && shared > 0 && found.parts == [Part::Folder] {
            found.each.push(self.tail(shared));
        }
        if script && found.parts.iter().all(|part| *part != Part::PathInfo) {
            found.each.push(Part::PathInfo);
        }
        let parameters = self.differing_parameters(other);
        if !parameters.is_empty() {
            found.each.clear();
        }
        let parts = &mut found.parts;
        parts.extend(parameters.into_iter().map(Part::Parameter));
        if parts.is_empty() && self.pairs != other.pairs {
            parts.push(Part::Order);
        }
        (parts.len() <= MAX_DIFFERING && !parts.is_empty()).then_some(found)
    }

    fn folders(&self) -> &[String] {
        self.segments.split_last().map_or(&[], |(_, folders)| folders)
    }

    /// Returns whether both URLs have the same script, on one host, and another path behind it.
    fn script_shared_with(&self, other: &Self) -> bool {
        let end = |address: &Self| address.script().unwrap_or(address.segments.len());
        let (one, two) = (end(self), end(other));
        self.host == other.host
            && one == two
            && self.segments != other.segments
            && (self.script().is_some() || other.script().is_some())
            && self.segments.get(..one) == other.segments.get(..two)
    }

    /// Returns the only word in which a segment differs.
    fn differing_word(&self, other: &Self, index: usize) -> Option<Part> {
        let (segment, theirs) = (self.segments.get(index)?, other.segments.get(index)?);
        let (words, others) = (words_of(segment), words_of(theirs));
        let mut differ = (0..words.len()).filter(|word| words.get(*word) != others.get(*word));
        let (word, None) = (differ.next()?, differ.next()) else { return None };
        let same = words.len() == others.len()
            && without_word(segment, &words, word) == without_word(theirs, &others, word);
        same.then(|| self.word(index, word, words.len()))
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn address(url: &str) -> Address {
        Address::of(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn urls_differ_in_parts() {
        for (one, two, expected) in [
            ("http://a.example/p?x=1", "http://a.example/p?x=2", "the parameter x"),
            (
                "http://a.example/p",
                "http://a.example/p?x=2&y=1",
                "the parameter x, the parameter y",
            ),
            ("http://a.example/p;v=1", "http://a.example/p;v=2", "the parameter ;v"),
            ("http://a.example/p?x=1&y=2", "http://a.example/p?y=2&x=1", "the order of parameters"),
            ("http://x1.a.example/p", "http://x2.a.example/p", "the host"),
            ("http://a.example/s1/p", "http://a.example/s2/p", "segment 1 of the path, below /"),
            ("http://a.example/p/1", "http://a.example/p/2", "segment 2 of the path, below /p/"),
            ("http://a.example/P/a", "http://a.example/p/A", "the case of letters in the path"),
            ("http://a.example/p//a", "http://a.example/p/a/", "repeated slashes in the path"),
            ("http://a.example/p?12", "http://a.example/p?ab", "a query without a name"),
            (
                "http://a.example/p?r12f37=1",
                "http://a.example/p?x8e44b=1",
                "a parameter with a random name",
            ),
            (
                "http://a.example/p7-81f.html",
                "http://a.example/p7-23e.html",
                "segment 1 of the path, below /; or word 2 of segment 1 of the path, below /",
            ),
            (
                "http://a.example/p7-81f.html",
                "http://a.example/p8-23e.html",
                "segment 1 of the path, below /",
            ),
            (
                "http://a.example/n/2031/07/",
                "http://a.example/n/2029/08/",
                "segment 2 of the path, below /n/, segment 3 of the path, below /n/#/; \
                 or segments 2 to 3 of the path, below /n/",
            ),
            (
                "http://a.example/p.php",
                "http://a.example/p.php/x/y",
                "the path behind the name of a script",
            ),
            (
                "http://a.example/p.php/x",
                "http://a.example/p.php/y",
                "segment 2 of the path, below /p.php/; or the path behind the name of a script",
            ),
            ("http://a.example/a/b/p", "http://a.example/p", "the folder"),
            ("http://a.example/p7/a/b", "http://a.example/p7/c", "the path behind /p#"),
            (
                "http://a.example/p7/a/b",
                "http://a.example/p7/b",
                "the folder; or the path behind /p#",
            ),
        ] {
            let found = address(one).differing(&address(two)).unwrap();
            let list =
                |parts: Vec<Part>| parts.iter().map(Part::to_string).collect::<Vec<_>>().join(", ");
            let each = if found.each.is_empty() {
                String::new()
            } else {
                format!("; or {}", list(found.each))
            };
            assert_eq!(list(found.parts) + &each, expected, "{one} {two}");
        }
        for (one, two) in [
            ("http://a.example/p", "http://b.example/p"),
            ("http://a.example/p", "http://a.example/p"),
            ("http://a.example/a/", "http://a.example/"),
            ("http://a.example/p.php/x", "http://a.example/q.php"),
            (
                "http://a.example/?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1",
                "http://a.example/",
            ),
        ] {
            assert_eq!(address(one).differing(&address(two)), None, "{one} {two}");
        }
    }

    proptest::proptest! {
        /// Two URLs that differ in some parts are equivalent without these parts, and in both orders.
        #[test]
        fn urls_are_equivalent_without_the_parts_in_which_they_differ(
            one in "http://([ab]\\.)?a\\.example/([abA]?(.php)?(;[xy]=[12])?/){0,3}[abA]?(\\?([xy]=[12]&?){1,3})?",
            two in "http://([ab]\\.)?a\\.example/([abA]?(.php)?(;[xy]=[12])?/){0,3}[abA]?(\\?([xy]=[12]&?){1,3})?",
        ) {
            let (one, two) = (address(&one), address(&two));
            let parts = one.differing(&two);
            let sorted = |found: &Option<Differing>| {
                let mut parts = found.clone().unwrap_or_default().parts;
                // A segment is named by the folder before it, which may differ.
                parts.retain(|part| !matches!(part, Part::Segment { .. }));
                parts.sort();
                parts
            };
            proptest::prop_assert_eq!(sorted(&parts), sorted(&two.differing(&one)));
            let Some(Differing { parts, each, .. }) = parts else { return Ok(()) };
            for single in each {
                // Another parameter order is not part of the difference.
                let drops = |part: &Part| *part == single || *part == Part::Order;
                proptest::prop_assert_eq!(one.without(drops).0, two.without(drops).0);
            }
            let segments: Vec<usize> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Segment { index, .. } => Some(*index),
                    _ => None,
                })
                .collect();
            let drops = |part: &Part| match part {
                Part::Segment { index, .. } => segments.contains(index),
                // Parameters that remain may be in another order.
                Part::Order => true,
                other => parts.contains(other),
            };
            proptest::prop_assert_eq!(one.without(drops).0, two.without(drops).0);
        }

        #[test]
        fn any_url_is_split_without_a_panic(text: String) {
            if let Ok(url) = Url::parse(&format!("http://a.example/{text}"))
                && let Some(address) = Address::of(&url)
            {
                address.without(|_| true);
                address.differing(&address);
            }
        }
    }
}

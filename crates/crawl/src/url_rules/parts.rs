//! The parts of a URL: in which parts two URLs differ, and a URL without some parts.

use std::collections::BTreeSet;

use hapax_url::registrable_site;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::patterns::without_digits;

/// URLs with more segments or parameters are ignored.
const MAX_SEGMENTS: usize = 16;
const MAX_PARAMETERS: usize = 24;
/// Pairs of URLs that differ in more parts are ignored.
const MAX_DIFFERING: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
    /// The labels before the registrable domain.
    Host,
    /// All segments of the path except the last.
    Folder,
    /// One segment of paths with `of` segments. `below` is the folder before it, with `#` for digits.
    Segment { index: usize, of: usize, below: String },
    /// A parameter of the query, on all paths of the site.
    Parameter(String),
    /// The order of parameters.
    Order,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => f.write_str("the host"),
            Self::Folder => f.write_str("the folder"),
            Self::Segment { index, below, .. } => {
                write!(f, "segment {} of the path, below {below}/", index + 1)
            }
            Self::Parameter(name) => write!(f, "the parameter {name}"),
            Self::Order => f.write_str("the order of parameters"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) site: String,
    pub(crate) host: String,
    pub(crate) segments: Vec<String>,
    /// Parameters as `name=value`, in their order; those of path segments begin with a semicolon.
    pub(crate) pairs: Vec<String>,
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

impl Address {
    /// Splits a URL into its parts; `None` if it has too many.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let (mut segments, mut pairs) = (Vec::new(), Vec::new());
        for segment in url.path().split('/').skip(1) {
            // Path parameters: RFC 3986, section 3.3.
            let end = segment.find(';').unwrap_or(segment.len());
            let (name, parameters) = segment.split_at_checked(end).unwrap_or((segment, ""));
            segments.push(name.to_owned());
            let parameters = parameters.split(';').skip(1).filter(|pair| !pair.is_empty());
            pairs.extend(parameters.map(|pair| format!(";{pair}")));
        }
        if let Some(query) = url.query().filter(|query| !query.is_empty()) {
            pairs.extend(query.split('&').map(str::to_owned));
        }
        let fits = segments.len() <= MAX_SEGMENTS && pairs.len() <= MAX_PARAMETERS;
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        fits.then(|| Self {
            site: registrable_site(url),
            host: format!("{}{port}", url.host_str().unwrap_or_default()),
            segments,
            pairs,
        })
    }

    /// Returns the part of one segment.
    pub(crate) fn segment(&self, index: usize) -> Part {
        let folder = self.segments.get(..index).unwrap_or_default();
        let below: String =
            folder.iter().map(|name| format!("/{}", without_digits(name))).collect();
        Part::Segment { index, of: self.segments.len(), below }
    }

    pub(crate) fn path(&self) -> String {
        self.segments.join("/")
    }

    pub(crate) fn folder(&self) -> String {
        self.segments.split_last().map_or_else(String::new, |(_, folder)| folder.join("/"))
    }

    pub(crate) fn value(&self, part: &Part) -> String {
        match part {
            Part::Host => self.host.clone(),
            Part::Folder => self.folder(),
            Part::Segment { index, .. } => self.segments.get(*index).cloned().unwrap_or_default(),
            Part::Parameter(name) => {
                let own = self.pairs.iter().filter(|pair| name_of(pair) == name);
                own.map(String::as_str).collect::<Vec<_>>().join("&")
            }
            Part::Order => self.pairs.join("&"),
        }
    }

    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    fn sorted_pairs(&self) -> Vec<&str> {
        let mut pairs: Vec<&str> = self.pairs.iter().map(String::as_str).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Returns the query with sorted parameters.
    pub(crate) fn query(&self) -> String {
        self.sorted_pairs().join("&")
    }

    /// Returns the names of parameters of which the values differ.
    pub(crate) fn differing_parameters(&self, other: &Self) -> BTreeSet<String> {
        let (one, two) = (self.sorted_pairs(), other.sorted_pairs());
        let names = one.iter().chain(&two).map(|pair| name_of(pair));
        let values = |pairs: &[&str], name: &str| -> Vec<String> {
            pairs.iter().filter(|pair| name_of(pair) == name).map(|&pair| pair.to_owned()).collect()
        };
        names.filter(|name| values(&one, name) != values(&two, name)).map(str::to_owned).collect()
    }

    /// Returns in which parts two URLs of one site differ; `None` if they cannot be compared part by part.
    pub(crate) fn differing(&self, other: &Self) -> Option<Vec<Part>> {
        if self.site != other.site {
            return None;
        }
        let mut parts = Vec::new();
        if self.host != other.host {
            parts.push(Part::Host);
        }
        if self.segments.len() == other.segments.len() {
            for (index, (one, two)) in self.segments.iter().zip(&other.segments).enumerate() {
                if one != two {
                    parts.push(self.segment(index));
                }
            }
        } else if self.last() == other.last() && !self.last().is_empty() {
            parts.push(Part::Folder);
        } else {
            return None;
        }
        parts.extend(self.differing_parameters(other).into_iter().map(Part::Parameter));
        if parts.is_empty() && self.pairs != other.pairs {
            parts.push(Part::Order);
        }
        (parts.len() <= MAX_DIFFERING && !parts.is_empty()).then_some(parts)
    }

    /// Removes the parameters that `drops` names.
    pub(crate) fn drop_parameters(&mut self, drops: impl Fn(&Part) -> bool) {
        self.pairs.retain(|pair| !drops(&Part::Parameter(name_of(pair).to_owned())));
    }

    /// Returns the URL without the parts that `drops` selects, and these parts. Equivalent URLs have equal results.
    pub(crate) fn without(&self, drops: impl Fn(&Part) -> bool) -> (String, Vec<Part>) {
        let mut dropped = Vec::new();
        let mut drop = |part: Part| {
            let is = drops(&part);
            if is {
                dropped.push(part);
            }
            is
        };
        let is_below = self.host.len() > self.site.len() && self.host.ends_with(&self.site);
        let host = if is_below && drop(Part::Host) { &self.site } else { &self.host };
        let path = if !self.last().is_empty() && drops(&Part::Folder) {
            // A page without a folder is equivalent to those with one, and never excluded for it.
            if self.segments.len() > 1 {
                drop(Part::Folder);
            }
            format!("*/{}", self.last())
        } else {
            let segments = self.segments.iter().enumerate();
            let kept: Vec<&str> = segments
                .map(|(index, segment)| if drop(self.segment(index)) { "*" } else { segment })
                .collect();
            kept.join("/")
        };
        let mut pairs: Vec<&str> = self.pairs.iter().map(String::as_str).collect();
        pairs.retain(|pair| !drop(Part::Parameter(name_of(pair).to_owned())));
        if !pairs.is_sorted() && drop(Part::Order) {
            pairs.sort_unstable();
        }
        (format!("{host}/{path}?{}", pairs.join("&")), dropped)
    }
}

#[cfg(test)]
mod tests {
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
            ("http://a.example/a/b/p", "http://a.example/p", "the folder"),
        ] {
            let parts = address(one).differing(&address(two)).unwrap();
            let said: Vec<String> = parts.iter().map(Part::to_string).collect();
            assert_eq!(said.join(", "), expected, "{one} {two}");
        }
        for (one, two) in [
            ("http://a.example/p", "http://b.example/p"),
            ("http://a.example/p", "http://a.example/p"),
            ("http://a.example/a/", "http://a.example/"),
            ("http://a.example/?a=1&b=1&c=1&d=1&e=1", "http://a.example/"),
        ] {
            assert_eq!(address(one).differing(&address(two)), None, "{one} {two}");
        }
    }

    #[test]
    fn a_url_without_a_part_is_the_same_for_each_value_of_it() {
        let visit = Part::Parameter("visit".to_owned());
        for (url, part, without) in [
            ("http://a.example/p?visit=1&x=2", visit.clone(), "a.example/p?x=2"),
            ("http://a.example/p?x=2", visit, "a.example/p?x=2"),
            ("http://a.example/p?y=1&x=2", Part::Order, "a.example/p?x=2&y=1"),
            ("http://s7.a.example/p", Part::Host, "a.example/p?"),
            ("http://a.example/a/b/p", Part::Folder, "a.example/*/p?"),
            ("http://a.example/p", Part::Folder, "a.example/*/p?"),
            ("http://a.example/a/", Part::Folder, "a.example/a/?"),
            (
                "http://a.example/s1/p",
                address("http://a.example/s9/q").segment(0),
                "a.example/*/p?",
            ),
        ] {
            assert_eq!(address(url).without(|one| *one == part).0, without, "{url}");
        }
    }

    proptest::proptest! {
        /// Two URLs that differ in some parts are equivalent without these parts, and in both orders.
        #[test]
        fn urls_are_equivalent_without_the_parts_in_which_they_differ(
            one in "http://([ab]\\.)?a\\.example/([ab]?(;[xy]=[12])?/){0,3}[ab]?(\\?([xy]=[12]&?){1,3})?",
            two in "http://([ab]\\.)?a\\.example/([ab]?(;[xy]=[12])?/){0,3}[ab]?(\\?([xy]=[12]&?){1,3})?",
        ) {
            let (one, two) = (address(&one), address(&two));
            let parts = one.differing(&two);
            let sorted = |parts: &Option<Vec<Part>>| {
                let mut parts = parts.clone().unwrap_or_default();
                // A segment is named by the folder before it, which may differ.
                parts.retain(|part| !matches!(part, Part::Segment { .. }));
                parts.sort();
                parts
            };
            proptest::prop_assert_eq!(sorted(&parts), sorted(&two.differing(&one)));
            let Some(parts) = parts else { return Ok(()) };
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

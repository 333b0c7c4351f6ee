//! The parts of a URL, and a URL without some of them.

use std::borrow::Cow;
use std::ops::Range;

use hapax_url::registrable_site;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::patterns::without_digits;

/// URLs with more segments or parameters are ignored.
const MAX_SEGMENTS: usize = 16;
const MAX_PARAMETERS: usize = 24;
/// Segments with more words are compared as a whole: they are titles.
const MAX_WORDS: usize = 4;
/// Maximum number of segments of [`Part::Segments`]: year, month and day.
const MAX_SPAN: usize = 3;
/// Characters between the words of a segment. Each has one byte.
const BETWEEN_WORDS: [char; 7] = ['-', '_', '.', ',', '~', '!', '+'];
/// Name of a parameter without `=`.
const UNNAMED: &str = "";
/// Name of all parameters with a random name. No name of a single parameter contains `=`.
const RANDOM: &str = "=random";
/// Minimum number of digits in a random name, or of changes between letters and digits.
const RANDOM_DIGITS: usize = 4;
const RANDOM_CHANGES: usize = 2;
/// Minimum length of such a name with changes, and of a folder's name with digits that counts as random.
const RANDOM_NAME: usize = 6;
/// Lengths of the ending of a script's name.
const ENDING: std::ops::RangeInclusive<usize> = 2..=5;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
    /// The labels before the registrable domain.
    Host,
    /// All segments of the path except the last.
    Folder,
    /// One segment of paths with `of` segments. `below` is the folder before it, with `#` for digits and `*` for random names.
    Segment { index: usize, of: usize, below: String },
    /// `length` segments that follow each other, such as year and month.
    Segments { index: usize, length: usize, of: usize, below: String },
    /// One of the `words` words of a segment, such as the second one of `p7-a81f.html`.
    Word { index: usize, of: usize, below: String, word: usize, words: usize },
    /// The path behind the name of a script: `/extra` of `/page.php/extra`.
    PathInfo,
    /// The path behind the first `index` segments, which are `below` with `#` for digits.
    Tail { index: usize, below: String },
    /// The case of letters in the path.
    Case,
    /// Empty segments of the path: repeated slashes, and one at the end.
    Slashes,
    /// A parameter of the query, on all paths of the site. Parameters without a name are one, and those with random
    /// names.
    Parameter(String),
    /// The order of parameters.
    Order,
    /// Two filters or more of a list at this host and path: parameters, values of one parameter (behind `?`), or names below
    /// a folder (`**`).
    Facets { path: String },
    /// The whole URL: further URLs of this host lead to known pages.
    Whole { host: String },
}

impl Part {
    /// Returns whether this is a part of the path that identifies the page on most sites.
    pub(super) const fn is_in_path(&self) -> bool {
        !matches!(
            self,
            Self::Host
                | Self::Parameter(_)
                | Self::Order
                | Self::Facets { .. }
                | Self::Whole { .. }
        )
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host => f.write_str("the host"),
            Self::Folder => f.write_str("the folder"),
            Self::Segment { index, below, .. } => {
                write!(f, "segment {} of the path, below {below}/", index + 1)
            }
            Self::Segments { index, length, below, .. } => {
                write!(
                    f,
                    "segments {} to {} of the path, below {below}/",
                    index + 1,
                    index + length
                )
            }
            Self::Word { index, below, word, .. } => {
                let (word, index) = (word + 1, index + 1);
                write!(f, "word {word} of segment {index} of the path, below {below}/")
            }
            Self::PathInfo => f.write_str("the path behind the name of a script"),
            Self::Tail { below, .. } => write!(f, "the path behind {below}"),
            Self::Case => f.write_str("the case of letters in the path"),
            Self::Slashes => f.write_str("repeated slashes in the path"),
            Self::Parameter(name) => match name.as_str() {
                UNNAMED => f.write_str("a query without a name"),
                RANDOM => f.write_str("a parameter with a random name"),
                name => write!(f, "the parameter {name}"),
            },
            Self::Order => f.write_str("the order of parameters"),
            Self::Facets { path } => match path.strip_suffix("**") {
                Some(folder) => write!(f, "combined names below {folder}"),
                None => write!(f, "combined parameters of {path}"),
            },
            Self::Whole { host } => write!(f, "further URLs of {host}"),
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

/// Returns the name of a parameter in [`Part::Parameter`]. Sites that write it in random capitals have one parameter.
pub(super) fn name_of(pair: &str) -> Cow<'_, str> {
    match pair.split_once('=') {
        Some((name, _)) if is_random(name) => RANDOM.into(),
        Some((name, _)) if name.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            name.to_ascii_lowercase().into()
        }
        Some((name, _)) => name.into(),
        None => UNNAMED.into(),
    }
}

/// Returns whether a rule for this name is about a parameter. Earlier versions learnt each name without a value, each
/// random one, and each spelling.
pub(super) fn is_named(pair: &str, name: &str) -> bool {
    name_of(pair) == name || pair.split_once('=').map_or(pair, |(own, _)| own) == name
}

/// Returns whether a name is like `r81f3c`. The index of an array is no part of it: `filter[2026]`, `filter%5B2026%5D`.
pub(super) fn is_random(name: &str) -> bool {
    let name = name.split(['[', '%']).next().unwrap_or_default();
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let changes = name.as_bytes().windows(2).filter(|two| match two {
        [one, next] => {
            one.is_ascii_digit() && next.is_ascii_alphabetic()
                || one.is_ascii_alphabetic() && next.is_ascii_digit()
        }
        _ => false,
    });
    digits >= RANDOM_DIGITS || name.len() >= RANDOM_NAME && changes.count() >= RANDOM_CHANGES
}

/// Returns the parts that a parameter belongs to, of this version and of earlier ones.
fn parts_of(pair: &str) -> impl Iterator<Item = Part> {
    let (general, own) = (name_of(pair), pair.split_once('=').map_or(pair, |(name, _)| name));
    let former = (general != own).then(|| own.to_owned());
    [Some(general.into_owned()), former].into_iter().flatten().map(Part::Parameter)
}

/// Returns the words of a segment; nothing if it has one word or too many.
pub(super) fn words_of(segment: &str) -> Vec<&str> {
    let words: Vec<&str> = segment.split(BETWEEN_WORDS).take(MAX_WORDS + 1).collect();
    if (2..=MAX_WORDS).contains(&words.len()) { words } else { Vec::new() }
}

/// Returns a segment without one of its words.
pub(super) fn without_word(segment: &str, words: &[&str], word: usize) -> String {
    let start: usize = words.iter().take(word).map(|word| word.len() + 1).sum();
    let end = start + words.get(word).map_or(0, |word| word.len());
    let [before, behind] =
        [segment.get(..start), segment.get(end..)].map(Option::unwrap_or_default);
    format!("{before}*{behind}")
}

/// Returns the host and path.
pub(super) fn place_of(address: &Address) -> String {
    format!("{}/{}", address.host, address.path())
}

/// Returns whether a segment is the name of a script or page, such as `index.php`.
fn is_script(segment: &str) -> bool {
    segment.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty()
            && ENDING.contains(&ending.len())
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.bytes().all(|c| c.is_ascii_alphanumeric())
    })
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

    fn below(&self, index: usize) -> String {
        let folder = self.segments.get(..index).unwrap_or_default();
        let is_random =
            |name: &str| name.len() >= RANDOM_NAME && name.bytes().any(|c| c.is_ascii_digit());
        let pattern = |name: &String| match is_random(name) {
            true => "/*".to_owned(),
            false => format!("/{}", without_digits(name)),
        };
        folder.iter().map(pattern).collect()
    }

    /// Returns the part of one segment.
    pub(super) fn segment(&self, index: usize) -> Part {
        Part::Segment { index, of: self.segments.len(), below: self.below(index) }
    }

    /// Returns the part of several segments, if they are not too many.
    pub(super) fn segments(&self, range: Range<usize>) -> Option<Part> {
        let (index, length, of) = (range.start, range.len(), self.segments.len());
        (2..=MAX_SPAN).contains(&length).then(|| Part::Segments {
            index,
            length,
            of,
            below: self.below(index),
        })
    }

    /// Returns the parts of several segments that begin with this one.
    pub(super) fn segments_from(&self, index: usize) -> impl Iterator<Item = (Range<usize>, Part)> {
        let ends = (index + 2..=self.segments.len()).take(MAX_SPAN - 1);
        ends.filter_map(move |end| Some((index..end, self.segments(index..end)?)))
    }

    /// Returns the part of a word of a segment with this number of words.
    pub(super) fn word(&self, index: usize, word: usize, words: usize) -> Part {
        Part::Word { index, of: self.segments.len(), below: self.below(index), word, words }
    }

    /// Returns the part of the path behind this number of segments.
    pub(super) fn tail(&self, index: usize) -> Part {
        Part::Tail { index, below: self.below(index) }
    }

    /// Returns the number of segments up to the name of a script that has a path behind it.
    pub(super) fn script(&self) -> Option<usize> {
        let (_, folder) = self.segments.split_last()?;
        folder.iter().position(|segment| is_script(segment)).map(|at| at + 1)
    }

    pub(crate) fn path(&self) -> String {
        self.segments.join("/")
    }

    pub(crate) fn folder(&self) -> String {
        self.segments.split_last().map_or_else(String::new, |(_, folder)| folder.join("/"))
    }

    pub(crate) fn value(&self, part: &Part) -> String {
        let segment = |index: usize| self.segments.get(index).map_or("", String::as_str);
        match part {
            Part::Host => self.host.clone(),
            Part::Folder => self.folder(),
            Part::Segment { index, .. } => segment(*index).to_owned(),
            Part::Segments { index, length, .. } => {
                self.segments.get(*index..index + length).unwrap_or_default().join("/")
            }
            Part::Word { index, word, .. } => {
                words_of(segment(*index)).get(*word).copied().unwrap_or_default().to_owned()
            }
            Part::Tail { index, .. } => self.segments.get(*index..).unwrap_or_default().join("/"),
            Part::PathInfo | Part::Case | Part::Slashes | Part::Whole { .. } => self.path(),
            Part::Parameter(name) => {
                let own = self.pairs.iter().filter(|pair| is_named(pair, name));
                own.map(String::as_str).collect::<Vec<_>>().join("&")
            }
            Part::Order | Part::Facets { .. } => self.pairs.join("&"),
        }
    }

    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Returns the path without empty segments.
    pub(super) fn named_segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).filter(|segment| !segment.is_empty()).collect()
    }

    pub(super) fn sorted_pairs(&self) -> Vec<&str> {
        let mut pairs: Vec<&str> = self.pairs.iter().map(String::as_str).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Returns the query with sorted parameters.
    pub(crate) fn query(&self) -> String {
        self.sorted_pairs().join("&")
    }

    /// Removes the parameters that `drops` names, and empty segments if it names these.
    pub(crate) fn simplify(&mut self, drops: impl Fn(&Part) -> bool) {
        self.pairs.retain(|pair| !parts_of(pair).any(|part| drops(&part)));
        if drops(&Part::Slashes) {
            self.segments.retain(|segment| !segment.is_empty());
        }
    }

    /// Returns the URL without the parts that `drops` selects, and these parts. Equivalent URLs have equal results.
    pub(crate) fn without(&self, drops: impl Fn(&Part) -> bool) -> (String, Vec<Part>) {
        let whole = Part::Whole { host: self.host.clone() };
        if drops(&whole) {
            return (format!("{}/**", self.host), vec![whole]);
        }
        if let Some(found) = self.combined_segments().into_iter().find(|found| drops(&found.part)) {
            return (found.identity, vec![found.part]);
        }
        let mut dropped = Vec::new();
        if drops(&Part::Slashes) && self.segments.iter().any(String::is_empty) {
            let mut simple = self.clone();
            simple.segments.retain(|segment| !segment.is_empty());
            let (identity, mut dropped) = simple.without(drops);
            if self.segments.len() > 1 {
                dropped.push(Part::Slashes);
            }
            return (identity, dropped);
        }
        let mut drop = |part: Part| {
            let is = drops(&part);
            if is {
                dropped.push(part);
            }
            is
        };
        let is_below = self.host.len() > self.site.len() && self.host.ends_with(&self.site);
        let host = if is_below && drop(Part::Host) { &self.site } else { &self.host };
        let end = self.script().filter(|_| drop(Part::PathInfo));
        let end = end.or_else(|| (1..self.segments.len()).find(|end| drop(self.tail(*end))));
        let mut path = if end.is_none() && !self.last().is_empty() && drops(&Part::Folder) {
            // A page without a folder is equivalent to those with one, and never excluded for it.
            if self.segments.len() > 1 {
                drop(Part::Folder);
            }
            format!("*/{}", self.last())
        } else {
            self.path_without(end.unwrap_or(self.segments.len()), &mut drop)
        };
        if drops(&Part::Case) {
            if path.bytes().any(|c| c.is_ascii_uppercase()) {
                drop(Part::Case);
            }
            path.make_ascii_lowercase();
        }
        let mut pairs: Vec<&str> = self.pairs.iter().map(String::as_str).collect();
        pairs.retain(|pair| !parts_of(pair).any(&mut drop));
        if let Some(found) =
            self.combined_parameters(&pairs).into_iter().find(|found| drop(found.part.clone()))
        {
            return (format!("{host}/{path}?**{}", found.identity), dropped);
        }
        if !pairs.is_sorted() && drop(Part::Order) {
            pairs.sort_unstable();
        }
        (format!("{host}/{path}?{}", pairs.join("&")), dropped)
    }

    /// Returns the first `end` segments without the parts that `drop` selects.
    fn path_without(&self, end: usize, mut drop: impl FnMut(Part) -> bool) -> String {
        let mut out: Vec<String> = Vec::new();
        let mut index = 0;
        while let Some(segment) = self.segments.get(index).filter(|_| index < end) {
            if let Some((range, _)) = self.segments_from(index).find(|(_, part)| drop(part.clone()))
            {
                out.push("*".repeat(range.len()));
                index = range.end;
                continue;
            }
            if drop(self.segment(index)) {
                out.push("*".to_owned());
            } else {
                let words = words_of(segment);
                let word = (0..words.len()).find(|word| drop(self.word(index, *word, words.len())));
                out.push(word.map_or(segment.clone(), |word| without_word(segment, &words, word)));
            }
            index += 1;
        }
        out.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address::of(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn names_are_random_by_their_digits() {
        for name in ["r81f3c", "x4711", "8a7b6c"] {
            assert!(is_random(name), "{name}");
        }
        for name in
            ["h2o", "tx_news_pi1[news]", "f[0]", "f[2026]", "filter%5B2026%5D", "utm_source", "q1"]
        {
            assert!(!is_random(name), "{name}");
        }
        // Rules of earlier versions.
        for (pair, name) in [("print", "print"), ("r81f3c=1", "r81f3c"), ("print", "")] {
            let drops = |part: &Part| *part == Part::Parameter(name.to_owned());
            assert_eq!(
                address(&format!("http://a.example/p?{pair}")).without(drops).0,
                "a.example/p?"
            );
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
            ("http://a.example//b///a/", Part::Slashes, "a.example/b/a?"),
            ("http://a.example/b/a", Part::Slashes, "a.example/b/a?"),
            ("http://a.example/", Part::Slashes, "a.example/?"),
            ("http://a.example/s.php/a/b?x=1", Part::PathInfo, "a.example/s.php?x=1"),
            ("http://a.example/s.php?x=1", Part::PathInfo, "a.example/s.php?x=1"),
            ("http://a.example/P/a?X=1", Part::Case, "a.example/p/a?X=1"),
            (
                "http://a.example/p7/a/b",
                Part::Tail { index: 1, below: "/p#".to_owned() },
                "a.example/p7?",
            ),
            (
                "http://a.example/p7",
                Part::Tail { index: 1, below: "/p#".to_owned() },
                "a.example/p7?",
            ),
            ("http://a.example/p?81f&x=1", Part::Parameter(UNNAMED.to_owned()), "a.example/p?x=1"),
            (
                "http://a.example/p?x=1&r81f3c=2",
                Part::Parameter(RANDOM.to_owned()),
                "a.example/p?x=1",
            ),
            (
                "http://a.example/n/2031/07/",
                Part::Segments { index: 1, length: 2, of: 4, below: "/n".to_owned() },
                "a.example/n/**/?",
            ),
            (
                "http://a.example/p7-81f.html",
                Part::Word { index: 0, of: 1, below: String::new(), word: 1, words: 3 },
                "a.example/p7-*.html?",
            ),
            (
                "http://b.a.example/p/q?x=1",
                Part::Whole { host: "b.a.example".to_owned() },
                "b.a.example/**",
            ),
            (
                "http://a.example/p/q?x=1",
                Part::Whole { host: "b.a.example".to_owned() },
                "a.example/p/q?x=1",
            ),
            (
                "http://a.example/s1/p",
                address("http://a.example/s9/q").segment(0),
                "a.example/*/p?",
            ),
        ] {
            assert_eq!(address(url).without(|one| *one == part).0, without, "{url}");
        }
    }
}

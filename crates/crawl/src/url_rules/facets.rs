//! Filters of a list that links combine without end: `/list?colour=2&size=1&brand=3`, `/list?f=red,large`,
//! `/list/red/large`. The pages differ, but show nothing that other pages of the site lack.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use url::Url;

use super::evidence::Evidence;
use super::named_filters::NamedFilters;
use super::parts::{Address, Part, name_of, place_of};

/// Required number of pages with combined filters.
const PAGES: u32 = 24;
/// Required number of different sets of filters. Other pages with several parameters have the same names each time.
const SETS: usize = 12;
/// Required number of such pages for each page with unique text.
const FOR_EACH_OWN: u32 = 10;
/// Maximum number of paths of a site. Beyond it all are forgotten.
const MAX_PATHS: usize = 1_000;
/// Maximum number of folders among them. Further ones are ignored: most are no lists with filters.
const MAX_FOLDERS: usize = 200;
/// Maximum number of different filters in the values of a parameter or in a folder. Other lists of names are longer.
pub(super) const MAX_FILTERS: usize = 40;
/// Maximum number of filters in one URL.
const MAX_COMBINED: usize = 12;
/// Number of first segments that may be the folder of a list.
const FOLDERS: std::ops::RangeInclusive<usize> = 1..=2;
/// One in this number of the filters of a folder must be found at two positions. Categories keep their position.
const MOVING: usize = 2;
/// Separators of filters in a value, and in a segment of the path.
const IN_VALUE: [char; 5] = [',', '|', ';', '+', ' '];
const IN_SEGMENT: [char; 5] = ['-', '_', ',', '+', '|'];
/// Encoded separators and brackets, and their characters.
const ENCODED: [(&str, &str); 6] =
    [("%2c", ","), ("%7c", "|"), ("%3b", ";"), ("%20", " "), ("%5b", "["), ("%5d", "]")];

/// Where the filters of a URL are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Each filter is a parameter.
    Names,
    /// The values of one parameter, as a list or an array.
    Values,
    /// The path below a folder.
    Folder,
}

/// The filters of a URL in one form, at least two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Combination {
    pub(super) part: Part,
    /// What all equivalent URLs begin with, in the form of [`Address::without`].
    pub(super) identity: String,
    form: Form,
    filters: Vec<String>,
}

fn decoded(text: &str) -> String {
    let mut text = text.to_lowercase();
    for (code, character) in ENCODED {
        if text.contains('%') {
            text = text.replace(code, character);
        }
    }
    text
}

impl Address {
    /// Returns the combined filters in these parameters.
    pub(super) fn combined_parameters(&self, pairs: &[&str]) -> Vec<Combination> {
        let pairs: Vec<&str> =
            pairs.iter().copied().filter(|pair| !pair.starts_with(';')).collect();
        let mut found = Vec::new();
        let place = place_of(self);
        if pairs.len() > 1 {
            found.push(Combination {
                part: Part::Facets { path: place.clone() },
                identity: String::new(),
                form: Form::Names,
                filters: pairs.iter().map(|pair| decoded(pair)).collect(),
            });
        }
        let mut lists: Vec<(String, Vec<String>)> = Vec::new();
        for pair in pairs {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let name = decoded(name);
            let name = name.split('[').next().unwrap_or_default();
            let value = decoded(value);
            let values = value.split(IN_VALUE).filter(|value| !value.is_empty()).map(str::to_owned);
            match lists.iter_mut().find(|(other, _)| other == name) {
                Some((_, all)) => all.extend(values),
                None => lists.push((name.to_owned(), values.collect())),
            }
        }
        lists.retain(|(_, filters)| (2..=MAX_COMBINED).contains(&filters.len()));
        found.extend(lists.into_iter().map(|(name, filters)| Combination {
            part: Part::Facets { path: format!("{place}?{name}") },
            identity: format!("?{name}=**"),
            form: Form::Values,
            filters,
        }));
        found
    }

    /// Returns the combined filters in the path.
    pub(super) fn combined_segments(&self) -> Vec<Combination> {
        let below = |folder: usize| {
            let path = self.segments.get(..folder)?.join("/");
            let rest = self.segments.get(folder..)?;
            let filters = rest.iter().flat_map(|segment| segment.split(IN_SEGMENT));
            let filters: Vec<String> =
                filters.filter(|filter| !filter.is_empty()).map(str::to_owned).collect();
            let has_number =
                filters.iter().any(|filter| filter.bytes().all(|c| c.is_ascii_digit()));
            let fits = (2..=MAX_COMBINED).contains(&filters.len()) && !has_number;
            fits.then(|| Combination {
                part: Part::Facets { path: format!("{}/{path}/**", self.host) },
                identity: format!("{}/{path}/**", self.host),
                form: Form::Folder,
                filters,
            })
        };
        FOLDERS.filter_map(below).collect()
    }
}

#[derive(Debug, Default)]
struct Seen {
    /// Hashes of sets of filters, at most [`SETS`].
    sets: HashSet<u64>,
    /// Hash of each filter, with a bit for each of its positions; at most one more than [`MAX_FILTERS`].
    filters: HashMap<u64, u16>,
    /// Filters that are parameters.
    named: NamedFilters,
    /// Pages that show nothing new: duplicates, and those that combine lines of other pages.
    combined: u32,
    /// Pages with unique text.
    own: u32,
}

impl Seen {
    fn len(&self) -> usize {
        1 + self.sets.len() + self.filters.len() + self.named.len()
    }

    /// Returns whether no page was seen: its length does not count yet.
    fn is_empty(&self) -> bool {
        self.combined == 0 && self.own == 0 && self.named.len() == 0
    }

    fn has_many_filters(&self) -> bool {
        self.filters.len() > MAX_FILTERS
    }

    /// Returns the filters that need not be combined, an empty set if all need not, and `None` if there is not enough
    /// evidence.
    fn combined(&self, form: Form) -> Option<BTreeSet<u64>> {
        if self.combined < PAGES || self.combined < self.own.saturating_mul(FOR_EACH_OWN) {
            return None;
        }
        let moving = || self.filters.values().filter(|at| at.count_ones() > 1).count();
        let is_enough = self.sets.len() >= SETS
            && !self.has_many_filters()
            && (form != Form::Folder || moving() * MOVING >= self.filters.len());
        match form {
            _ if is_enough => Some(self.filters.keys().copied().collect()),
            Form::Names => Some(self.named.combined()).filter(|filters| !filters.is_empty()),
            Form::Values | Form::Folder => None,
        }
    }
}

/// Pages with at least two filters, by host and path.
#[derive(Debug, Default)]
pub(super) struct Facets {
    seen: HashMap<String, Seen>,
    folders: usize,
    len: usize,
}

impl Facets {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the filters of a page may be those of a list.
    pub(super) fn may_combine(&self, address: &Address) -> bool {
        let pairs: Vec<&str> = address.pairs.iter().map(String::as_str).collect();
        let parameters = address.combined_parameters(&pairs);
        let mut all = parameters.into_iter().chain(address.combined_segments());
        all.any(|found| match self.seen.get(path_of(&found.part)) {
            Some(seen) => found.form == Form::Names || !seen.has_many_filters(),
            None => found.form != Form::Folder || self.folders < MAX_FOLDERS,
        })
    }

    /// Adds a page. Returns the parts and their evidence if there is enough.
    pub(super) fn add(
        &mut self,
        address: &Address,
        is_new: bool,
        hash: impl Fn(&[&str]) -> u64,
    ) -> Vec<(Part, Evidence)> {
        let pairs: Vec<&str> = address.pairs.iter().map(String::as_str).collect();
        let mut found = address.combined_parameters(&pairs);
        found.extend(address.combined_segments());
        if let [pair] = &pairs[..] {
            self.add_single(address, pair, is_new, &hash);
        }
        let mut learnt = Vec::new();
        for combination in found {
            if let Some(filters) = self.add_one(&combination, is_new, &hash) {
                let seen = self.seen.get(path_of(&combination.part));
                let alone = seen.map_or(0, |seen| seen.combined);
                learnt.push((combination.part, Evidence { alone, filters, ..Evidence::default() }));
            }
        }
        learnt
    }

    /// Adds a page with one parameter, which may be a filter. Such pages are no evidence against combinations.
    fn add_single(
        &mut self,
        address: &Address,
        pair: &str,
        is_new: bool,
        hash: &impl Fn(&[&str]) -> u64,
    ) {
        let path = place_of(address);
        if self.seen.len() >= MAX_PATHS / 2 && !self.seen.contains_key(&path) {
            return;
        }
        let Some(seen) = self.seen_of(&path, Form::Names) else { return };
        let before = if seen.is_empty() { 0 } else { seen.len() };
        seen.named.add(&[named(&decoded(pair), hash)], is_new);
        let after = seen.len();
        self.len = (self.len + after).saturating_sub(before);
    }

    /// Returns what was seen at a path; `None` if it is a folder too many.
    fn seen_of(&mut self, path: &str, form: Form) -> Option<&mut Seen> {
        if !self.seen.contains_key(path) {
            if form == Form::Folder && self.folders >= MAX_FOLDERS {
                return None;
            }
            if self.seen.len() >= MAX_PATHS {
                *self = Self::default();
            }
            self.folders += usize::from(form == Form::Folder);
        }
        Some(self.seen.entry(path.to_owned()).or_default())
    }

    /// Adds the filters of a page in one form. Returns those that need not be combined if there is enough evidence.
    fn add_one(
        &mut self,
        combination: &Combination,
        is_new: bool,
        hash: &impl Fn(&[&str]) -> u64,
    ) -> Option<BTreeSet<u64>> {
        let Combination { part, form, filters, .. } = combination;
        let seen = self.seen_of(path_of(part), *form)?;
        let before = if seen.is_empty() { 0 } else { seen.len() };
        if *form == Form::Names {
            let filters: Vec<(u64, u64)> =
                filters.iter().map(|filter| named(filter, hash)).collect();
            seen.named.add(&filters, is_new);
        } else {
            for (at, filter) in filters.iter().enumerate() {
                if !seen.has_many_filters() {
                    *seen.filters.entry(hash(&[filter])).or_default() |= 1 << at.min(15);
                }
            }
        }
        if is_new {
            seen.own = seen.own.saturating_add(1);
        } else {
            seen.combined = seen.combined.saturating_add(1);
            if seen.sets.len() < SETS {
                let mut set: Vec<Cow<'_, str>> = match form {
                    Form::Names => filters.iter().map(|filter| name_of(filter)).collect(),
                    Form::Values | Form::Folder => {
                        filters.iter().map(|filter| filter.as_str().into()).collect()
                    }
                };
                set.sort_unstable();
                let set: Vec<&str> = set.iter().map(AsRef::as_ref).collect();
                seen.sets.insert(hash(&set));
            }
        }
        let after = seen.len();
        let found = if is_new { None } else { seen.combined(*form) };
        self.len = (self.len + after).saturating_sub(before);
        found
    }

    /// Begins again after a rule was contradicted.
    pub(super) fn contradicted(&mut self, path: &str) {
        let seen = self.seen.entry(path.to_owned()).or_default();
        self.len = self.len.saturating_sub(seen.len()) + 1;
        *seen = Seen { own: seen.own.saturating_add(1), ..Seen::default() };
    }
}

/// Returns whether a rule with these filters is about this URL: it has no other filters.
pub(super) fn covers(evidence: &Evidence, address: &Address, part: &Part) -> bool {
    if evidence.filters.is_empty() {
        return true;
    }
    let pairs: Vec<&str> = address.pairs.iter().map(String::as_str).collect();
    let parameters = address.combined_parameters(&pairs);
    let mut all = parameters.into_iter().chain(address.combined_segments());
    all.find(|found| found.part == *part).is_some_and(|found| {
        let is_known =
            |filter: &String| evidence.filters.contains(&super::evidence::hash(&[filter]));
        found.filters.iter().all(is_known)
    })
}

/// Returns whether a link cannot lead to the list of `page` with other filters: these are in the query, or below the first
/// segment of the path.
pub(crate) fn is_outside_list(page: &Url, link: &Url) -> bool {
    let first = |url: &Url| url.path().split('/').nth(1).map(str::to_owned);
    page.host() != link.host()
        || page.port_or_known_default() != link.port_or_known_default()
        || match page.query() {
            Some(_) => page.path() != link.path(),
            None => first(page) != first(link),
        }
}

/// Returns the hashes of the name of a parameter and of the whole.
fn named(pair: &str, hash: &impl Fn(&[&str]) -> u64) -> (u64, u64) {
    (hash(&[&*name_of(pair)]), hash(&[pair]))
}

fn path_of(part: &Part) -> &str {
    if let Part::Facets { path } = part { path } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds pages; `is_new` returns whether a page has unique text. Returns the number of pages before there was a rule.
    fn learnt(url: impl Fn(u32) -> String, is_new: impl Fn(u32) -> bool) -> Option<u32> {
        let mut facets = Facets::default();
        (0..200).find(|number| {
            let address = Address::of(&Url::parse(&url(*number)).unwrap()).unwrap();
            let hash = |names: &[&str]| hapax_page::HASH.hash(names.join(" ").as_bytes());
            !facets.add(&address, is_new(*number), hash).is_empty()
        })
    }

    #[test]
    fn combined_filters_are_learnt_and_other_parameters_are_not() {
        let filters =
            |n: u32| format!("http://a.example/list?f{}={}&g{}={}", n % 5, n % 3, n % 7, n % 4);
        assert_eq!(learnt(filters, |_| false), Some(23));
        assert_eq!(learnt(filters, |n| n % 5 == 0), None, "one of five has unique text");
        assert_eq!(learnt(filters, |n| n == 3), Some(24));
        let same = |n: u32| format!("http://a.example/list?item={n}&view={}", n % 4);
        assert_eq!(learnt(same, |_| false), None, "always the same names");
        let one = |n: u32| format!("http://a.example/list?f{n}=1");
        assert_eq!(learnt(one, |_| false), None, "one filter alone leads to the pages");
        let places = |n: u32| format!("http://a.example/p{n}?f{}=1&g{}=1", n % 5, n % 7);
        assert_eq!(learnt(places, |_| false), None);
    }

    #[test]
    fn paths_are_bounded_and_a_contradiction_counts_as_unique_text() {
        let mut facets = Facets::default();
        for number in 0..3_000 {
            let url = Url::parse(&format!("http://a.example/p{number}?a=1&b=1")).unwrap();
            facets.add(&Address::of(&url).unwrap(), false, |_| 1);
        }
        assert!(facets.len() <= MAX_PATHS * (1 + SETS));
        facets.contradicted("a.example/list");
        facets.contradicted("a.example/list");
        assert_eq!(facets.seen["a.example/list"].own, 2);
        let mut facets = Facets::default();
        for number in 0..3_000 {
            let url = format!("http://a.example/f{number}/a/{}", "b/".repeat(number % 9));
            facets.add(
                &Address::of(&Url::parse(&url).unwrap()).unwrap(),
                number % 2 == 0,
                |words| hapax_page::HASH.hash(words.join(" ").as_bytes()),
            );
            let len: usize = facets.seen.values().map(Seen::len).sum();
            assert_eq!(facets.len(), len);
        }
        assert_eq!((facets.seen.len(), facets.folders), (MAX_FOLDERS, MAX_FOLDERS));
    }

    /// Two or three of ten filters, not always in the same order.
    fn three(n: u32) -> Vec<String> {
        let name = |at: u32| char::from(b'a' + (at % 10) as u8).to_string().repeat(4);
        let mut names = vec![name(n), name(n / 10 + n + 1), name(n * 7 + 3)];
        names.dedup();
        names
    }

    #[test]
    fn filters_in_arrays_lists_and_folders_are_learnt() {
        let url = |form: &str, n: u32| {
            let filters = three(n).into_iter().enumerate();
            let query = |name: &dyn Fn(usize) -> String| {
                let pairs: Vec<String> =
                    filters.clone().map(|(at, filter)| format!("{}={filter}", name(at))).collect();
                pairs.join("&")
            };
            let rest = match form {
                "f[0]=" => format!("s?{}", query(&|at| format!("f[{at}]"))),
                "f[]=" => format!("s?{}", query(&|_| "f%5B%5D".to_owned())),
                "a/yes/" => format!("s/{}/yes", three(n).join("/yes/")),
                separator if separator.len() == 1 && !"/-".contains(separator) => {
                    format!("s?f={}", three(n).join(separator))
                }
                separator => format!("s/{}", three(n).join(separator)),
            };
            format!("http://a.example/{rest}")
        };
        for form in ["f[0]=", "f[]=", ",", "|", "+", "/", "-", "a/yes/"] {
            assert!(learnt(|n| url(form, n), |_| false).is_some_and(|pages| pages < 40), "{form}");
            assert_eq!(learnt(|n| url(form, n), |n| n % 5 == 0), None, "{form}");
        }
    }

    #[test]
    fn categories_articles_and_archives_are_no_filters() {
        let name = |n: u32| char::from(b'a' + (n % 26) as u8).to_string().repeat(3);
        // Each name has its position.
        let category =
            |n: u32| format!("http://a.example/shop/{}/{}x", name(n % 4), name(n / 4 % 9));
        assert_eq!(learnt(category, |_| false), None);
        let title = |n: u32| format!("http://a.example/news/{}-{}-{}", name(n), name(n * 3), n);
        assert_eq!(learnt(title, |_| false), None);
        let words = |n: u32| {
            format!("http://a.example/n/{}{}-{}", name(n), name(n / 3), name(n * 5).repeat(2))
        };
        assert_eq!(learnt(words, |_| false), None, "many names");
        let day = |n: u32| format!("http://a.example/archive/{}/{}", 1 + n % 12, 1 + n % 31);
        assert_eq!(learnt(day, |_| false), None);
        let place = |n: u32| format!("http://a.example/map?at={}.5,{}.7", n % 90, n % 77);
        assert_eq!(learnt(place, |_| false), None);
    }

    #[test]
    fn a_rule_is_about_known_filters_only() {
        let address = |path: &str| {
            Address::of(&Url::parse(&format!("http://a.example/{path}")).unwrap()).unwrap()
        };
        for (known, part) in [("s/red/large", "a.example/s/**"), ("s?f=red,large", "a.example/s?f")]
        {
            let mut facets = Facets::default();
            for _ in 0..PAGES {
                facets.add(&address(known), false, super::super::evidence::hash);
            }
            let part = Part::Facets { path: part.to_owned() };
            let filters = facets.seen[path_of(&part)].filters.keys().copied().collect();
            let evidence = Evidence { filters, ..Evidence::default() };
            assert!(covers(&evidence, &address(known), &part));
            for other in ["s/red", "s/red/item", "s?f=red", "s?f=red,item", "t/red/large"] {
                assert!(!covers(&evidence, &address(other), &part), "{other}");
            }
        }
    }
}

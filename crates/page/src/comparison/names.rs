//! Compares the names of two pages: heading and title.

use std::collections::HashSet;
use std::ops::Range;

use hapax_extract::{caseless, for_each_word, is_cjk, is_mark, is_referring, plain_name};

use super::pattern::{common_words, is_by};
use crate::difference::{changing, is_number};
use crate::evidence::HASH;

/// Minimum share of common words in two names with one pattern: at beginning and end, or anywhere between numbers.
const FRAME: f64 = 0.4;
/// Minimum share of a heading's words in the title, or of a title's words in the text. A title with fewer is that of the
/// whole site.
const KNOWN: f64 = 0.5;
/// Maximum number of words read from a name.
const MAX_NAME: usize = 64;
/// Minimum number of letters of a significant word.
const LONG_WORD: usize = 4;
/// A heading with more words is a sentence.
const LONGEST_NAME: usize = 24;
/// Minimum number of words of a title that is too long to be a site's name.
const LONG_TITLE: usize = 4;

/// The relation of the names of two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NameRelation {
    /// At least one page has no name.
    Unknown,
    /// Equal, apart from the name of the site.
    Same,
    /// One pattern that differs in one place ("Tee - Navy" and "Tee - Rust"), or in numbers in several places.
    Pattern,
    /// Any other relation.
    Other,
}

impl NameRelation {
    /// Returns the name of the relation in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Same => "same",
            Self::Pattern => "of one pattern",
            Self::Other => "other",
        }
    }
}

/// The words of a name. Names with the same words are equal, whatever stands between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    /// The words without separators.
    text: String,
    /// Byte range of each word in `text`.
    places: Vec<Range<usize>>,
    /// Index of the first word of each part, see [`parts`].
    parts: Vec<usize>,
    /// Hashes of the words as texts have them.
    pub(super) words: Vec<u64>,
    /// Hashes of the words that a name in capitals has too, see [`caseless`]. Names are compared by these.
    folded: Vec<u64>,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.folded == other.folded
    }
}

impl Eq for Name {}

impl Name {
    pub(super) fn of(text: &str) -> Self {
        let mut name = Self::default();
        for part in parts(without_chapter(plain_name(text))) {
            let before = name.words.len();
            if before >= MAX_NAME {
                break;
            }
            for_each_word(part, |word| {
                if name.words.len() >= MAX_NAME {
                    return;
                }
                let start = name.text.len();
                name.text.push_str(word);
                name.places.push(start..name.text.len());
                name.words.push(HASH.hash(word.as_bytes()));
                name.folded.push(HASH.hash(caseless(word).as_bytes()));
            });
            if name.words.len() > before {
                name.parts.push(before);
            }
        }
        name
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the number of its letters.
    pub(super) fn letters(&self) -> usize {
        (0..self.words.len()).map(|at| self.word(at).chars().count()).sum()
    }

    /// Returns whether a text's words are words in a row of this name.
    pub(super) fn has(&self, words: Option<&[u64]>) -> bool {
        words.is_some_and(|words| {
            !words.is_empty() && self.words.windows(words.len()).any(|part| part == words)
        })
    }

    /// Returns whether a line consists of this name. `sites/` counts the other lines, so this compares the words as
    /// texts have them.
    pub(super) fn is_line(&self, line: &str) -> bool {
        self.may_be_in(line) && Self::of(line).words == self.words
    }

    /// Excludes most lines without splitting them into words: in ASCII, folding changes only the case.
    fn may_be_in(&self, line: &str) -> bool {
        let line_has = |word: &str| {
            (line.as_bytes().windows(word.len().max(1)))
                .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
        };
        !line.is_ascii() || (0..self.places.len()).all(|at| line_has(self.word(at)))
    }

    fn contains(&self, other: &Self) -> bool {
        !other.is_empty()
            && self.folded.windows(other.folded.len()).any(|part| part == other.folded)
    }

    /// Returns whether the other name is the first or last parts of this one.
    fn extends(&self, other: &Self) -> bool {
        let ends = self.folded.ends_with(&other.folded)
            && self.parts.contains(&(self.words.len() - other.words.len()));
        !other.is_empty() && (self.begins_with(other) || ends)
    }

    /// Returns whether the other name is the first parts of this one.
    fn begins_with(&self, other: &Self) -> bool {
        let behind = other.words.len();
        !other.is_empty()
            && self.folded.starts_with(&other.folded)
            && (behind == self.words.len() || self.parts.contains(&behind))
    }

    fn up_to(&self, words: usize) -> Self {
        Self {
            text: self.text.clone(),
            places: self.places.iter().take(words).cloned().collect(),
            parts: self.parts.iter().copied().filter(|part| *part < words).collect(),
            words: self.words.iter().take(words).copied().collect(),
            folded: self.folded.iter().take(words).copied().collect(),
        }
    }

    /// Returns the first part, if it satisfies `wanted`.
    fn first_part_if(&self, wanted: impl Fn(&Self) -> bool) -> Option<Self> {
        Some(self.up_to(self.first_part().len())).filter(wanted)
    }

    fn first_part(&self) -> &[u64] {
        let end = self.parts.get(1).copied().unwrap_or(self.folded.len());
        self.folded.get(..end).unwrap_or_default()
    }

    /// Returns both numbers, if the names differ only in one number that occurs at least twice: the edition in "Icon (Java
    /// SE 17 & JDK 17)". A size such as "40 x 40" is no edition, nor are month and day of "2026-03-03",
    /// counters, and numbers of sections.
    fn edition(&self, other: &Self) -> Option<[String; 2]> {
        let mut pairs = self.folded.iter().zip(&other.folded).enumerate();
        let mut replaced: Option<(usize, u64, u64)> = None;
        let mut places = 0;
        let same_length = self.words.len() == other.words.len();
        let all = same_length
            && pairs.all(|(at, (one, two))| {
                one == two || {
                    places += 1;
                    is_number(self.word(at))
                        && is_number(other.word(at))
                        && replaced.get_or_insert((at, *one, *two)).1 == *one
                        && replaced.is_some_and(|(_, _, second)| second == *two)
                }
            });
        let (at, ..) = replaced.filter(|_| all && places > 1)?;
        let is_changing = |name: &Self| {
            let words: Vec<&str> = (0..name.words.len()).map(|at| name.word(at)).collect();
            changing(&words).get(at) == Some(&true)
        };
        if is_by(self.word(at + 1)) || is_changing(self) || is_changing(other) {
            return None;
        }
        Some([self.word(at).to_owned(), other.word(at).to_owned()])
    }

    fn word(&self, at: usize) -> &str {
        self.places.get(at).and_then(|place| self.text.get(place.clone())).unwrap_or_default()
    }

    /// Returns the words that replace each other, if both names have one pattern and are not sentences.
    fn differing(&self, other: &Self) -> Option<[Range<usize>; 2]> {
        self.differing_once(other).or_else(|| self.differing_numbers(other))
    }

    /// The same, of names that differ in one place.
    fn differing_once(&self, other: &Self) -> Option<[Range<usize>; 2]> {
        let (common, between) = self.between(other);
        self.has_frame(other, common).then_some(between)
    }

    /// The same, of names that differ in numbers in several places: the words from the first place to the last.
    fn differing_numbers(&self, other: &Self) -> Option<[Range<usize>; 2]> {
        let names = [self, other];
        if names.iter().any(|name| name.words.len() > LONGEST_NAME) {
            return None;
        }
        let words =
            names.map(|name| (0..name.words.len()).map(|at| name.word(at)).collect::<Vec<&str>>());
        let common = common_words([&words[0], &words[1]], [&self.folded, &other.folded])?;
        self.has_frame(other, common).then(|| self.between(other).1)
    }

    /// Returns whether two names with this number of common words have one pattern.
    fn has_frame(&self, other: &Self, common: usize) -> bool {
        let longer = self.words.len().max(other.words.len());
        longer <= LONGEST_NAME && common as f64 >= FRAME * longer as f64
    }

    /// Returns the number of words in the common beginning and end, and the words between these.
    fn between(&self, other: &Self) -> (usize, [Range<usize>; 2]) {
        let same = |(one, other): &(&u64, &u64)| one == other;
        let head = self.folded.iter().zip(&other.folded).take_while(same).count();
        let one = self.folded.get(head..).unwrap_or_default();
        let two = other.folded.get(head..).unwrap_or_default();
        let tail = one.iter().rev().zip(two.iter().rev()).take_while(same).count();
        (head + tail, [head..head + one.len() - tail, head..head + two.len() - tail])
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) heading: Name,
    pub(super) title: Name,
    /// The title without its last part. On different sites, that part is the site's name.
    alone: Name,
    /// Whether the title is a file name.
    is_file: bool,
}

/// Returns the relation of the names of two pages, and the names that determine it.
fn relation(
    [one, other]: [&Names; 2],
    one_site: bool,
    known: impl Fn(usize, &Name) -> f64,
) -> (NameRelation, [&Name; 2]) {
    let headings = [&one.heading, &other.heading];
    let titles = if one_site { [&one.title, &other.title] } else { [&one.alone, &other.alone] };
    let (good, good_other) = (one.title_contains_heading(), other.title_contains_heading());
    let headed = headings.iter().all(|name| !name.is_empty());
    let titled = titles.iter().all(|name| !name.is_empty());
    if !titled {
        return of_names(headings);
    }
    // "stream Class Hierarchy" and "dom Class Hierarchy": the heading is only the kind of the page.
    let kind =
        [one, other].map(|page| page.title.first_part_if(|part| part.contains(&page.heading)));
    let of_kind = match kind {
        // Several numbers in titles over one heading are those of editions.
        [Some(one), Some(other)] => one
            .differing_once(&other)
            .is_some_and(|[one, other]| !one.is_empty() && !other.is_empty()),
        _ => false,
    };
    let titled_heading = one.title_shares_heading() || other.title_shares_heading();
    if headed && headings[0] == headings[1] && titled_heading && !of_kind {
        return (NameRelation::Same, headings);
    }
    if titles[0] == titles[1] {
        let speaks = |side: usize| {
            titles[side].words.len() >= LONG_TITLE && known(side, titles[side]) >= KNOWN
        };
        if !headed || headings[0] == headings[1] {
            return (NameRelation::Same, titles);
        }
        // A title that the text does not mention may be that of the whole site. Then the headings are the names.
        let replaced = headings[0]
            .differing(headings[1])
            .is_some_and(|[one, other]| !one.is_empty() && !other.is_empty());
        return match of_names(headings) {
            (NameRelation::Pattern, names) if !replaced => (NameRelation::Same, names),
            (NameRelation::Pattern, names) if good && good_other => (NameRelation::Pattern, names),
            _ if one.title_shares_heading() || other.title_shares_heading() || one.is_file => {
                (NameRelation::Same, titles)
            }
            (NameRelation::Other, _) if speaks(0) && speaks(1) => (NameRelation::Same, titles),
            relation => relation,
        };
    }
    let extended = titles[0].extends(titles[1]) || titles[1].extends(titles[0]);
    let each = !of_kind && other.title.contains(&one.heading) && one.title.contains(&other.heading);
    let begins = good && titles[1].begins_with(&one.heading)
        || good_other && titles[0].begins_with(&other.heading);
    if extended || each || begins || titles[0].edition(titles[1]).is_some() {
        return (NameRelation::Same, titles);
    }
    let first = one.title.first_part();
    let begins_long = first == other.title.first_part() && first.len() >= LONG_TITLE;
    if begins_long && !(good && good_other) {
        return (NameRelation::Same, titles);
    }
    // A heading that is missing in its title is not a name.
    of_names(if headed && good && good_other && !of_kind { headings } else { titles })
}

/// Returns whether a title looks like a file name, such as `class-and-style.md`: without spaces, and with a lower-case
/// extension of one to five letters.
fn names_file(title: &str) -> bool {
    let ending = title.trim().rsplit_once('.').map(|(_, ending)| ending);
    !title.trim().contains(char::is_whitespace)
        && ending.is_some_and(|ending| {
            (1..=MAX_FILE_ENDING).contains(&ending.len())
                && ending.bytes().all(|c| c.is_ascii_lowercase())
        })
}

const MAX_FILE_ENDING: usize = 5;

fn of_names(names: [&Name; 2]) -> (NameRelation, [&Name; 2]) {
    let relation = if names.iter().any(|name| name.is_empty()) {
        NameRelation::Unknown
    } else if names[0] == names[1] {
        NameRelation::Same
    } else if names[0].differing(names[1]).is_some() {
        NameRelation::Pattern
    } else {
        NameRelation::Other
    };
    (relation, names)
}

/// Removes a leading label and number, such as "Chapter 62." or "Section 4:". The number may differ between editions.
fn without_chapter(text: &str) -> &str {
    let Some((word, rest)) = text.trim_start().split_once(char::is_whitespace) else { return text };
    let Some((number, rest)) = rest.trim_start().split_once(char::is_whitespace) else {
        return text;
    };
    let numbered = number.strip_suffix(['.', ':']).is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit() || c == b'.')
    });
    let chapter = is_referring(&word.to_lowercase());
    if chapter && numbered && !rest.trim().is_empty() { rest } else { text }
}

/// Splits a name at opening brackets, and at dashes, colons and similar signs beside a space or CJK character. Commas,
/// periods, quotes and `& / + # % ! ?` do not split, and `std::net` and `time_t` stay whole.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(name);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut before: Option<char> = None;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let after = chars.peek().map(|(_, c)| *c);
            let beside = [before, after].into_iter().flatten();
            // A combining mark belongs to the letter before it.
            let apart = c.is_whitespace()
                || is_mark(c)
                || matches!(
                    c,
                    '\'' | '’'
                        | '.'
                        | ','
                        | '&'
                        | '/'
                        | '+'
                        | '#'
                        | '%'
                        | '"'
                        | '“'
                        | '”'
                        | '!'
                        | '?'
                );
            let joint = !c.is_alphanumeric() && !apart;
            let open = beside.clone().any(|c| c.is_whitespace() || is_cjk(c));
            if joint && at > 0 && (open || matches!(c, '(' | '[' | '（' | '【' | '｜' | '：')) {
                rest = text.get(at + c.len_utf8()..);
                return text.get(..at);
            }
            before = Some(c);
        }
        rest = None;
        Some(text)
    })
}

impl Names {
    pub(super) fn of(heading: &str, title: &str) -> Self {
        let name = Name::of(title);
        let last = name.parts.last().copied().filter(|last| *last > 0);
        let alone = last.map_or_else(|| name.clone(), |last| name.up_to(last));
        Self { heading: Name::of(heading), title: name, alone, is_file: names_file(title) }
    }

    /// Returns whether heading or title have a word.
    pub(super) fn have(&self, word: &str) -> bool {
        let folded = HASH.hash(caseless(word).as_bytes());
        [&self.heading, &self.title].iter().any(|name| name.folded.contains(&folded))
    }

    /// Returns the words of the title that the other title lacks, except numbers, which may be editions.
    pub(super) fn own_title_words(&self, other: &Self) -> Vec<u64> {
        let title = &self.title;
        let own = |at: &usize| {
            let known = |word: &u64| other.title.folded.contains(word);
            !is_number(title.word(*at)) && !title.folded.get(*at).is_some_and(known)
        };
        let places = (0..title.words.len()).filter(own);
        places.filter_map(|at| title.words.get(at).copied()).collect()
    }

    /// Returns whether the title contains the heading.
    fn title_contains_heading(&self) -> bool {
        self.title.contains(&self.heading)
    }

    /// Returns whether the title has at least half of the heading's words.
    fn title_shares_heading(&self) -> bool {
        let known = self.heading.folded.iter().filter(|word| self.title.folded.contains(word));
        !self.heading.is_empty() && known.count() as f64 >= KNOWN * self.heading.words.len() as f64
    }
}

/// Two names, and the range of words in each that differs: all words without a pattern.
pub(super) struct Named<'n> {
    pub(super) relation: NameRelation,
    pub(super) names: [&'n Name; 2],
    pub(super) differing: [Range<usize>; 2],
}

impl<'n> Named<'n> {
    /// Compares names. `known` returns the share of a name's words that a text contains.
    pub(super) fn of(
        pages: [&'n Names; 2],
        one_site: bool,
        known: impl Fn(usize, &Name) -> f64,
    ) -> Self {
        let (relation, names) = relation(pages, one_site, known);
        let differing = names[0].differing(names[1]);
        let all = [0..names[0].words.len(), 0..names[1].words.len()];
        Named { relation, names, differing: differing.unwrap_or(all) }
    }

    /// Returns the words of one name that the other lacks.
    pub(super) fn own_words(&self, side: usize) -> impl Iterator<Item = u64> + '_ {
        let (name, theirs) = (self.names[side], &self.names[1 - side].folded);
        let own = name.words.iter().zip(&name.folded);
        own.filter(|(_, folded)| !theirs.contains(folded)).map(|(word, _)| *word)
    }

    /// [`own_words`](Self::own_words) of at least four letters, and pairs of Chinese characters or of katakana in one part
    /// of the name. Shorter words, single characters and hiragana occur in every text; two scripts meet between words.
    pub(super) fn own_phrases(&self, side: usize) -> Vec<Vec<u64>> {
        let name = self.names[side];
        let own: HashSet<u64> = self.own_words(side).collect();
        let script = |at: usize| script_of(name.words.get(at).map_or("", |_| name.word(at)));
        let phrase = |at: usize| -> Option<&[u64]> {
            match script(at) {
                Script::Other => {
                    let is_long = name.word(at).chars().count() >= LONG_WORD;
                    name.words.get(at..=at).filter(|_| is_long)
                }
                Script::Hiragana => None,
                one => {
                    let pairs = script(at + 1) == one && !name.parts.contains(&(at + 1));
                    name.words.get(at..=at + 1).filter(|_| pairs)
                }
            }
        };
        let phrases = (0..name.words.len()).filter_map(phrase);
        let is_own = |words: &&[u64]| words.iter().any(|word| own.contains(word));
        phrases.filter(is_own).map(<[u64]>::to_vec).collect()
    }

    /// Returns the numbers of two editions.
    pub(super) fn edition(&self) -> Option<[String; 2]> {
        self.names[0].edition(self.names[1])
    }

    /// Returns the words of a name that replace those of the other, as text.
    pub(super) fn own_phrase(&self, side: usize) -> String {
        let name = self.names[side];
        let places = name.places.get(self.differing[side].clone()).unwrap_or_default();
        let words = places.iter().filter_map(|place| name.text.get(place.clone()));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The scripts in which each character is a word here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Han,
    Hiragana,
    Katakana,
    Other,
}

fn script_of(word: &str) -> Script {
    match word.chars().next() {
        Some('\u{3041}'..='\u{309F}') => Script::Hiragana,
        Some('\u{30A0}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}') => Script::Katakana,
        Some(c) if is_cjk(c) => Script::Han,
        _ => Script::Other,
    }
}

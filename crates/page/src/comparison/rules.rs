//! The rules that decide whether a difference makes two pages.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Compared;
use super::names::{Name, NameRelation, Named};
use super::rows;
use super::typos::is_typo;
use crate::difference::{
    Difference, Part, PartKind, Substitution, Summary, SummaryKind, Words, compare,
    compare_in_pages, is_number, phrases, summaries,
};

/// Maximum number of words of a short name. Longer names are headlines, which editors rewrite.
const SHORT_NAME: usize = 5;
/// A name of at least this number of words and more than this number of letters is a headline too: words are long in German.
const SHORT_HEADLINE: (usize, usize) = (4, 30);
/// A typo is mended in at most this number of places. More of them are those of a template.
const MENDED: usize = 3;
/// Texts with fewer words must not differ.
const FEW_WORDS: usize = 15;
/// With fewer words, a text must mention its name.
const TEMPLATE_WORDS: usize = 200;
/// Minimum share of its name's words that a text mentions.
const SPEAKS: f64 = 0.25;
/// Minimum share of the words that substitutions must affect to indicate a template.
const SUBSTITUTED: f64 = 0.008;
/// Minimum number of words of a text under the same name in which substitutions are edits.
const EDITED_WORDS: usize = 400;
/// Differing cells with numbers: minimum count, and minimum share of all such cells.
const CELLS: (usize, f64) = (2, 0.3);
/// Differing numbers: minimum count, number of lines, share of the page's numbers, share of its words.
const NUMBERS: (usize, usize, f64, f64) = (2, 2, 0.3, 0.015);
/// Maximum share of unique text under the same name: in both pages, in one.
const OWN: [f64; 2] = [0.15, 0.7];
/// The same under different names.
const OWN_OTHER_NAME: [f64; 2] = [0.03, 0.15];
/// Maximum share of unique text in a page that nothing but an equal name proposed.
const OWN_BY_NAME: f64 = 0.5;
/// Minimum number of words per run of replaced words in such a page.
const WORDS_PER_RUN: usize = 20;
/// Maximum share of unique text, if lines that the other page has outside its text do not count.
const OWN_EXCUSED: f64 = 0.25;
/// Maximum share of such lines in both texts. More of them are two pages that show each other's beginning.
const SWAPPED: f64 = 0.05;
/// With this share and number of unique words, a page is not a copy of another site's page.
const OWN_OTHER_SITE: (f64, usize) = (0.2, 50);
/// Minimum number of words of a sentence.
const SENTENCE: usize = 8;
/// Minimum number of words per number in a sentence. With fewer, a line is a box: weather, stock prices.
const PER_NUMBER: usize = 4;
/// Differing numbers in one sentence: minimum share of its numbers, and of the page's words.
const OF_SENTENCE: (f64, f64) = (0.6, 0.01);
/// A number replaced in this number of places or more belongs to a chapter or edition.
const RENUMBERED: usize = 3;
/// Minimum number of digits of a number that identifies the subject of a page, such as an article's number.
const ID_DIGITS: usize = 5;
/// Maximum number of lines from a short line with such a number to a sentence with it.
const ID_LINES: usize = 3;
/// Maximum number of letters in the ending of two words with one stem.
const MAX_ENDING: usize = 3;

/// The reason for a verdict about two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The words are equal.
    EqualText,
    /// Only dates, counters, section numbers and moved lines differ.
    Volatile,
    /// The difference is small.
    LittleDiffers,
    /// Each text contains a word of its name that the other page lacks in name and text.
    NameInText,
    /// The names have one pattern and differ in one place, or in numbers in several.
    NamePattern,
    /// The names differ.
    OtherName,
    /// A text does not mention its name: it comes from the template.
    TemplateText,
    /// A word or phrase is replaced in every place.
    Substitution,
    /// Numbers in tables differ.
    TableCells,
    /// Numbers in the text differ.
    Numbers,
    /// A text of fewer than 15 words differs.
    FewWords,
    /// A part of one page, or of each, is missing in the other.
    OwnText,
}

impl Reason {
    /// Returns whether the two are one page.
    pub const fn same(self) -> bool {
        matches!(self, Self::EqualText | Self::Volatile | Self::LittleDiffers)
    }

    /// Returns the reason in words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::EqualText => "the words are equal",
            Self::Volatile => "nothing differs but dates, counters and numbers of sections",
            Self::LittleDiffers => "little differs",
            Self::NameInText => "each text has a word of its page's name that the other text lacks",
            Self::NamePattern => {
                "the names follow one pattern and differ in one place or in numbers"
            }
            Self::OtherName => "the names differ",
            Self::TemplateText => "the text does not mention the name: it is the template",
            Self::Substitution => "a word is replaced by another one in every place",
            Self::TableCells => "the numbers in the tables differ",
            Self::Numbers => "the numbers in the text differ",
            Self::FewWords => "the text is short, and its words differ",
            Self::OwnText => "too much of one page is missing in the other",
        }
    }

    /// Returns the name of the reason in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EqualText => "equal-text",
            Self::Volatile => "volatile",
            Self::LittleDiffers => "little-differs",
            Self::NameInText => "name-in-text",
            Self::NamePattern => "name-pattern",
            Self::OtherName => "other-name",
            Self::TemplateText => "template-text",
            Self::Substitution => "substitution",
            Self::TableCells => "table-cells",
            Self::Numbers => "numbers",
            Self::FewWords => "few-words",
            Self::OwnText => "own-text",
        }
    }
}

/// Result of a comparison.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The reason; it implies the verdict.
    pub reason: Reason,
    /// The relation of the names.
    pub names: NameRelation,
    /// The words of each name that replace those of the other.
    pub differing_names: [String; 2],
    /// Difference of the texts; `None` if the names decided.
    pub difference: Option<Difference>,
}

impl Outcome {
    /// Returns whether the two are one page.
    pub const fn same(&self) -> bool {
        self.reason.same()
    }

    /// Returns the outcome for a pair that nothing but an equal name proposed. Two versions of a page differ in blocks.
    /// So at most half of each page may be unique: a contact page is not a copy of each page of its name that has the
    /// same address. And few words may be replaced in between: reports on two towns have the same sentences.
    #[must_use]
    pub fn proposed_by_name(mut self) -> Self {
        let Some(difference) = self.difference.as_ref().filter(|_| self.same()) else {
            return self;
        };
        let replaced = |part: &&Part| matches!(part.kind, PartKind::Words | PartKind::Number);
        let runs = difference.parts.iter().filter(replaced).count();
        let [one, other] = difference.words;
        if difference.own_shares().iter().any(|share| *share > OWN_BY_NAME)
            || runs * WORDS_PER_RUN > one.min(other)
        {
            self.reason = Reason::OwnText;
        }
        self
    }

    /// Returns whether lines that one page has outside its text were excused.
    pub fn excuses_outside(&self) -> bool {
        self.difference.as_ref().is_some_and(|difference| difference.outside != [0; 2])
    }

    /// Returns the differences, first of the names, then of the texts.
    pub fn summaries(&self, page: &Compared, kept: &Compared) -> Vec<Summary> {
        let texts = self.difference.as_ref();
        let texts = texts.map(|difference| summaries(difference, [page.words(), kept.words()]));
        self.named().into_iter().chain(texts.into_iter().flatten()).collect()
    }

    /// Returns the differences as phrases. `names` denote the two pages in them.
    pub fn phrases(&self, page: &Compared, kept: &Compared, names: [&str; 2]) -> Vec<String> {
        let named = self.named().map(|summary| summary.phrase(names));
        let texts = self.difference.as_ref();
        let texts =
            texts.map(|difference| phrases(difference, [page.words(), kept.words()], names));
        named.into_iter().chain(texts.into_iter().flatten()).collect()
    }

    fn named(&self) -> Option<Summary> {
        let [first, second] = &self.differing_names;
        (first != second).then(|| Summary {
            kind: SummaryKind::Name,
            words: first.split_whitespace().count().max(second.split_whitespace().count()),
            example: format!("\"{first}\" -> \"{second}\""),
            ..Summary::default()
        })
    }
}

/// Compares a page with a kept page; `one_site` means that both are on one site.
///
/// Swapped pages give the same outcome, with one exception. A page of another site with unique text is not a copy
/// ([`Reason::OwnText`]), but a page is one if the kept page contains it.
///
/// # Complexity
/// That of [`compare_in_pages`], unless the names decide.
pub fn compare_pages(page: &Compared, kept: &Compared, one_site: bool) -> Outcome {
    let pages = [page, kept];
    let known = |side: usize, name: &Name| pages[side].share_known(name);
    let named = Named::of([&page.names, &kept.names], one_site, known);
    Pair { pages, named, one_site }.outcome()
}

struct Pair<'p> {
    pages: [&'p Compared; 2],
    named: Named<'p>,
    one_site: bool,
}

impl Pair<'_> {
    fn outcome(&self) -> Outcome {
        let differing = [0, 1].map(|side| self.named.own_phrase(side));
        let (reason, difference) = match self.by_names() {
            Some(reason) => (reason, None),
            None => {
                let (reason, difference) = self.by_texts();
                (reason, Some(difference))
            }
        };
        Outcome { reason, names: self.named.relation, differing_names: differing, difference }
    }

    fn by_texts(&self) -> (Reason, Difference) {
        let difference = compare(self.pages[0].words(), self.pages[1].words());
        let reason = self.by_text(&difference);
        if reason == Reason::OwnText && self.named.relation == NameRelation::Same {
            let outside = self.pages.map(|page| &page.page.outside);
            let excused = compare_in_pages(self.words(), outside);
            if excused.outside != [0; 2] && self.is_excused(&excused) {
                return (Reason::LittleDiffers, excused);
            }
        }
        (reason, difference)
    }

    fn words(&self) -> [&Words; 2] {
        self.pages.map(Compared::words)
    }

    fn fewest(&self) -> usize {
        let [one, other] = self.words().map(Words::len);
        one.min(other)
    }

    /// Returns the length of the shorter text, for limits.
    fn length(&self) -> usize {
        let [one, other] = self.words().map(Words::length);
        one.min(other)
    }

    fn by_names(&self) -> Option<Reason> {
        let relation = self.named.relation;
        if self.one_site && self.has_title_word(0) && self.has_title_word(1) {
            return Some(Reason::NameInText);
        }
        if !matches!(relation, NameRelation::Pattern | NameRelation::Other) {
            return None;
        }
        let own = |side: usize| {
            let (own, theirs) = (self.pages[side], self.pages[1 - side]);
            let mut words = self.named.own_words(side);
            words.any(|word| own.knows(word) && !theirs.knows(word))
        };
        if own(0) && own(1) {
            return Some(Reason::NameInText);
        }
        if relation == NameRelation::Pattern {
            return Some(Reason::NamePattern);
        }
        if self.named.names.iter().all(|name| is_short(name)) {
            return Some(Reason::OtherName);
        }
        // Only words that the other name lacks.
        let speaks = |side: usize| {
            let own = self.named.own_phrases(side);
            let known = own.iter().filter(|phrase| self.pages[side].has(phrase)).count();
            known as f64 >= SPEAKS * own.len() as f64
        };
        (self.length() < TEMPLATE_WORDS && !(speaks(0) && speaks(1)))
            .then_some(Reason::TemplateText)
    }

    /// Returns whether a word of only this title is only in this text: "Tee - Navy" under the heading "Tee".
    fn has_title_word(&self, side: usize) -> bool {
        let (own, other) = (self.pages[side], self.pages[1 - side]);
        let words = own.names.own_title_words(&other.names);
        words.into_iter().any(|word| own.knows(word) && !other.knows(word))
    }

    fn by_text(&self, difference: &Difference) -> Reason {
        let words = self.length();
        if self.cells_differ() {
            return Reason::TableCells;
        }
        if difference.parts.is_empty() {
            return Reason::EqualText;
        }
        if self.names_replace_each_other(difference) {
            return Reason::NameInText;
        }
        if self.is_substituted(difference) {
            return Reason::Substitution;
        }
        if self.numbers_differ(difference) || rows::hours_differ(self.words()) {
            return Reason::Numbers;
        }
        if words < FEW_WORDS && !self.is_footer(difference) {
            return Reason::FewWords;
        }
        let volatile = |kind: PartKind| {
            matches!(
                kind,
                PartKind::Date | PartKind::Counter | PartKind::Reference | PartKind::Moved
            )
        };
        if difference.parts.iter().all(|part| volatile(part.kind)) {
            return Reason::Volatile;
        }
        // Moved lines are in both texts, unless one repeats them.
        let contained = difference.containment();
        let lacking = |side: usize| 1.0 - contained[side];
        let [one, other] = difference.own_shares();
        let [both, either] = match self.named.relation {
            NameRelation::Same => OWN,
            _ => OWN_OTHER_NAME,
        };
        let most = one.max(other).max(lacking(0)).max(lacking(1));
        if one.min(other) > both
            || one.max(other) > either
            || most > OWN[1]
            || self.is_foreign(difference)
        {
            return Reason::OwnText;
        }
        Reason::LittleDiffers
    }

    /// Returns whether only one page has further lines, and these are dates and names of the site: those of a printed page.
    fn is_footer(&self, difference: &Difference) -> bool {
        let texts = self.words();
        let of_site = |side: usize, range: &Range<usize>| {
            let lines = texts[side].lines_within(range);
            let title = &self.pages[side].names.title;
            lines.iter().all(|line| title.has(texts[side].hashes().get(line.clone())))
        };
        let only = |side: usize, part: &Part| {
            let (own, other) = match side {
                0 => (&part.first, &part.second),
                _ => (&part.second, &part.first),
            };
            let known = match part.kind {
                PartKind::Date => true,
                PartKind::Added | PartKind::Removed => of_site(side, own),
                _ => false,
            };
            other.is_empty() && known
        };
        (0..2).any(|side| difference.parts.iter().all(|part| only(side, part)))
    }

    /// Returns whether the page is on another site and has unique text.
    fn is_foreign(&self, difference: &Difference) -> bool {
        let (share, least) = OWN_OTHER_SITE;
        !self.one_site && difference.own_shares()[0] > share && difference.own[0] >= least
    }

    /// Returns whether little is unique but lines that the other page has outside its text: extraction cut two versions
    /// of one page differently.
    fn is_excused(&self, difference: &Difference) -> bool {
        let [one, other] = difference.own_shares();
        let excused =
            |side: usize| difference.outside[side] as f64 / difference.words[side].max(1) as f64;
        one.min(other) <= OWN[0]
            && one.max(other) <= OWN_EXCUSED
            && excused(0).min(excused(1)) <= SWAPPED
            && !self.is_foreign(difference)
    }

    fn cells_differ(&self) -> bool {
        let [one, other] = self.pages.map(Compared::cells);
        let own = [one.own(other), other.own(one)];
        let (least, share) = CELLS;
        let most = one.len().min(other.len()).max(1) as f64;
        own.iter().all(|own| *own >= least && *own as f64 >= share * most)
    }

    /// Returns whether a word of one name is replaced in the text by a word of the other name.
    fn names_replace_each_other(&self, difference: &Difference) -> bool {
        if self.named.relation != NameRelation::Other {
            return false;
        }
        let texts = self.words();
        let own = [0, 1].map(|side| self.named.own_words(side).collect::<Vec<u64>>());
        let has = |side: usize, range: &Range<usize>| {
            let hashes = texts[side].hashes().get(range.clone()).unwrap_or_default();
            hashes.iter().any(|word| own[side].contains(word))
        };
        difference.parts.iter().any(|part| has(0, &part.first) && has(1, &part.second))
    }

    fn is_substituted(&self, difference: &Difference) -> bool {
        let [one, other] = self.words();
        let replaced = difference.substitutions(one, other);
        let edition = self.named.edition();
        let counts = |one: &&Substitution| {
            let is_edition = edition
                .as_ref()
                .is_some_and(|[first, second]| (first, second) == (&one.first, &one.second));
            !is_edition && !same_stem(&one.first, &one.second) && !self.is_mended(one)
        };
        if replaced.iter().any(|one| self.identifies(one, difference)) {
            return true;
        }
        let words: usize = replaced
            .iter()
            .filter(counts)
            .map(|one| one.times * one.first.split(' ').count().max(one.second.split(' ').count()))
            .sum();
        !self.is_edited() && words > 0 && words as f64 >= SUBSTITUTED * self.fewest() as f64
    }

    /// Returns whether a typo is mended in few places. A word in the names is the subject of the page.
    fn is_mended(&self, one: &Substitution) -> bool {
        let named = |word: &str| self.pages.iter().any(|page| page.names.have(word));
        one.times <= MENDED
            && is_typo(&one.first, &one.second)
            && !named(&one.first)
            && !named(&one.second)
    }

    /// Returns whether a long number is replaced in a short line and in a sentence soon behind it: "Item 19165", "This is
    /// the page of item 19165." Numbers of builds and revisions stand in the last line.
    fn identifies(&self, replaced: &Substitution, difference: &Difference) -> bool {
        if !is_id(&replaced.first) || !is_id(&replaced.second) {
            return false;
        }
        let texts = self.words();
        let is_it = |part: &&Part| {
            phrases_of(part, texts) == (replaced.first.clone(), replaced.second.clone())
        };
        let places: Vec<&Part> = difference.parts.iter().filter(is_it).collect();
        let follows = |(text, named, sentence): (&Words, &Range<usize>, &Range<usize>)| {
            let lines = [named, sentence].map(|words| text.line_of(words.start));
            lines[0] < lines[1]
                && lines[1] - lines[0] <= ID_LINES
                && text.line(lines[0]).len() <= SHORT_NAME
                && text.line(lines[1]).len() >= SENTENCE
        };
        places.iter().any(|named| {
            places.iter().any(|sentence| {
                follows((texts[0], &named.first, &sentence.first))
                    && follows((texts[1], &named.second, &sentence.second))
            })
        })
    }

    /// Returns whether this is a long text under one name, in which replacements are edits.
    fn is_edited(&self) -> bool {
        self.named.relation == NameRelation::Same && self.length() >= EDITED_WORDS
    }

    fn numbers_differ(&self, difference: &Difference) -> bool {
        let (least, least_lines, of_numbers, of_words) = NUMBERS;
        let texts = self.words();
        let mut renumbered = Vec::new();
        if self.is_edited() {
            renumbered = difference.substitutions(texts[0], texts[1]);
            renumbered.retain(|one| one.times >= RENUMBERED && is_number(&one.first));
        }
        let rows = rows::replaced(difference, texts);
        let side = |side: usize| {
            let text = texts[side];
            let mut numbers = 0;
            let mut lines: BTreeMap<usize, usize> = BTreeMap::new();
            for part in &difference.parts {
                if !matches!(part.kind, PartKind::Number | PartKind::Words) {
                    continue;
                }
                let pair = phrases_of(part, texts);
                if renumbered.iter().any(|one| (&one.first, &one.second) == (&pair.0, &pair.1)) {
                    continue;
                }
                let range = if side == 0 { &part.first } else { &part.second };
                for at in range.clone().filter(|at| is_number(text.word(*at))) {
                    numbers += 1;
                    *lines.entry(text.line_of(at)).or_default() += 1;
                }
            }
            let count = |words: Range<usize>| words.filter(|at| is_number(text.word(*at))).count();
            let all = count(0..text.len());
            let reaches = |(of_numbers, of_words): (f64, f64)| {
                let numbers = (numbers + rows[side].numbers) as f64;
                numbers >= of_numbers * all as f64 && numbers >= of_words * text.len() as f64
            };
            let sentence = |(line, numbers): (&usize, &usize)| {
                let words = text.line(*line);
                let (share, of_words) = OF_SENTENCE;
                let all = count(words.clone());
                *numbers > least
                    && words.len() >= SENTENCE.max(all * PER_NUMBER)
                    && *numbers as f64 >= share * all as f64
                    && *numbers as f64 >= of_words * text.len() as f64
            };
            let in_lines = lines.len() + rows[side].lines;
            numbers + rows[side].numbers >= least
                && in_lines >= least_lines
                && reaches((of_numbers, of_words))
                || lines.iter().any(sentence)
        };
        side(0) && side(1)
    }
}

/// Returns whether a phrase is a number of at least [`ID_DIGITS`] digits, and no date like 20240311.
fn is_id(phrase: &str) -> bool {
    let within = |range: Range<usize>, least: u32, most: u32| {
        let number = phrase.get(range).and_then(|digits| digits.parse().ok());
        number.is_some_and(|number| (least..=most).contains(&number))
    };
    let is_date =
        phrase.len() == 8 && within(0..4, 1900, 2100) && within(4..6, 1, 12) && within(6..8, 1, 31);
    phrase.len() >= ID_DIGITS && phrase.bytes().all(|byte| byte.is_ascii_digit()) && !is_date
}

fn is_short(name: &Name) -> bool {
    let (words, letters) = SHORT_HEADLINE;
    name.words.len() <= SHORT_NAME && (name.words.len() < words || name.letters() <= letters)
}

fn phrases_of(part: &Part, [first, second]: [&Words; 2]) -> (String, String) {
    (first.phrase(part.first.clone()), second.phrase(part.second.clone()))
}

/// Returns whether two words differ only in their ending, like "detail" and "details".
fn same_stem(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.len() > MAX_ENDING
        && long.strip_prefix(short).is_some_and(|ending| {
            ending.chars().count() <= MAX_ENDING && !ending.contains(char::is_numeric)
        })
}

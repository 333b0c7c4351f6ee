//! Summaries of a difference by kind, with examples, as data and as phrases.

use super::{Difference, Part, PartKind, Words};

/// Maximum number of quoted parts per kind.
const QUOTED: usize = 3;
/// Maximum number of quoted words per part.
const MAX_QUOTED: usize = 8;

/// Number of other pages of a site from which on a line belongs to the site.
const SITE_PAGES: u64 = 3;

/// The differences of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The kind.
    pub kind: SummaryKind,
    /// Number of words; for a substitution, number of places.
    pub words: usize,
    /// At most three examples, quoted.
    pub example: String,
    /// Lines that only one text has: their hashes and numbers of words.
    pub lines: Vec<(u64, usize)>,
    /// The part of these lines that the site repeats, if [`Summary::find_repeated`] found some.
    pub repeated: Option<Repeated>,
}

/// Lines of a difference that the site repeats on other pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Number of words in these lines.
    pub words: usize,
    /// Minimum number of other kept pages of the site that contain one of these lines.
    pub pages: u64,
}

/// Kinds of differences, most significant first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SummaryKind {
    /// The names of the two pages: heading or title.
    #[default]
    Name,
    /// A phrase that another one replaces in several places.
    Substitution,
    /// Numbers.
    Number,
    /// Replaced words.
    Words,
    /// Lines that only the second text has.
    OnlySecond,
    /// Lines that only the first text has.
    OnlyFirst,
    /// Lines in another place.
    Moved,
    /// Lines that the other page has outside its text.
    Outside,
    /// Numbers of sections, figures and the like.
    Reference,
    /// Counters: views, comments.
    Counter,
    /// Dates and times.
    Date,
}

impl SummaryKind {
    /// Returns the name in the log, where the discarded page is the first text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Substitution => "substitution",
            Self::Number => "number",
            Self::Words => "words",
            Self::OnlySecond => "only-in-kept",
            Self::OnlyFirst => "only-in-discarded",
            Self::Moved => "moved",
            Self::Outside => "outside-text",
            Self::Reference => "reference",
            Self::Counter => "counter",
            Self::Date => "date",
        }
    }
}

impl Summary {
    /// Finds the lines that the site repeats: three or more of its other pages contain each. `pages_with` returns the
    /// number of other kept pages of the site that contain a line.
    pub fn find_repeated(&mut self, pages_with: impl Fn(u64) -> u64) {
        let mut found: Option<Repeated> = None;
        for (line, words) in &self.lines {
            let pages = pages_with(*line);
            if pages >= SITE_PAGES {
                let before = found.unwrap_or(Repeated { words: 0, pages });
                found =
                    Some(Repeated { words: before.words + words, pages: before.pages.min(pages) });
            }
        }
        self.repeated = found;
    }

    /// Returns the summary as a phrase. `names` denote the two texts in it.
    pub fn phrase(&self, names: [&str; 2]) -> String {
        let what = match self.kind {
            SummaryKind::Name => return format!("other name: {}", self.example),
            SummaryKind::Substitution => {
                return format!("{} in {} places", self.example, self.words);
            }
            SummaryKind::Number => "other numbers".to_owned(),
            SummaryKind::Words => "other words".to_owned(),
            SummaryKind::OnlySecond => format!("only in {}", names[1]),
            SummaryKind::OnlyFirst => format!("only in {}", names[0]),
            SummaryKind::Moved => "moved".to_owned(),
            SummaryKind::Outside => "outside the text of the other page".to_owned(),
            SummaryKind::Reference => "other numbers of sections".to_owned(),
            SummaryKind::Counter => "other counters".to_owned(),
            SummaryKind::Date => "other dates or times".to_owned(),
        };
        let words =
            if self.words == 1 { "1 word".to_owned() } else { format!("{} words", self.words) };
        let repeated = self.repeated.map_or(String::new(), |Repeated { words, pages }| {
            let part = if words < self.words { format!("{words} of them ") } else { String::new() };
            format!(" ({part}also on {pages} other pages of this site)")
        });
        format!("{what}, {words}{repeated}: {}", self.example)
    }
}

/// Returns a summary per kind and of the three most frequent substitutions, most significant first.
pub fn summaries(difference: &Difference, [first, second]: [&Words; 2]) -> Vec<Summary> {
    let mut all = Vec::new();
    for one in difference.substitutions(first, second).iter().take(QUOTED) {
        let example = format!("\"{}\" -> \"{}\"", one.first, one.second);
        let kind = SummaryKind::Substitution;
        all.push(Summary { kind, words: one.times, example, ..Summary::default() });
    }
    for (of_part, kind) in [
        (PartKind::Number, SummaryKind::Number),
        (PartKind::Words, SummaryKind::Words),
        (PartKind::Added, SummaryKind::OnlySecond),
        (PartKind::Removed, SummaryKind::OnlyFirst),
        (PartKind::Moved, SummaryKind::Moved),
        (PartKind::Outside, SummaryKind::Outside),
        (PartKind::Reference, SummaryKind::Reference),
        (PartKind::Counter, SummaryKind::Counter),
        (PartKind::Date, SummaryKind::Date),
    ] {
        let parts = || difference.parts.iter().filter(|part| part.kind == of_part);
        let words: usize = parts().map(|part| part.first.len().max(part.second.len())).sum();
        let mut quoted: Vec<String> =
            parts().take(QUOTED).map(|part| quote(part, first, second)).collect();
        if parts().nth(QUOTED).is_some() {
            quoted.push("...".to_owned());
        }
        if !quoted.is_empty() {
            let lines = match kind {
                SummaryKind::OnlyFirst => {
                    parts().flat_map(|part| first.lines_in(&part.first)).collect()
                }
                SummaryKind::OnlySecond => {
                    parts().flat_map(|part| second.lines_in(&part.second)).collect()
                }
                _ => Vec::new(),
            };
            let example = quoted.join(", ");
            all.push(Summary { kind, words, example, lines, repeated: None });
        }
    }
    all
}

/// Returns the summaries as phrases. `names` denote the two texts in a phrase.
pub fn phrases(difference: &Difference, texts: [&Words; 2], names: [&str; 2]) -> Vec<String> {
    phrases_of(difference, &summaries(difference, texts), names)
}

/// Returns the phrases of summaries of this difference.
pub fn phrases_of(difference: &Difference, summaries: &[Summary], names: [&str; 2]) -> Vec<String> {
    if summaries.is_empty() {
        let cut = if difference.cut { ", as far as it is read" } else { "" };
        return vec![format!("the same text{cut}")];
    }
    let cut = difference.cut.then(|| "the texts are longer than is compared".to_owned());
    summaries.iter().map(|summary| summary.phrase(names)).chain(cut).collect()
}

fn quote(part: &Part, first: &Words, second: &Words) -> String {
    let side = |words: &Words, range: &std::ops::Range<usize>| {
        let end = range.end.min(range.start + MAX_QUOTED);
        let more = if end < range.end { " ..." } else { "" };
        format!("\"{}{more}\"", words.phrase(range.start..end))
    };
    match (part.first.is_empty(), part.second.is_empty()) {
        (false, true) => side(first, &part.first),
        (true, _) => side(second, &part.second),
        (false, false) => format!("{} -> {}", side(first, &part.first), side(second, &part.second)),
    }
}

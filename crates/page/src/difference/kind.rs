//! Classifies differences. Dates and counters change on one page; other numbers and words distinguish pages.

use std::ops::Range;

use hapax_extract::is_referring;

use super::number::{GREATEST, is_number, is_year};
use super::timed::{is_date_of_numbers, is_relative, is_short_duration, is_time_alone, is_timed};
use super::vocabulary::{counts, is_time};

/// The kind of a part of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// Dates, times of day and relative times.
    Date,
    /// Numbers beside a word of counting, such as views and comments.
    Counter,
    /// Numbers of sections, figures and the like.
    Reference,
    /// Other numbers.
    Number,
    /// Words that replace others.
    Words,
    /// Lines that only the first text has.
    Removed,
    /// Lines that only the second text has.
    Added,
    /// Lines that the other text has in another place, or split or joined differently.
    Moved,
    /// Lines that the other page has outside its text.
    Outside,
}

/// Maximum number of words in a line of dates or counters.
const LONGEST: usize = 48;
/// Maximum number of other words in such a line.
const MAX_OTHER_WORDS: usize = 3;
/// Minimum number of numbers in a date without a word of time.
const MIN_DATE_NUMBERS: usize = 3;
/// Number of words on each side of a run that show the meaning of its numbers.
const BESIDE: usize = 3;

/// A run of words and the words around it in its text.
pub(super) struct Run<'w> {
    /// The words from a few before the run to a few behind it.
    around: Vec<&'w str>,
    /// The range of the run in these words.
    run: Range<usize>,
}

impl<'w> Run<'w> {
    /// Number of words on each side that are read.
    pub(super) const AROUND: usize = 5;

    pub(super) fn new(before: &[&'w str], words: &[&'w str], behind: &[&'w str]) -> Self {
        let run = before.len()..before.len() + words.len();
        Self { around: [before, words, behind].concat(), run }
    }

    fn words(&self) -> &[&'w str] {
        self.around.get(self.run.clone()).unwrap_or_default()
    }

    /// Returns the run with at most this number of words on each side.
    fn with(&self, beside: usize) -> &[&'w str] {
        let end = (self.run.end + beside).min(self.around.len());
        self.around.get(self.run.start.saturating_sub(beside)..end).unwrap_or_default()
    }

    fn is_beside(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let before = self.run.start.saturating_sub(BESIDE)..self.run.start;
        let behind = self.run.end..self.run.end + BESIDE;
        before.chain(behind).any(|at| self.around.get(at).is_some_and(|word| wanted(word)))
    }

    /// Returns whether the run is in a date or time: the words of dates around it without a gap have one, or a relative time is beside
    /// it.
    fn is_timed(&self) -> bool {
        let of_date = |word: &&&str| is_of_date(word) || is_time(word);
        let (before, rest) = self.around.split_at(self.run.start.min(self.around.len()));
        let before = before.iter().rev().take_while(of_date).count();
        let behind = rest.iter().skip(self.run.len()).take_while(of_date).count();
        let phrase = self.run.start - before..self.run.end + behind;
        is_timed(self.around.get(phrase).unwrap_or_default()) || is_relative(self.with(BESIDE))
    }
}

/// Returns whether a word is part of a date or time: a small number or a year, optionally with a unit (`12h`,
/// `3pm`, `1st`), or several of these joined by `t` (`05t08`, `t14`).
///
/// # Complexity
/// Linear in the word.
fn is_of_date(mut word: &str) -> bool {
    loop {
        word = word.trim_start_matches('t');
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = word.split_at(digits);
        let small = number.parse::<u32>().is_ok_and(|value| value <= GREATEST);
        if digits == 0 || !(small || is_year(number)) {
            return false;
        }
        let is_unit = matches!(
            unit,
            "" | "h" | "m" | "s" | "d" | "am" | "pm" | "st" | "nd" | "rd" | "th" | "z"
        );
        match unit.strip_prefix('t') {
            Some(next) if !is_unit => word = next,
            _ => return is_unit,
        }
    }
}

/// Returns whether a line consists of dates or a counter; `None` for any other line.
pub(super) fn of_line<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Option<PartKind> {
    if words.clone().nth(LONGEST).is_some() {
        return None;
    }
    let numbers = words.clone().filter(|word| is_number(word)).count();
    if numbers == 0 {
        let mut all = words.clone().peekable();
        let any = all.peek().is_some();
        let timed = any && all.all(is_time) && is_time_alone(words);
        return timed.then_some(PartKind::Date);
    }
    let others = words.clone().filter(|word| !is_number(word) && !is_time(word) && !counts(word));
    if others.count() > MAX_OTHER_WORDS {
        return None;
    }
    if words.clone().any(counts) {
        return Some(PartKind::Counter);
    }
    if !words.clone().filter(|word| is_number(word)).all(is_of_date) {
        return None;
    }
    let all: Vec<&str> = words.clone().collect();
    let of_numbers = || {
        let numbers: Vec<&str> = all.iter().copied().filter(|word| is_number(word)).collect();
        numbers.len() >= MIN_DATE_NUMBERS && is_date_of_numbers(&numbers)
    };
    (is_timed(&all) || is_short_duration(words) || of_numbers()).then_some(PartKind::Date)
}

/// Classifies two runs of words that replace each other.
pub(super) fn of_run(runs: &[Run<'_>; 2]) -> PartKind {
    let both = || runs.iter().flat_map(|run| run.words()).copied();
    if !both().any(is_number) {
        let timed = both().all(is_time) && is_time_alone(both());
        return if timed { PartKind::Date } else { PartKind::Words };
    }
    let all_numbers = both().all(is_number);
    if all_numbers && runs.iter().any(|run| run.is_beside(counts)) {
        return PartKind::Counter;
    }
    if both().all(|word| is_of_date(word) || is_time(word)) && runs.iter().any(Run::is_timed) {
        return PartKind::Date;
    }
    if all_numbers && runs.iter().any(|run| run.is_beside(is_referring)) {
        return PartKind::Reference;
    }
    if all_numbers { PartKind::Number } else { PartKind::Words }
}

/// Returns for each word whether it is part of a date or a time.
///
/// # Complexity
/// Linear in the words.
pub(crate) fn of_dates(words: &[&str]) -> Vec<bool> {
    let mut found = vec![false; words.len()];
    let of_date = |word: &str| is_time(word) || is_of_date(word);
    let mut start = 0;
    for run in words.chunk_by(|one, next| of_date(one) == of_date(next)) {
        let end = start + run.len();
        let timed = run.iter().any(|word| is_time(word));
        let numbers = run.iter().filter(|word| of_date(word)).count();
        let dated = numbers >= MIN_DATE_NUMBERS && run.iter().any(|word| is_year(word));
        if timed || dated {
            found.get_mut(start..end).unwrap_or_default().fill(true);
        }
        start = end;
    }
    found
}

/// Returns for each word of a name whether it is part of a date, a counter or the number of a section.
///
/// # Complexity
/// Linear in the words.
pub(crate) fn changing(words: &[&str]) -> Vec<bool> {
    let mut found = of_dates(words);
    let mut start = 0;
    for run in words.chunk_by(|one, next| is_number(one) == is_number(next)) {
        let end = start + run.len();
        let numbers = run.first().is_some_and(|word| is_number(word));
        let before = start.checked_sub(1).and_then(|at| words.get(at));
        let mut beside = [before, words.get(end)].into_iter().flatten();
        let counted = beside.any(|word| counts(word));
        if numbers && (counted || before.is_some_and(|word| is_referring(word))) {
            found.get_mut(start..end).unwrap_or_default().fill(true);
        }
        start = end;
    }
    found
}

/// Returns whether a line counts comments, views and the like.
pub(crate) fn is_counter_line<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
    of_line(words) == Some(PartKind::Counter)
}

/// Returns whether a line consists of dates and times.
pub(crate) fn is_date_line<'w>(words: impl Iterator<Item = &'w str> + Clone) -> bool {
    of_line(words) == Some(PartKind::Date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<PartKind> {
        of_line(text.split(' '))
    }

    /// The recursive definition, with exponential run time.
    fn slow_is_of_date(word: &str) -> bool {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = word.split_at(digits);
        let hour = unit.strip_prefix('t').is_some_and(slow_is_of_date);
        let units = ["", "h", "m", "s", "d", "am", "pm", "st", "nd", "rd", "th", "z"];
        let small = number.parse::<u32>().is_ok_and(|value| value <= GREATEST);
        let year = digits == 4 && (number.starts_with("19") || number.starts_with("20"));
        digits > 0 && (units.contains(&unit) || hour) && (small || year)
            || word.strip_prefix('t').is_some_and(slow_is_of_date)
    }

    proptest::proptest! {
        #[test]
        fn parts_of_dates_are_those_of_the_definition(word in "(t|th|st|h|[0-3]|12|2026|1999){0,6}") {
            proptest::prop_assert_eq!(is_of_date(&word), slow_is_of_date(&word), "{}", word);
        }
    }

    #[test]
    fn a_long_word_takes_linear_time() {
        for part in ["t", "1t", "t1", "tt1"] {
            is_of_date(&part.repeat(100_000));
        }
    }

    #[test]
    fn lines_of_dates_and_counters_are_known() {
        for dates in [
            "posted 3 hours ago",
            "27 november 2026",
            "2026 11 27 14 32",
            "3 days ago by anna",
            "yesterday",
            "2026 年 11 月 27 日",
            "πριν 3 ώρες",
            "3 saat önce",
            "منذ 3 ساعات",
            "27 नवंबर 2026",
            "2 timmar 5 minuter",
            "il y a 3 heures",
            "14 30 05",
            "monday 9 30 17 45",
        ] {
            assert_eq!(line(dates), Some(PartKind::Date), "{dates}");
        }
        for counter in [
            "1 204 views",
            "12 comments",
            "comments 12",
            "阅 读 3021",
            "1204 προβολές",
            "88 görüntülenme",
            "12 مشاهدة",
            "7 टिप्पणियाँ",
        ] {
            assert_eq!(line(counter), Some(PartKind::Counter), "{counter}");
        }
        for other in [
            "the river rose in 1899 and the bridge fell",
            "size 42",
            "price 12 50",
            "7 9 19 33 40 47",
            "set 6 4 7 5",
            "take 2 tablets every 4 hours for 7 days",
            "second 3",
            "a new line",
            "",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn dates_counters_and_references_in_a_name_change() {
        let marked = |name: &str| {
            let words: Vec<&str> = name.split(' ').collect();
            let marks = changing(&words).into_iter().zip(&words);
            marks.filter(|(marked, _)| *marked).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(marked("report of 3 may 2025 session 4"), "3 may 2025");
        assert_eq!(marked("draw 12 of 22 03 2025"), "22 03 2025");
        assert_eq!(marked("zug 14 von fulda um 12 40 uhr"), "12 40 uhr");
        assert_eq!(marked("river 1 204 views comments 12 part 3"), "1 204 12");
        assert_eq!(marked("rain in table 12 of chapter 3"), "12 3");
        assert_eq!(marked("box 20 30 40 m6 x 200"), "");
        assert_eq!(marked("2025"), "");
    }

    #[test]
    fn runs_are_dates_counters_numbers_or_words() {
        let run = |first: &str, second: &str, beside: &str| {
            let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
            let leak = |text: &str| words(text.to_owned().leak());
            let (before, behind) = beside.split_once('_').unwrap_or(("", beside));
            let (before, behind) = (leak(before), leak(behind));
            of_run(&[first, second].map(|run| Run::new(&before, &leak(run), &behind)))
        };
        assert_eq!(run("3", "5", "hours ago"), PartKind::Date);
        assert_eq!(run("may", "june", "on the"), PartKind::Date);
        assert_eq!(run("1204", "1388", "read times"), PartKind::Counter);
        assert_eq!(run("120", "95", "weighs grams"), PartKind::Number);
        assert_eq!(run("navy", "rust", "a tee in"), PartKind::Words);
        assert_eq!(run("leeds 12", "bristol 12", ""), PartKind::Words);
        assert_eq!(run("4711", "4712", "in may"), PartKind::Number, "no day and no year");
        assert_eq!(run("3", "7", "on _ may 2025"), PartKind::Date);
        assert_eq!(run("30", "45", "on 3 may 2025 at 14 _ the council met"), PartKind::Date);
        assert_eq!(run("3", "7", "paris il y a _ heures"), PartKind::Date);
        assert_eq!(run("4", "8", "one tablet every _ hours for 7 days"), PartKind::Number);
        assert_eq!(
            run("3", "7", "sent the man to prison for _ years and the second"),
            PartKind::Number
        );
        assert_eq!(run("3", "7", "you may take _ at last"), PartKind::Number);
        assert_eq!(run("hours", "days", "for 3 _ at home"), PartKind::Words);
    }
}

//! Numbers that distinguish pages. Dates, times, counters and section numbers do not: they change on the same page.

use std::borrow::Cow;

/// Returns hashes of the numbers in a text, except dates, times of day, counters and section numbers.
pub(crate) fn numbers_of(text: &str, hash: impl Fn(&[u8]) -> u64) -> Vec<u64> {
    numbers(&with_plain_digits(text), false).map(|number| hash(number.as_bytes())).collect()
}

/// Returns hashes of all numbers in a table cell: there, opening hours and dates are content.
pub(crate) fn numbers_of_cell(text: &str, hash: impl Fn(&[u8]) -> u64) -> Vec<u64> {
    numbers(&with_plain_digits(text), true).map(|number| hash(number.as_bytes())).collect()
}

/// Returns the text with digits of other scripts replaced by ASCII digits.
fn with_plain_digits(text: &str) -> Cow<'_, str> {
    // The first bytes of these digits in UTF-8.
    if !text.bytes().any(|byte| matches!(byte, 0xD9 | 0xDB | 0xE0 | 0xEF)) {
        return Cow::Borrowed(text);
    }
    let zeros = ['\u{660}', '\u{6F0}', '\u{966}', '\u{9E6}', '\u{E50}', '\u{FF10}'];
    let plain = |c: char| {
        let value = zeros.iter().find_map(|zero| {
            u8::try_from((c as u32).wrapping_sub(*zero as u32)).ok().filter(|value| *value < 10)
        });
        value.map_or(c, |value| char::from(b'0' + value))
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// Returns runs of digits such as `1,299.00`; no dates (`2026-11-20`), times (`14:32`) and counters unless `dates`.
fn numbers(text: &str, dates: bool) -> impl Iterator<Item = &str> {
    let joint = |c: u8| matches!(c, b'.' | b',' | b':' | b'-' | b'/');
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.as_bytes().get(at..)?;
            let start = at + rest.iter().position(u8::is_ascii_digit)?;
            let run = text.as_bytes().get(start..)?;
            let length = run.iter().position(|c| !c.is_ascii_digit() && !joint(*c));
            at = start + length.unwrap_or(run.len());
            let run = text.get(start..at)?.trim_end_matches(|c: char| c.is_ascii_punctuation());
            let mut groups = run.split('.').skip(1);
            let dotted = groups.clone().count() > 1 && !groups.all(|group| group.len() == 3);
            let dated = run.contains([':', '-', '/']) || dotted;
            let (from, end) = (start, start + run.len());
            let changes = || is_counter(text, from, end) || is_reference(text, from, end);
            if dates || !(dated || changes()) {
                return Some(run);
            }
        }
    })
}

/// Words beside a counter.
const COUNTING: &[&str] = &[
    "answers",
    "aufrufe",
    "beiträge",
    "bookmarks",
    "clicks",
    "comentario",
    "comentarios",
    "comentários",
    "comment",
    "commentaire",
    "commentaires",
    "commenti",
    "comments",
    "downloads",
    "favorites",
    "follower",
    "followers",
    "hits",
    "kommentar",
    "kommentare",
    "komentarze",
    "likes",
    "member",
    "members",
    "online",
    "posts",
    "reaction",
    "reactions",
    "read",
    "reads",
    "replies",
    "retweets",
    "share",
    "shares",
    "stars",
    "subscribers",
    "times",
    "upvotes",
    "view",
    "viewed",
    "views",
    "visitas",
    "visites",
    "visitors",
    "visits",
    "visualizzazioni",
    "votes",
    "vues",
    "wyświetleń",
    "комментариев",
    "просмотра",
    "просмотров",
    "댓글",
    "조회",
    "조회수",
    "人",
    "次",
    "览",
    "評",
    "评",
    "読",
    "阅",
];

/// Returns whether this word, in lower case, marks a number beside it as a counter: views, comments.
pub fn is_counting(word: &str) -> bool {
    COUNTING.contains(&word)
}

/// Returns whether a word beside `text[start..end]` makes it a counter.
fn is_counter(text: &str, start: usize, end: usize) -> bool {
    let between = |c: char| c.is_whitespace() || matches!(c, ':' | '(' | ')' | '\u{ff1a}');
    let behind = text.get(end..).unwrap_or_default().trim_start_matches(between);
    let word = behind.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let before = text.get(..start).unwrap_or_default().trim_end_matches(between);
    let last = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    [word, last].into_iter().any(|word| {
        // Chinese writes the next word without a space.
        let one = word.chars().next().map_or(0, char::len_utf8);
        word.len() <= MAX_COUNTING
            && (is_counting(&word.to_lowercase())
                || !word.is_ascii() && is_counting(word.get(..one).unwrap_or_default()))
    })
}

/// Words before a number that may change between editions.
const REFERENCES: &[&str] = &[
    "abbildung",
    "abschnitt",
    "anhang",
    "appendix",
    "capítulo",
    "chapitre",
    "chapter",
    "example",
    "fig",
    "figure",
    "kapitel",
    "section",
    "tabelle",
    "table",
    "глава",
    "раздел",
];

/// Returns whether this word, in lower case, precedes the number of a section, figure or similar.
pub fn is_referring(word: &str) -> bool {
    REFERENCES.contains(&word)
}

/// Returns whether `text[start..end]` is the number of a section: "4. Word" at the start of a line, or "section 4".
fn is_reference(text: &str, start: usize, end: usize) -> bool {
    let (before, behind) =
        (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let leads = before.is_empty() || before.ends_with('\n');
    let named = |rest: &str| {
        rest.strip_prefix([' ', '\u{a0}']).is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    if leads && behind.strip_prefix('.').is_some_and(named) {
        return true;
    }
    let before = before.trim_end_matches([' ', '\u{a0}', '.']);
    let last = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    last.len() <= MAX_COUNTING && is_referring(&last.to_lowercase())
}

/// Maximum length of a word of counting or reference, in bytes.
const MAX_COUNTING: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_no_numbers() {
        let found: Vec<&str> =
            numbers("On 2026-11-20 (20.11.2026) at 14:32, 3 of 1,299.00 (1/2) left, or 1.299.000; see 10.0.3. Part 7.", false)
                .collect();
        assert_eq!(found, ["3", "1,299.00", "1.299.000", "7"]);
    }

    #[test]
    fn a_number_counts_beside_a_word_of_counting_alone() {
        let counts = |text: &str| {
            let start = text.find(|c: char| c.is_ascii_digit()).unwrap();
            let end = start + text[start..].bytes().take_while(u8::is_ascii_digit).count();
            is_counter(text, start, end)
        };
        for counter in [
            "12 comments",
            "Comments (12)",
            "read 4195 times",
            "Views: 12",
            "阅读：3021",
            "3021次",
            "조회수 12",
        ] {
            assert!(counts(counter), "{counter}");
        }
        for other in ["12 grams", "it weighs 12", "commentary 12", "第12章", "12"] {
            assert!(!counts(other), "{other}");
        }
    }

    #[test]
    fn a_section_number_is_a_reference_and_a_measurement_is_not() {
        let refers = |text: &str| {
            let start = text.find(|c: char| c.is_ascii_digit()).unwrap();
            let run = |c: &u8| c.is_ascii_digit() || *c == b'.';
            let end = start + text[start..].bytes().take_while(run).count();
            is_reference(text, start, start + text[start..end].trim_end_matches('.').len())
        };
        for reference in
            ["36.21. Domains", "see Section 35.11", "Chapter 62. Generic WAL", "text\n4. The boats"]
        {
            assert!(refers(reference), "{reference}");
        }
        for other in ["16.1 kg", "it costs 4. The next", "model 42", "partly 12"] {
            assert!(!refers(other), "{other}");
        }
    }
}

//! Counters: numbers beside a word of counting, which change on the same page.

/// Words of counting.
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

/// Returns whether a word, in lower case, says that a number beside it counts visitors, comments and the like.
pub fn is_counting(word: &str) -> bool {
    COUNTING.contains(&word)
}

/// Returns whether the word before or behind `text[start..end]` is one of counting.
pub(crate) fn is_counter(text: &str, start: usize, end: usize) -> bool {
    let between = |c: char| c.is_whitespace() || matches!(c, ':' | '(' | ')' | '\u{ff1a}');
    let behind = text.get(end..).unwrap_or_default().trim_start_matches(between);
    let word = behind.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let before = text.get(..start).unwrap_or_default().trim_end_matches(between);
    let last = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    [word, last].into_iter().any(|word| {
        // Chinese writes the next word at once.
        let one = word.chars().next().map_or(0, char::len_utf8);
        word.len() <= MAX_COUNTING
            && (is_counting(&word.to_lowercase())
                || !word.is_ascii() && is_counting(word.get(..one).unwrap_or_default()))
    })
}

/// Words of reference: the number of what they name changes from edition to edition.
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

/// Returns whether `text[start..end]` numbers a section or chapter: at the beginning of its line with a dot behind it
/// and a word, or behind a word such as "section".
pub(crate) fn is_reference(text: &str, start: usize, end: usize) -> bool {
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
    last.len() <= MAX_COUNTING && REFERENCES.contains(&last.to_lowercase().as_str())
}

/// Bytes of the longest word of counting.
const MAX_COUNTING: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_number_of_a_section_is_a_reference_and_a_size_is_none() {
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

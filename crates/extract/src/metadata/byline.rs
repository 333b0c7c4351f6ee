//! Names of authors: cleans declared values, and reads visible lines such as `By Ada Moss`.

use super::limits::{MAX_AUTHOR, MAX_AUTHORS};

/// Words that introduce an author, in lower case. A name follows.
const INTRODUCTIONS: [&str; 30] = [
    "by ",
    "by: ",
    "written by ",
    "posted by ",
    "author: ",
    "author:",
    "text by ",
    "reported by ",
    "von ",
    "von: ",
    "autor: ",
    "par ",
    "auteur : ",
    "por ",
    "autore: ",
    "di ",
    "door ",
    "автор: ",
    "автор:",
    "作者：",
    "作者:",
    "记者：",
    "记者 ",
    "文：",
    "文/",
    "文／",
    "撰文：",
    "autor:",
    "tekst: ",
    "af ",
];

/// The words above that are certain at the beginning of any line. The other ones also begin sentences.
const CERTAIN: [&str; 18] = [
    "by ",
    "by: ",
    "written by ",
    "posted by ",
    "author: ",
    "author:",
    "reported by ",
    "autor: ",
    "autor:",
    "auteur : ",
    "autore: ",
    "автор: ",
    "автор:",
    "作者：",
    "作者:",
    "文/",
    "文／",
    "撰文：",
];

/// Values that name no person.
const NOBODY: [&str; 14] = [
    "admin",
    "administrator",
    "root",
    "webmaster",
    "author",
    "guest",
    "anonymous",
    "unknown",
    "null",
    "undefined",
    "none",
    "n/a",
    "default",
    "user",
];

/// Where a name ends in a visible line.
const ENDS: [&str; 17] = [
    "|",
    "•",
    "·",
    " - ",
    " – ",
    " — ",
    "(",
    "[",
    "\n",
    " on ",
    " in ",
    " at ",
    " posted ",
    " published ",
    " updated ",
    " 发",
    "，",
];

/// Returns the names in a declared value. An address or a sentence has none.
pub(crate) fn names(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    let value = without_introduction(value, &INTRODUCTIONS).unwrap_or(value);
    for part in value.split([';', '|', '、']) {
        let part = part.trim().trim_matches([',', ':', '-', '–', '"', '*', '/']).trim();
        let part = part.strip_prefix('@').unwrap_or(part);
        for name in persons(part) {
            if is_name(&name) && found.len() < MAX_AUTHORS {
                found.push(name);
            }
        }
    }
    found
}

/// Words between the last two of several persons, in lower case.
const CONJUNCTIONS: [&str; 12] =
    ["and", "&", "und", "et", "y", "e", "i", "en", "och", "og", "и", "with"];
/// Words in lower case that a name may contain.
const PARTICLES: [&str; 26] = [
    "von", "van", "der", "den", "de", "da", "dos", "das", "do", "del", "della", "di", "du", "la",
    "le", "el", "al", "bin", "ibn", "ben", "ter", "ten", "zu", "y", "af", "av",
];
/// Maximum number of words of one of several names.
const MAX_WORDS_OF_ONE: usize = 4;

/// Splits `Ada Moss, Ben Reed and Eve Fox`, if each part is a first name and a last name: `Moss, Ada` is one person,
/// and an office of trade and industry is one, too.
fn persons(text: &str) -> Vec<String> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    for word in text.split_whitespace() {
        let is_first = parts.last().is_some_and(Vec::is_empty);
        if CONJUNCTIONS.contains(&word.to_lowercase().as_str())
            && word.chars().all(|c| !c.is_uppercase())
        {
            if !is_first {
                parts.push(Vec::new());
            }
            continue;
        }
        let name = word.trim_end_matches(',');
        if !name.is_empty()
            && let Some(last) = parts.last_mut()
        {
            last.push(name);
        }
        if name.len() < word.len() {
            parts.push(Vec::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    if parts.len() > 1 && parts.iter().all(|part| is_person(part)) {
        parts.iter().map(|part| part.join(" ")).collect()
    } else {
        vec![text.to_owned()]
    }
}

fn is_person(words: &[&str]) -> bool {
    let is_capital = |word: &str| word.starts_with(|c: char| c.is_uppercase());
    (2..=MAX_WORDS_OF_ONE).contains(&words.len())
        && words.iter().all(|word| is_capital(word) || PARTICLES.contains(word))
        && words.last().is_some_and(|word| is_capital(word))
        && words.first().is_some_and(|word| *word != "The")
}

/// Returns the name in a visible line that begins with an introduction.
pub(crate) fn of_line(line: &str) -> Option<String> {
    name_before_end(without_introduction(line, &CERTAIN)?)
}

/// Returns the name in a line that the page marks as the author's. An introduction may precede it.
pub(crate) fn marked_line(line: &str) -> Option<String> {
    let line = line.trim_start_matches([' ', '|']);
    name_before_end(without_introduction(line, &INTRODUCTIONS).unwrap_or(line))
}

fn name_before_end(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([' ', '|']);
    let digits = rest.find(|c: char| c.is_ascii_digit());
    let end = ENDS.iter().filter_map(|end| rest.find(end)).chain(digits).min();
    let name = rest.get(..end.unwrap_or(rest.len()))?.trim().trim_matches([',', ':', '.']).trim();
    let words = name.split_whitespace().count();
    // Names are capitalised where a script has capitals.
    let first = name.chars().next()?;
    let persons = persons(name);
    let most = if persons.len() > 1 { MAX_WORDS_OF_SEVERAL } else { MAX_WORDS };
    let named = !first.is_lowercase() && words <= most && is_name(name);
    named.then(|| joined(persons))?
}

/// Maximum number of words of a name in a visible line, and of the names of several persons.
const MAX_WORDS: usize = 7;
const MAX_WORDS_OF_SEVERAL: usize = 16;

/// Joins names, each once.
pub(crate) fn joined(names: impl IntoIterator<Item = String>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let known = all.iter().any(|other| other.to_lowercase() == name.to_lowercase());
        if !known && all.len() < MAX_AUTHORS {
            all.push(name);
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

fn without_introduction<'a>(text: &'a str, introductions: &[&str]) -> Option<&'a str> {
    let text = text.trim();
    introductions.iter().find_map(|introduction| {
        let start = text.get(..introduction.len())?;
        (start.to_lowercase() == *introduction).then(|| text.get(introduction.len()..))?
    })
}

fn is_name(text: &str) -> bool {
    let lower = text.to_lowercase();
    (2..=MAX_AUTHOR).contains(&text.len())
        && text.chars().any(char::is_alphabetic)
        && !["://", "www.", ".com/", "@", "<", "{", "http"].iter().any(|part| lower.contains(part))
        && !NOBODY.contains(&&*lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_names_are_cleaned() {
        for (value, expected) in [
            ("Ada Moss", &["Ada Moss"][..]),
            ("By Ada Moss", &["Ada Moss"]),
            ("Ada Moss; Ben Reed", &["Ada Moss", "Ben Reed"]),
            ("作者：莫愁", &["莫愁"]),
            ("By Ada Moss and Ben Reed", &["Ada Moss", "Ben Reed"]),
            (
                "Ada Moss, Ben Reed & Eve van der Berg",
                &["Ada Moss", "Ben Reed", "Eve van der Berg"],
            ),
            ("Ada Moss, Ben Reed, and Eve Fox", &["Ada Moss", "Ben Reed", "Eve Fox"]),
            ("Ada Moß und Ben Ried", &["Ada Moß", "Ben Ried"]),
            ("Moss, Ada", &["Moss, Ada"]),
            ("Ada Moss, PhD", &["Ada Moss, PhD"]),
            ("José Moss y Reed", &["José Moss y Reed"]),
            ("Department of Trade and Industry", &["Department of Trade and Industry"]),
            ("Ministry of Health and Social Care", &["Ministry of Health and Social Care"]),
            ("Ada and Ben", &["Ada and Ben"]),
            ("https://social.example/ada", &[]),
            ("ada@a.example", &[]),
            ("admin", &[]),
            ("12", &[]),
            ("", &[]),
        ] {
            assert_eq!(names(value), expected, "{value}");
        }
        assert!(names(&"n".repeat(MAX_AUTHOR + 1)).is_empty());
        assert_eq!(names(&"Ada;".repeat(MAX_AUTHORS + 1)).len(), MAX_AUTHORS);
        let many = (0..2 * MAX_AUTHORS).map(|number| format!("Ada {number}"));
        assert_eq!(joined(many).unwrap().split("; ").count(), MAX_AUTHORS);
        let twice = ["Ada Moss", "ada moss"].map(str::to_owned);
        assert_eq!(joined(twice).as_deref(), Some("Ada Moss"));
    }

    #[test]
    fn a_visible_line_names_its_author_and_a_sentence_does_not() {
        for (line, expected) in [
            ("By Ada Moss", Some("Ada Moss")),
            ("by Ada Moss and Ben Reed | March 1, 2026", Some("Ada Moss; Ben Reed")),
            ("Posted by Ada Moss on Sunday", Some("Ada Moss")),
            ("作者：莫愁", Some("莫愁")),
            ("By the harbour there is a house", None),
            ("By This Time Everybody Knew That The Boat Was Gone", None),
            ("Ada Moss", None),
            ("By ", None),
        ] {
            assert_eq!(of_line(line).as_deref(), expected, "{line}");
        }
    }
}

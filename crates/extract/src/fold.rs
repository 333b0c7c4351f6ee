//! Folds texts for comparison: NFKC, lower case, no invisible characters.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Folds a text: no soft hyphens and zero-width characters, plain apostrophes, NFKC (UAX #15), lower case.
///
/// # Complexity
/// Linear. Only characters whose NFKC form is not known here go through the tables, with the character before them.
pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    // The last easy character, before lower-casing.
    let mut last: Option<char> = None;
    let mut hard = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (run, later) = rest.split_at(ascii);
        if let Some(end) = run.chars().next_back() {
            flush(&mut hard, &mut folded);
            let start = folded.len();
            folded.push_str(run);
            if let Some(run) = folded.get_mut(start..) {
                run.make_ascii_lowercase();
            }
            last = Some(end);
        }
        let mut chars = later.chars();
        rest = later;
        while let Some(c) = chars.next().filter(|c| !c.is_ascii()) {
            rest = chars.as_str();
            if is_invisible(c) {
                continue;
            }
            if let Some(easy) = easy(c) {
                flush(&mut hard, &mut folded);
                if easy < '\u{2000}' {
                    folded.extend(easy.to_lowercase());
                } else {
                    folded.push(easy);
                }
                last = Some(easy);
                continue;
            }
            if let Some(before) = last.take() {
                folded.pop();
                hard.push(before);
            }
            hard.push(c);
        }
    }
    flush(&mut hard, &mut folded);
    folded
}

fn flush(hard: &mut String, folded: &mut String) {
    if !hard.is_empty() {
        folded.extend(hard.nfkc().flat_map(char::to_lowercase));
        hard.clear();
    }
}

/// Returns the NFKC form of a character that never composes with the one before and whose lower case is one character.
fn easy(c: char) -> Option<char> {
    match c {
        '’' => Some('\''),
        '\u{00A0}' | '\u{3000}' => Some(' '),
        // Latin-1 letters, Cyrillic, Han, kana without combining marks, plain punctuation.
        '\u{00C0}'..='\u{00FF}'
        | '\u{0400}'..='\u{045F}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30A1}'..='\u{30FE}'
        | '\u{3001}'..='\u{3002}'
        | '\u{2013}'
        | '\u{2014}'
        | '\u{2018}'
        | '\u{201C}'
        | '\u{201D}' => Some(c),
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        _ => None,
    }
}

/// Folds a word of [`for_each_word`](crate::for_each_word) such that capitals equal small letters. Only comparisons use
/// this form: stored features must not change.
///
/// `ß` is `ss`, final sigma is sigma (Unicode, `CaseFolding.txt`). Greek capitals have no accents, and Turkish has two
/// letters `i`, whose case depends on the language (`SpecialCasing.txt`): neither accents nor dots count.
///
/// # Complexity
/// Linear in the word.
pub fn caseless(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut folded = String::with_capacity(word.len());
    let mut is_greek = false;
    for c in word.nfd() {
        match c {
            'ß' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            'ı' => folded.push('i'),
            // In capitals, the iota below a letter is a separate letter.
            '\u{345}' => folded.push('ι'),
            // The dot above.
            '\u{307}' if folded.ends_with('i') => {}
            _ if is_greek && is_greek_accent(c) => {}
            _ => folded.push(c),
        }
        is_greek = matches!(c, '\u{370}'..='\u{3FF}') || is_greek && is_greek_accent(c);
    }
    Cow::Owned(folded)
}

/// Returns whether a combining mark is a Greek accent, breathing or diaeresis.
fn is_greek_accent(c: char) -> bool {
    matches!(c, '\u{300}' | '\u{301}' | '\u{308}' | '\u{313}' | '\u{314}' | '\u{342}')
}

/// Returns a text without soft hyphens and zero-width characters, which do not separate words.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    // The first bytes of these characters in UTF-8.
    let may = text.bytes().any(|byte| matches!(byte, 0xC2 | 0xE2 | 0xEF));
    if may && text.chars().any(is_invisible) {
        Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{202A}'..='\u{202E}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(text: &str) -> String {
        let kept = text.chars().filter(|c| !is_invisible(*c));
        kept.map(|c| if c == '’' { '\'' } else { c }).nfkc().flat_map(char::to_lowercase).collect()
    }

    #[test]
    fn each_character_beside_each_kind_of_neighbour_folds_as_by_the_tables() {
        let neighbours = ["", "A", "\u{AD}\u{301}", "ê", "カ", "天", "\u{1161}"];
        // All ideographs behave alike: a sample is enough.
        let sampled =
            |c: &char| !matches!(c, '\u{3500}'..='\u{D7A3}') || u32::from(*c).is_multiple_of(64);
        for c in ('\0'..='\u{11FFF}').filter(sampled) {
            for before in neighbours {
                for after in ["", "\u{301}", "\u{3099}"] {
                    let text = format!("{before}{c}{after}");
                    assert_eq!(fold(&text), reference(&text), "{text:?} {:x}", u32::from(c));
                }
            }
        }
    }

    #[test]
    fn a_name_in_capitals_has_the_words_of_the_name() {
        let words = |text: &str| {
            let mut words = Vec::new();
            crate::for_each_word(text, |word| words.push(caseless(word).into_owned()));
            words
        };
        for (name, capitals) in [
            ("Rat beschließt", "RAT BESCHLIESST"),
            ("Rat beschließt", "RAT BESCHLIEẞT"),
            ("Το τελωνείο γίνεται χώρος", "ΤΟ ΤΕΛΩΝΕΙΟ ΓΙΝΕΤΑΙ ΧΩΡΟΣ"),
            ("Ο Μάιος, ο καφές και η προΰπαρξη", "Ο ΜΑΪΟΣ, Ο ΚΑΦΕΣ ΚΑΙ Η ΠΡΟΫΠΑΡΞΗ"),
            ("τῷ ἀνθρώπῳ", "ΤΩΙ ΑΝΘΡΩΠΩΙ"),
            ("Eski tren garı", "ESKİ TREN GARI"),
            ("Liberté d'été", "LIBERTÉ D'ÉTÉ"),
        ] {
            assert_eq!(words(name), words(capitals), "{name}");
        }
        for (one, other) in [("été", "ete"), ("й", "и"), ("größe", "grosse"), ("ż", "z")] {
            assert_ne!(words(one), words(other), "{one}");
        }
    }

    proptest! {
        #[test]
        fn any_text_folds_as_by_the_tables(
            text in "(\\PC|[aAêЖ天カがｶﾞＡ，’\u{301}\u{307}\u{323}\u{3099}\u{AD}\u{200B}\u{1100}\u{1161}]){0,40}",
        ) {
            prop_assert_eq!(fold(&text), reference(&text));
        }
    }
}

//! The part of a page that shows why it was found.

use std::collections::BTreeSet;

use tantivy::TantivyDocument;
use tantivy::query::Query;
use tantivy::schema::{Field, Value};
use tantivy::snippet::SnippetGenerator;

use crate::marks::unmarked;
use crate::schema::{Fields, text_of};
use crate::tokenizer::is_cjk;

/// In characters.
const SNIPPET: usize = 180;
/// Characters before a phrase.
const BEFORE: usize = 60;
/// Bytes of a text that are searched for a snippet. They are tokenized again for each hit.
pub(crate) const SNIPPET_TEXT: usize = 1 << 20;

/// Makes the snippets of a query's hits.
pub(crate) struct Snippets {
    phrases: Vec<String>,
    text: SnippetGenerator,
    /// Visible text outside of the main text.
    other: Option<(Field, SnippetGenerator)>,
}

impl Snippets {
    pub(crate) fn of(
        searcher: &tantivy::Searcher,
        query: &dyn Query,
        written: &str,
        fields: Fields,
    ) -> tantivy::Result<Self> {
        let of = |field| -> tantivy::Result<SnippetGenerator> {
            let mut generator = SnippetGenerator::create(searcher, query, field)?;
            generator.set_max_num_chars(SNIPPET);
            Ok(generator)
        };
        let text = of(fields.text)?;
        let other = match fields.added {
            Some(added) => Some((added.other, of(added.other)?)),
            None => None,
        };
        Ok(Self { phrases: phrases(written), text, other })
    }

    /// Returns the part of a page with a phrase of the query, or else with most of its words. The main text comes before
    /// other text. A page that has neither in these texts shows its beginning.
    ///
    /// # Complexity
    /// Linear in the first [`SNIPPET_TEXT`] bytes of each text.
    pub(crate) fn snippet(&self, document: &TantivyDocument, fields: Fields) -> String {
        let body = text_of(document, fields.text);
        let values = self.other.iter().flat_map(|(field, _)| document.get_all(*field));
        let others: Vec<&str> = values.filter_map(|value| value.as_str()).collect();
        let texts = || std::iter::once(body.as_str()).chain(others.iter().copied()).map(beginning);
        let found = texts().find_map(|text| self.around_phrase(text));
        let found = found.or_else(|| {
            let generators = std::iter::once(&self.text)
                .chain(self.other.iter().map(|(_, other)| other).cycle());
            let fragments = texts().zip(generators).filter_map(|(text, generator)| {
                let snippet = generator.snippet(text);
                let fragment = snippet.fragment();
                let ranges = snippet.highlighted().iter().cloned();
                let words: BTreeSet<String> =
                    ranges.filter_map(|range| Some(fragment.get(range)?.to_lowercase())).collect();
                (!fragment.is_empty()).then(|| (words.len(), fragment.to_owned()))
            });
            // The first of those with most words.
            fragments
                .reduce(|best, next| if next.0 > best.0 { next } else { best })
                .map(|best| best.1)
        });
        let found = found.unwrap_or_else(|| body.chars().take(SNIPPET).collect());
        unmarked(&found).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn around_phrase(&self, text: &str) -> Option<String> {
        if self.phrases.is_empty() {
            return None;
        }
        let plain = Plain::of(text);
        let at = self.phrases.iter().find_map(|phrase| plain.find(phrase))?;
        let start =
            text.get(..at)?.char_indices().rev().take(BEFORE).last().map_or(at, |(at, _)| at);
        let rest = text.get(start..)?;
        // Not in the middle of a word.
        let is_whole = start == 0 || text.get(..start)?.ends_with(char::is_whitespace);
        let cut = rest.get(..at - start)?.find(char::is_whitespace).filter(|_| !is_whole);
        Some(rest.get(cut.unwrap_or(0)..)?.chars().take(SNIPPET).collect())
    }
}

fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SNIPPET_TEXT)).unwrap_or_default()
}

/// Returns the phrases of a query, as [`Plain`] has texts: what is between quotation marks, and runs of ideographs.
fn phrases(query: &str) -> Vec<String> {
    let quoted = query.split('"').skip(1).step_by(2);
    let ideographs = query.split(|c: char| !is_cjk(c)).filter(|run| run.chars().count() > 1);
    let plain = quoted.chain(ideographs).map(|phrase| Plain::of(phrase).text.trim().to_owned());
    plain.filter(|phrase| !phrase.is_empty()).collect()
}

/// A text in lower case, with one space for each run of other characters than letters and numbers.
struct Plain {
    text: String,
    /// Where each character of `text` begins: there, and in the original.
    places: Vec<(usize, usize)>,
}

impl Plain {
    fn of(original: &str) -> Self {
        let mut plain = Self { text: String::with_capacity(original.len()), places: Vec::new() };
        for (at, c) in original.char_indices() {
            let is_word = c.is_alphanumeric();
            if !is_word && (plain.text.ends_with(' ') || plain.text.is_empty()) {
                continue;
            }
            plain.places.push((plain.text.len(), at));
            if is_word {
                plain.text.extend(c.to_lowercase());
            } else {
                plain.text.push(' ');
            }
        }
        plain
    }

    /// Returns where a phrase of whole words begins in the original.
    fn find(&self, phrase: &str) -> Option<usize> {
        let continues = |one: Option<char>, other: Option<char>| match (one, other) {
            (Some(one), Some(other)) => {
                one.is_alphanumeric() && other.is_alphanumeric() && !is_cjk(one) && !is_cjk(other)
            }
            _ => false,
        };
        let whole = |at: &usize| {
            let (before, rest) = self.text.split_at_checked(*at).unwrap_or_default();
            let after = rest.get(phrase.len()..).unwrap_or_default();
            !continues(before.chars().next_back(), phrase.chars().next())
                && !continues(phrase.chars().next_back(), after.chars().next())
        };
        let at = self.text.match_indices(phrase).map(|(at, _)| at).find(whole)?;
        let place = self.places.partition_point(|(plain, _)| *plain <= at).checked_sub(1)?;
        self.places.get(place).map(|(_, original)| *original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words_whatever_is_between_them() {
        let text =
            "Proof itself. Beware\n  of -- ITS teeth; beware of it, they say. 版权所有者，版权";
        let plain = Plain::of(text);
        let at = |phrase: &str| plain.find(&phrases(phrase)[0]).map(|at| &text[at..at + 6]);
        assert_eq!(at("\"of its\""), Some("of -- "));
        assert_eq!(at("\"Beware of it\""), Some("beware"));
        assert_eq!(at("\"of it\"").unwrap(), "of it,");
        assert_eq!(at("版权所有"), Some("版权"));
        assert_eq!(at("\"nowhere\""), None);
        assert_eq!(phrases("lamp \"two words\" -x \"\" 灯塔 灯"), ["two words", "灯塔"]);
        assert!(phrases("lamp").is_empty());
    }
}

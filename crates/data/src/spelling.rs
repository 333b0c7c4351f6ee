//! Suggestions for misspelt names.

use strsim::osa_distance;

/// The most edits between a name and its suggestion.
const MAX_EDITS: usize = 3;

/// Returns the known name most similar to a misspelt one, if one is similar enough.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.map(|name| (osa_distance(wrong, name), name)).min();
    best.filter(|(edits, _)| *edits <= MAX_EDITS && 2 * edits < wrong.len()).map(|(_, name)| name)
}

/// Returns the suggestion at the end of a list of known names: `; did you mean NAME?`, or nothing.
pub fn did_you_mean<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(wrong, known).map_or_else(String::new, |best| format!("; did you mean {best}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_count_as_one_typing_error() {
        assert_eq!(nearest("hots", ["hostess", "host"].into_iter()), Some("host"));
        assert_eq!(nearest("exat", ["exact", "near"].into_iter()), Some("exact"));
        assert_eq!(nearest("", ["host"].into_iter()), None);
    }
}

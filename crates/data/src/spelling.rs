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

/// Shortens a parser's error about an unknown name, which lists all known ones, to a suggestion. Errors about values
/// stay as they are, because their lists are short.
pub fn guessed(said: &str) -> String {
    let Some((wrong, known)) = said.split_once(", expected ") else { return said.to_owned() };
    let name = wrong.rsplit('`').nth(1).unwrap_or_default();
    let best = nearest(name, known.split('`').skip(1).step_by(2));
    match best {
        Some(best) if said.contains("unknown variant") => format!("{said}; did you mean `{best}`?"),
        Some(best) if said.contains("unknown field") => {
            format!("{wrong}; did you mean `{best}`?")
        }
        None if said.contains("unknown field") => {
            format!("{wrong}; config/default.toml lists all settings, `crawl --help` explains them")
        }
        _ => said.to_owned(),
    }
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

    #[test]
    fn an_unknown_value_gets_a_suggestion() {
        let said = "unknown variant `hots`, expected one of `host`, `domain`, `any`";
        assert_eq!(guessed(said), format!("{said}; did you mean `host`?"));
        let said = "unknown variant `simhsh`, expected `default` or `simhash`";
        assert_eq!(guessed(said), format!("{said}; did you mean `simhash`?"));
        let said = "invalid type: integer `5`, expected a string";
        assert_eq!(guessed(said), said);
    }
}

//! Which name was meant.

use anyhow::Result;
use hapax_extract::Recipe;

use crate::exit::{USAGE, coded};

/// A guess is no further from what was written.
const MAX_EDITS: usize = 3;

/// The name that is nearly the one that was written.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = known.map(|name| (edit_distance(wrong, name), name)).min();
    best.filter(|(edits, _)| *edits <= MAX_EDITS && 2 * edits < wrong.len()).map(|(_, name)| name)
}

/// Insertions, deletions, substitutions, and neighbours in the wrong order.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut last = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = at(&row, j) + usize::from(x != *y);
            let mut least = replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            if j > 0 && last == Some(*y) && b.get(j - 1) == Some(&x) {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(x);
    }
    row.last().copied().unwrap_or(0)
}

/// What is added to a list of all that there are.
pub(crate) fn did_you_mean<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(wrong, known).map_or_else(String::new, |best| format!("; did you mean {best}?"))
}

/// Of an unknown name the parser lists all that there are: the one that is meant says more. Values are
/// few, and stay listed.
pub(crate) fn guessed(said: &str) -> String {
    let Some((wrong, known)) = said.split_once(", expected ") else { return said.to_owned() };
    let name = wrong.rsplit('`').nth(1).unwrap_or_default();
    let best = nearest(name, known.split('`').skip(1).step_by(2));
    match best {
        Some(best) if said.contains("unknown variant") => format!("{said}; did you mean `{best}`?"),
        Some(best) if said.contains("unknown field") => {
            format!("{wrong}; did you mean `{best}`?")
        }
        None if said.contains("unknown field") => {
            format!("{wrong}; config/default.toml lists all settings, `crawl --help` tells of them")
        }
        _ => said.to_owned(),
    }
}

/// The recipe of a name.
///
/// # Errors
/// A name that no recipe has, with those that there are.
pub(crate) fn recipe_named(name: &str) -> Result<Recipe> {
    Recipe::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        // The version at its end may be left out.
        let short = names.iter().filter_map(|name| Some(name.rsplit_once('-')?.0));
        let guess = did_you_mean(name, names.iter().copied().chain(short));
        coded(USAGE, format!("--recipe {name}: there are {}{guess}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_one_edit_each() {
        for (wrong, right, edits) in [
            ("hots", "host", 1),
            ("exat", "exact", 1),
            ("", "ab", 2),
            ("abc", "abc", 0),
            ("ca", "abc", 3),
        ] {
            assert_eq!((edit_distance(wrong, right), edit_distance(right, wrong)), (edits, edits));
        }
    }

    #[test]
    fn a_value_that_is_none_is_guessed() {
        let said = "unknown variant `hots`, expected one of `host`, `domain`, `any`";
        assert_eq!(guessed(said), format!("{said}; did you mean `host`?"));
        let said = "unknown variant `simhsh`, expected `default` or `simhash`";
        assert_eq!(guessed(said), format!("{said}; did you mean `simhash`?"));
        let said = "invalid type: integer `5`, expected a string";
        assert_eq!(guessed(said), said);
        for (wrong, right) in
            [("content-wrods-tf", "content-words-tf"), ("content-words-ft-4", "content-words-tf-4")]
        {
            let error = recipe_named(wrong).unwrap_err().to_string();
            assert!(error.ends_with(&format!("; did you mean {right}?")), "{error}");
        }
        assert!(!recipe_named("nothing").unwrap_err().to_string().contains("did you mean"));
    }
}

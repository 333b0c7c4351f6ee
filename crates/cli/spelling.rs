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

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = *slot;
            left = substitute.min(left + 1).min(*slot + 1);
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Of an unknown name the parser lists all that there are: the one that is meant says more.
pub(crate) fn guessed(said: &str) -> String {
    let named = said.split_once(", expected one of ").filter(|_| said.contains("unknown field"));
    let Some((wrong, known)) = named else { return said.to_owned() };
    let name = wrong.rsplit('`').nth(1).unwrap_or_default();
    match nearest(name, known.split('`').skip(1).step_by(2)) {
        Some(best) => format!("{wrong}; did you mean `{best}`?"),
        None => {
            format!("{wrong}; config/default.toml lists all settings, `crawl --help` tells of them")
        }
    }
}

/// The recipe of a name.
///
/// # Errors
/// A name that no recipe has, with those that there are.
pub(crate) fn recipe_named(name: &str) -> Result<Recipe> {
    Recipe::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        coded(USAGE, format!("--recipe {name}: there are {}", names.join(", ")))
    })
}

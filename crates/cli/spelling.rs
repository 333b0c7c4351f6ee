//! Suggestions for misspelt names.

use anyhow::Result;
use hapax_data::spelling::{did_you_mean, nearest};
use hapax_extract::Recipe;

use crate::exit::{USAGE, coded};

/// Shortens a parser's error about an unknown name, which lists all known ones, to a suggestion. Errors about values
/// stay as they are, because their lists are short.
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
            format!("{wrong}; config/default.toml lists all settings, `crawl --help` explains them")
        }
        _ => said.to_owned(),
    }
}

/// The recipe with this name.
///
/// # Errors
/// The name is unknown; the error lists all names.
pub(crate) fn recipe_named(name: &str) -> Result<Recipe> {
    Recipe::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        // The version at the end is optional.
        let short = names.iter().filter_map(|name| Some(name.rsplit_once('-')?.0));
        let guess = did_you_mean(name, names.iter().copied().chain(short));
        coded(
            USAGE,
            format!("--recipe {name}: unknown recipe. Recipes: {}{guess}", names.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_value_gets_a_spelling_suggestion() {
        let said = "unknown variant `hots`, expected one of `host`, `domain`, `any`";
        assert_eq!(guessed(said), format!("{said}; did you mean `host`?"));
        let said = "unknown variant `simhsh`, expected `default` or `simhash`";
        assert_eq!(guessed(said), format!("{said}; did you mean `simhash`?"));
        let said = "invalid type: integer `5`, expected a string";
        assert_eq!(guessed(said), said);
        for (wrong, right) in
            [("content-wrods-tf", "content-words-tf"), ("content-words-ft-6", "content-words-tf-6")]
        {
            let error = recipe_named(wrong).unwrap_err().to_string();
            assert!(error.ends_with(&format!("; did you mean {right}?")), "{error}");
        }
        assert!(!recipe_named("nothing").unwrap_err().to_string().contains("did you mean"));
    }
}

//! Suggestions for misspelt names.

use anyhow::Result;
use hapax_data::spelling::did_you_mean;
use hapax_extract::Recipe;

use crate::exit::{USAGE, coded};

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
    fn an_unknown_recipe_gets_a_spelling_suggestion() {
        for (wrong, right) in
            [("content-wrods-tf", "content-words-tf"), ("content-words-ft-6", "content-words-tf-6")]
        {
            let error = recipe_named(wrong).unwrap_err().to_string();
            assert!(error.ends_with(&format!("; did you mean {right}?")), "{error}");
        }
        assert!(!recipe_named("nothing").unwrap_err().to_string().contains("did you mean"));
    }
}

//! The version of a recipe.

use crate::stop_lists::StopLists;

/// Version of all recipes. Data directories go on with the version that they were created with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RecipeVersion {
    /// Sketches have shingles with a stopword or a number; all shingles if these are fewer than 12.
    Four,
    /// Sketches have shingles with a stopword; all shingles if fewer than 20 % of the tokens are stopwords.
    Five,
    /// As version 5, with stop lists for 39 more languages.
    #[default]
    Six,
}

impl RecipeVersion {
    /// Returns the version before, if it is still supported.
    pub(crate) const fn former(self) -> Option<Self> {
        match self {
            Self::Four => None,
            Self::Five => Some(Self::Four),
            Self::Six => Some(Self::Five),
        }
    }

    pub(crate) const fn stop_lists(self) -> StopLists {
        match self {
            Self::Four | Self::Five => StopLists::First,
            Self::Six => StopLists::Second,
        }
    }
}

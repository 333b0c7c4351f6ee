//! The result of the stopword rule, and why each block was kept or dropped.

use crate::measure::Measure;

/// Why a block was kept or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Kept: its features are those of text.
    Text,
    /// Dropped: outside the container of the text, by the stopword rule too.
    OutsideContainer,
    /// Dropped: before or after the best run of blocks in the container, by the stopword rule too.
    OutsideRun,
    /// Dropped: mostly links.
    Links,
    /// Dropped: the class or id of an ancestor indicates boilerplate.
    Name,
    /// Dropped: a heading with nothing after it.
    TrailingHeading,
    /// Dropped: another article of the same page.
    OtherArticle,
    /// Dropped: inside navigation, footer or aside.
    Structure,
    /// Dropped: not visible.
    Hidden,
    /// Dropped: a line that only says that an advertisement is beside it.
    Advertisement,
    /// Dropped: its features (length, words, position, context) are not those of text.
    Unlike,
}

impl Reason {
    /// Returns the reason in words, as `crawl extract` prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::OutsideContainer => "outside the container of the text",
            Self::OutsideRun => "before or after the text",
            Self::Links => "mostly links",
            Self::Name => "class or id of boilerplate",
            Self::TrailingHeading => "heading without text",
            Self::OtherArticle => "another article",
            Self::Structure => "navigation, footer or aside",
            Self::Hidden => "hidden",
            Self::Advertisement => "label of an advertisement",
            Self::Unlike => "unlike the text",
        }
    }
}

/// The result of the stopword rule for all blocks.
pub(crate) struct Votes {
    pub(crate) measures: Vec<Measure>,
    pub(crate) values: Vec<f64>,
    pub(crate) container: usize,
    /// For each element, whether it is in the container.
    pub(crate) inside: Vec<bool>,
    pub(crate) reasons: Vec<Reason>,
}

impl Votes {
    /// Returns the number of tokens of each block.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        self.measures.iter().map(|m| m.tokens as u64).collect()
    }
}

pub(crate) fn is_set(list: &[bool], at: usize) -> bool {
    list.get(at).copied().unwrap_or(false)
}

/// The decision about a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) reason: Reason,
    /// Probability that the block is text, 0 to 1.
    pub(crate) chance: f32,
}

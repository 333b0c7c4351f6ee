//! How blocks voted, and why each was kept or dropped.

use crate::measure::Measure;

/// Why a block was kept or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Kept: all in all it is like text.
    Text,
    /// Dropped, and the votes would too: outside the container that holds the text.
    OutsideContainer,
    /// Dropped, and the votes would too: before or after the best run of blocks in the container.
    OutsideRun,
    /// Dropped: mostly links.
    Links,
    /// Dropped: the class or id of an element around it speaks of boilerplate.
    Name,
    /// Dropped: a heading with nothing after it.
    TrailingHeading,
    /// Dropped: another article of the same page.
    OtherArticle,
    /// Dropped: inside navigation, footer or aside.
    Structure,
    /// Dropped: not shown to a reader.
    Hidden,
    /// Dropped: all in all, its length, words, place and surroundings are not those of text.
    Unlike,
}

impl Reason {
    /// The reason in words, as `crawl extract` prints it.
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
            Self::Unlike => "unlike the text",
        }
    }
}

/// How the blocks voted, and what their votes alone would keep.
pub(crate) struct Votes {
    pub(crate) measures: Vec<Measure>,
    pub(crate) values: Vec<f64>,
    pub(crate) container: usize,
    /// Of each element, whether it lies in the container.
    pub(crate) inside: Vec<bool>,
    pub(crate) reasons: Vec<Reason>,
}

impl Votes {
    /// Tokens of each block.
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

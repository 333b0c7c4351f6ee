//! The lines of `crawl duplicates passages`.

use serde::Serialize;

use crate::page_texts::TextSources;

/// What a line describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PassageKind {
    /// A run of words that several pages contain.
    Copied,
    /// Such a run that one site repeats on many of its pages.
    Boilerplate,
    /// A run of two pages that is equal except for small gaps.
    Near,
    /// A page that is contained in another page.
    Part,
}

impl PassageKind {
    /// All kinds, in the order of output.
    pub const ALL: [Self; 4] = [Self::Copied, Self::Boilerplate, Self::Near, Self::Part];

    /// Its name in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Boilerplate => "boilerplate",
            Self::Near => "near",
            Self::Part => "part",
        }
    }
}

/// A place of a passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassagePlace {
    /// The page's number.
    pub id: u64,
    /// Its URL.
    pub url: String,
    /// Index of the first word in the page's text, from 0.
    pub word: u32,
    /// The number of words.
    pub words: u32,
    /// Number of the line with the first word, from 1.
    pub line: usize,
}

/// A result of the search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassageLine {
    /// What the line describes.
    pub kind: PassageKind,
    /// Length in words; of a near pair, the longer side; of a part, the page.
    pub words: u32,
    /// The number of pages.
    pub pages: u32,
    /// The number of sites (registrable domains).
    pub sites: u32,
    /// The number of places; a page may have several.
    pub places: u32,
    /// The site with most of the pages, and their number.
    pub site: Option<(String, u32)>,
    /// Share of equal words of a near pair; share of a part's words that the other page contains, in order.
    pub similarity: f64,
    /// The beginning of the passage, as compared: lower case, without punctuation.
    pub text: String,
    /// The first places, in the order of page numbers; of a part, the page, then the page that contains it.
    #[serde(rename = "where")]
    pub listed: Vec<PassagePlace>,
}

/// Counts of the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PassageTotals {
    /// Pages whose text was searched.
    pub pages: u64,
    /// Words of these pages.
    pub words: u64,
    /// Passages of kind `copied`.
    pub copied: u64,
    /// Passages of kind `boilerplate`.
    pub boilerplate: u64,
    /// Near pairs.
    pub near: u64,
    /// Pages that are contained in another page.
    pub part: u64,
    /// Sources of the texts.
    #[serde(flatten)]
    pub sources: TextSources,
    /// Places of pages that repeat themselves, beyond the limits: some of their passages may be missing.
    pub repeated_anchors: u64,
    /// Passages of such pages that are equal but not as long as possible.
    pub cut_runs: u64,
    /// Runs beyond the limit of results. Search with a larger minimum.
    pub beyond_limit: u64,
}

impl PassageTotals {
    pub(super) const fn of(&mut self, kind: PassageKind) -> &mut u64 {
        match kind {
            PassageKind::Copied => &mut self.copied,
            PassageKind::Boilerplate => &mut self.boilerplate,
            PassageKind::Near => &mut self.near,
            PassageKind::Part => &mut self.part,
        }
    }
}

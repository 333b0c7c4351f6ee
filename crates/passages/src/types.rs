//! The results.

/// A run of words on several documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its length in words.
    pub words: u32,
    /// The number of its places; a document may have several.
    pub places: u32,
    /// The number of documents with a place.
    pub documents: u32,
    /// Index of its first place in the file of places.
    pub(crate) at: u64,
}

/// A place of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The document, in the order of addition.
    pub document: u32,
    /// Index of the passage's first word.
    pub start: u32,
}

impl Place {
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.document) << 32 | u64::from(self.start)
    }

    #[expect(clippy::cast_possible_truncation, reason = "its halves")]
    pub(crate) const fn unpacked(both: u64) -> Self {
        Self { document: (both >> 32) as u32, start: both as u32 }
    }
}

/// Runs of two documents that are equal except for gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearPair {
    /// The place in the first document, and its length in words.
    pub first: (Place, u32),
    /// The place in the second document, and its length in words.
    pub second: (Place, u32),
    /// The number of equal words, in order.
    pub equal: u32,
}

impl NearPair {
    /// Returns the share of equal words of the longer side.
    pub fn similarity(&self) -> f64 {
        f64::from(self.equal) / f64::from(self.first.1.max(self.second.1).max(1))
    }
}

/// A document whose words occur in order in another document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contained {
    /// The contained document, the shorter of both.
    pub part: u32,
    /// The other document.
    pub whole: u32,
    /// The share of the part's words, in order.
    pub share: f64,
}

/// A result about two documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shared {
    /// A near pair.
    Near(NearPair),
    /// A contained document.
    Part(Contained),
}

/// Counts of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents.
    pub documents: u64,
    /// Words of all documents.
    pub words: u64,
    /// Words beyond the limit of a document, which were not searched.
    pub words_beyond_limit: u64,
    /// Places of anchors beyond the limits, of documents that repeat themselves.
    pub repeated_anchors: u64,
    /// Runs that were cut because too many places repeat long texts; they are equal, but not as long as possible.
    pub cut_runs: u64,
    /// Runs that were found but not stored, beyond the limit of the results.
    pub passages_beyond_limit: u64,
}

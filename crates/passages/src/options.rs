/// Maximum number of words of a document; further words are not searched. Positions have 20 bits.
pub const MAX_WORDS_PER_DOCUMENT: usize = (1 << 20) - 1;

/// Maximum number of anchors of one value that a document contributes, the first ones. It bounds texts that repeat
/// themselves.
pub const MAX_PER_DOCUMENT: usize = 256;

/// The same for anchors with at most three different words: "word word word ...".
pub const MAX_MONOTONOUS: usize = 4;
/// Different words from which on an anchor is not monotonous.
pub(crate) const MIN_DIFFERENT: usize = 4;

/// Maximum number of places of one anchor; if there are more, each document contributes fewer. About 200 bytes of
/// memory each.
pub const MAX_ANCHOR_PLACES: usize = 4 << 20;

/// Maximum number of anchors per window; positions of anchors in their windows have six bits.
const MAX_WINDOW: usize = 63;
/// Smallest anchor, in words.
const MIN_ANCHOR: usize = 3;

/// Limits of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Minimum words of a passage; at least 4.
    pub min_words: usize,
    /// Minimum number of words by which a passage is longer than a more frequent passage inside it. Other passages
    /// are omitted; 1 omits none.
    pub gain: usize,
    /// Minimum words of an exact run inside a near pair or a contained document; at most `min_words`, at least 4.
    pub seed_words: usize,
    /// Passages on more documents propose no near pairs and no contained documents.
    pub max_documents_of_a_seed: usize,
    /// Maximum number of documents that a document is compared with, those with the longest common runs first.
    pub max_partners: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_words: 40,
            gain: 40,
            seed_words: 20,
            max_documents_of_a_seed: 64,
            max_partners: 8,
        }
    }
}

impl Options {
    /// Returns the options within their limits.
    pub(crate) fn checked(self) -> Self {
        let min_words = self.min_words.clamp(4, MAX_WORDS_PER_DOCUMENT);
        let seed_words = self.seed_words.clamp(4, min_words);
        Self { min_words, seed_words, gain: self.gain.max(1), ..self }
    }

    /// Returns the number of anchors in a window, such that each run of `seed_words` contains a whole window.
    pub(crate) fn window(&self) -> usize {
        (self.seed_words / 2 + 1).min(self.seed_words - MIN_ANCHOR + 1).min(MAX_WINDOW)
    }

    /// Returns the number of words of an anchor.
    pub(crate) fn anchor(&self) -> usize {
        self.seed_words - self.window() + 1
    }
}

//! Limits and versions of a store's files.

/// The longest name of a recipe, in bytes.
pub const MAX_RECIPE: usize = 1024;
/// The format version that this crate writes.
pub(crate) const VERSION: u32 = 5;
/// The oldest format version that this crate reads.
pub(crate) const OLDEST: u32 = 2;
/// The longest key, in bytes.
pub const MAX_KEY: usize = u16::MAX as usize;
/// The longest frame of the journal, in bytes. It fits the longest key and the fixed parts, or for a payload.
pub(crate) const MAX_FRAME: usize = 1 << 17;
/// The longest payload of a commit, in bytes.
pub const MAX_PAYLOAD: usize = MAX_FRAME - 1;
/// The most documents in a band's list. It keeps look-ups fast when all pages of a site share a template. Hamming
/// tables have no such limit.
pub const MAX_BAND_BUCKET: usize = 512;
/// The most documents of one name that are proposed. A name of more documents is that of a site or a section.
pub const MAX_NAMED: usize = 8;

//! Limits and versions of a store's files.

/// The longest name of a recipe, in bytes.
pub const MAX_RECIPE: usize = 1024;
/// The version of the format on disk that is written.
pub(crate) const VERSION: u32 = 4;
/// The oldest that is read.
pub(crate) const OLDEST: u32 = 2;
/// The longest key, in bytes.
pub const MAX_KEY: usize = u16::MAX as usize;
/// No frame is longer: a key of 65,535 bytes and the fixed parts, or a commit's payload.
pub(crate) const MAX_FRAME: usize = 1 << 17;
/// The longest payload of a commit, in bytes.
pub const MAX_PAYLOAD: usize = MAX_FRAME - 1;
/// A band's list holds at most this many documents: a template that every page of a site shares
/// would otherwise make each look-up slow. Hamming tables are never capped.
pub const MAX_BAND_BUCKET: usize = 512;

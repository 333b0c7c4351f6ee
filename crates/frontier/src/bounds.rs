//! How many links may wait: one host, or all together, cannot fill the disk.

use crate::entry::{Entry, Options};

/// Bytes that a waiting URL takes on disk beside its own.
const ROW_BYTES: u64 = 64;
/// Bytes that are taken for a waiting URL of a frontier that did not count them.
pub(crate) const UNCOUNTED_BYTES: u64 = 256;

/// What became of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is new, and waits now.
    New,
    /// It was seen before.
    Known,
    /// Its host, or all hosts, have as many URLs waiting as they may: it is not queued, and not
    /// remembered as seen.
    Full,
}

/// Bytes that an entry takes while it waits.
pub(crate) fn bytes_of(entry: &Entry) -> u64 {
    entry.url.as_str().len() as u64 + ROW_BYTES
}

/// Whether a link finds no place, with so many URLs of its host and so many bytes of all waiting.
pub(crate) fn is_full(options: &Options, entry: &Entry, of_host: u64, bytes: u64) -> bool {
    of_host >= options.max_queued_per_host
        || bytes.saturating_add(bytes_of(entry)) > options.max_queue_bytes
}

//! Limits on requests to an object store.

use std::time::Duration;

/// Bytes of a chunk of an upload. S3 requires 5 MiB, except for the last one.
pub(crate) const CHUNK: usize = 8 << 20;
/// Chunks that are sent at the same time: 24 MiB of memory.
pub(crate) const CHUNKS_AT_ONCE: usize = 3;
/// Chunks of one object: S3's limit. With [`CHUNK`] an object has at most 78 GiB.
pub(crate) const MAX_CHUNKS: usize = 10_000;
/// New chunks after which an unfinished object is recorded, to continue it: 64 MiB.
pub(crate) const SAVE_CHUNKS: usize = 8;
/// Bytes of that record: it has at most 70 bytes a chunk.
pub(crate) const MAX_NOTE: u64 = 1 << 20;
/// Attempts of a request. `AWS_MAX_ATTEMPTS` changes it.
pub(crate) const DEFAULT_ATTEMPTS: usize = 8;
/// The largest value of `AWS_MAX_ATTEMPTS`.
pub(crate) const MAX_ATTEMPTS: usize = 20;
/// No further attempt after this time.
pub(crate) const RETRY_TIME: Duration = Duration::from_secs(180);
/// The pause after a failed attempt grows from the first to the second of these.
pub(crate) const PAUSES: (Duration, Duration) =
    (Duration::from_millis(200), Duration::from_secs(15));
/// Time to connect.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time of one attempt: a chunk at 140 kB a second.
pub(crate) const REQUEST_TIME: Duration = Duration::from_secs(60);
/// Time to remove an upload from the store after an error.
pub(crate) const ABORT_TIME: Duration = Duration::from_secs(5);
/// Time between two looks whether the export is stopped while a request is waited for.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(100);
/// Bytes of an answer. A page of a list has at most 1,000 keys of 1 KiB, escaped.
pub(crate) const MAX_ANSWER: usize = 8 << 20;
/// Objects whose names begin as those of parts do.
pub(crate) const MAX_PARTS: usize = 100_000;
/// Pages of a list, which have 1,000 objects or fewer.
pub(crate) const MAX_LIST_PAGES: usize = 1_000;
/// Characters of a store's message in an error.
pub(crate) const MAX_MESSAGE: usize = 200;
/// Bytes of a variable of the environment. Session tokens have about 1 KiB.
pub(crate) const MAX_VARIABLE: usize = 8 << 10;

/// The limits that tests lower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) chunk: usize,
    pub(crate) max_chunks: usize,
    pub(crate) pauses: (Duration, Duration),
    pub(crate) request_time: Duration,
    pub(crate) max_parts: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            chunk: CHUNK,
            max_chunks: MAX_CHUNKS,
            pauses: PAUSES,
            request_time: REQUEST_TIME,
            max_parts: MAX_PARTS,
        }
    }
}

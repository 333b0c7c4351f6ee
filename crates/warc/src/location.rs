//! The location of a record, and the names of files.

/// Where a record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's number: `pages-00001.warc.gz` is 1.
    pub file: u32,
    /// Where its gzip member begins.
    pub offset: u64,
}

/// The name of file `number`.
pub(crate) fn name(number: u32) -> String {
    format!("pages-{number:05}.warc.gz")
}

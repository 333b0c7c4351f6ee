/// The location of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's number: `pages-00001.warc.gz` is 1.
    pub file: u32,
    /// Offset of its gzip member.
    pub offset: u64,
}

/// Returns the name of a file of the archive.
pub fn file_name(number: u32) -> String {
    format!("pages-{number:05}.warc.gz")
}

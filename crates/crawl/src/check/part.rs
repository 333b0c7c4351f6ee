//! Parts of a data directory, and their contents.

use hapax_dedup::Report;

use crate::error::Result;

/// A part of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The dedup store.
    Dedup,
    /// The full-text index.
    Index,
    /// discarded.jsonl.
    Discarded,
    /// decisions.jsonl.
    Decisions,
    /// events.jsonl.
    Events,
    /// The archive.
    Pages,
    /// The comparison texts.
    Texts,
    /// The counts of lines that sites repeat.
    Sites,
    /// The frontier.
    Frontier,
    /// summary.json.
    Summary,
    /// skipped.jsonl.
    Skipped,
}

impl Part {
    /// Returns its documented name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::Index => "index",
            Self::Discarded => "discarded",
            Self::Decisions => "decisions",
            Self::Events => "events",
            Self::Pages => "pages",
            Self::Texts => "texts",
            Self::Sites => "sites",
            Self::Frontier => "frontier",
            Self::Summary => "summary",
            Self::Skipped => "skipped",
        }
    }
}

/// Contents of an intact part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Contents {
    /// It does not exist, and is not required.
    Nothing,
    /// Documents of the dedup store.
    Documents(Report),
    /// Indexed pages, each known to the store.
    Index {
        /// Number of pages.
        pages: u64,
        /// Pages that a crash left, until the next start.
        left: u64,
    },
    /// Lines of a log.
    Lines(u64),
    /// Records of an archive.
    Records {
        /// Number of records.
        records: u64,
        /// Number of files.
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// Bytes that a crash left, until the next start.
        left: u64,
    },
    /// URLs of the frontier.
    Urls {
        /// URLs ever seen.
        known: u64,
        /// Queued URLs.
        queued: u64,
    },
    /// Texts of kept pages.
    Texts {
        /// Kept pages with a text.
        pages: u64,
        /// Kept pages without a text, which are compared by their sketches.
        without: u64,
    },
    /// Counts of lines that sites repeat.
    Sites {
        /// Number of sites.
        sites: u64,
        /// Number of lines.
        lines: u64,
    },
    /// A file that can be read.
    Readable,
}

/// A part, and what it contains or what is wrong with it.
#[derive(Debug)]
pub struct CheckedPart {
    /// The part.
    pub part: Part,
    /// Its contents, or what is wrong.
    pub result: Result<Contents>,
}

impl CheckedPart {
    pub(super) fn new(part: Part, result: Result<Contents>) -> Self {
        Self { part, result }
    }
}

pub(super) fn archive_name(number: u64) -> String {
    format!("pages-{number:05}.warc.gz")
}

//! A page before it is written: its elements, the blocks that are kept, and the limits.

use encoding_rs::Encoding;
use scraper::Html;
use url::Url;

use crate::limits::Limits;
use crate::trace::Trace;

/// Limits of one page of Markdown.
#[derive(Clone, Copy, Debug)]
pub struct MarkdownLimits {
    /// Maximum length of the text in bytes: addresses and the marks of deep lists repeat. Default 16 MiB.
    pub max_bytes: usize,
    /// Maximum length of the address of a link or image. A longer link is written as its text. Default 2,048.
    pub max_url_bytes: usize,
    /// Maximum length of all addresses. Default 4 MiB.
    pub max_links_bytes: usize,
    /// Maximum depth of lists and quotes. Deeper ones are written as text. Default 32.
    pub max_depth: usize,
    /// Maximum number of columns of a table. The cells of a wider one are written as paragraphs. Default 64.
    pub max_columns: usize,
    /// Maximum number of cells of a table, empty ones included. Default 50,000.
    pub max_cells: usize,
}

impl Default for MarkdownLimits {
    fn default() -> Self {
        let Limits { max_url_bytes, max_links_bytes, .. } = Limits::default();
        Self {
            max_bytes: 16 << 20,
            max_url_bytes,
            max_links_bytes,
            max_depth: 32,
            max_columns: 64,
            max_cells: 50_000,
        }
    }
}

/// The tree of a page, and which block each of its texts belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    pub(crate) html: Html,
    pub(crate) trace: Trace,
    /// The first and the last number of each block of the document.
    pub(crate) numbers: Vec<(u32, u32)>,
    pub(crate) base: Url,
    pub(crate) encoding: &'static Encoding,
}

/// Whether a block is kept, by its number in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Dropped,
    Kept,
    /// A row of the joined code with this number.
    Row(u32),
}

//! One kept page as Markdown.

use std::path::Path;

use hapax_extract::{MIN_CONTENT_WORDS, MarkdownLimits, Structured};
use hapax_page::HASH;
use url::Url;

use super::flat::flat;
use super::front::front_matter;
use crate::archived::structured_page;
use crate::error::Result;
use crate::export::ExportedPage;

/// The file of a page.
#[derive(Debug)]
pub(super) struct PageFile {
    pub(super) text: String,
    /// Whether the archive has no copy of the page, so that its text has no structure.
    pub(super) is_flat: bool,
}

/// Front matter of a page without a copy in the archive.
const FLAT: &str = "flat text: the archive has no copy of this page";
/// Front matter of a page that the limit on its length cut.
const CUT: &str = "cut: the Markdown of this page is longer than 16 MiB";

/// Returns the front matter and the Markdown of a page, from its copy in `archive`, or else from its text.
///
/// # Errors
/// If a field cannot be serialised.
pub(super) fn page_file(archive: &Path, page: &ExportedPage) -> Result<PageFile> {
    let structured = page
        .stored
        .warc
        .as_deref()
        .and_then(|place| structured_page(archive, place, &Url::parse(&page.url).ok()?));
    let Some(structured) = structured else {
        let text = front_matter(page, Some(FLAT))? + &flat(&page.text);
        return Ok(PageFile { text, is_flat: true });
    };
    let thin = match page.stored.token_count {
        Some(tokens) => tokens < MIN_CONTENT_WORDS,
        None => structured.document().comparison_text(|bytes| HASH.hash(bytes)).thin,
    };
    let limits = MarkdownLimits::default();
    let body = if page.site_lines == 0 {
        structured.comparison_markdown(thin, &limits)
    } else {
        let kept = without_site_lines(&structured, thin, &page.text);
        structured.markdown(|at, _| kept.get(at) == Some(&true), &limits)
    };
    let note = body.cut.then_some(CUT);
    Ok(PageFile { text: front_matter(page, note)? + &body.text, is_flat: false })
}

/// Returns which blocks remain in the text without the lines that the site repeats. Lines were only removed, so the
/// first match of each line is right.
fn without_site_lines(structured: &Structured, thin: bool, text: &str) -> Vec<bool> {
    let mut lines = text.split('\n').peekable();
    let document = structured.document();
    let heading = if thin { &document.title } else { &document.heading };
    lines.next_if(|line| line.trim() == heading.trim());
    let mut kept = Vec::with_capacity(document.blocks.len());
    for block in &document.blocks {
        let mut remains = false;
        if block.is_compared(thin) {
            for line in block.text.split('\n') {
                remains |= lines.next_if(|next| *next == line).is_some();
            }
        }
        kept.push(remains);
    }
    kept
}

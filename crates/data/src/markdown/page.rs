//! One kept page as Markdown.

use std::path::Path;

use hapax_extract::{BlockShape, MIN_CONTENT_WORDS, MarkdownLimits, Structured};
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
const FLAT: &str = "flat text: the archive has no copy of this page that can be read";
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

/// Returns which blocks remain without the lines that the site repeats. Code and cells of tables remain, because a part
/// of them is useless, and headings with something below them.
fn without_site_lines(structured: &Structured, thin: bool, text: &str) -> Vec<bool> {
    let shapes = structured.shapes();
    let mut kept = in_text(structured, thin, text);
    for ((block, kept), shape) in structured.document().blocks.iter().zip(&mut kept).zip(&shapes) {
        *kept |= matches!(shape, BlockShape::Code | BlockShape::Cell) && block.is_compared(thin);
    }
    with_headings(&mut kept, &shapes, |at| {
        structured.document().blocks.get(at).is_some_and(|block| block.is_compared(thin))
    });
    kept
}

/// Returns which blocks remain in the text without the lines that the site repeats. Lines were only removed, so the
/// first match of each line is right.
fn in_text(structured: &Structured, thin: bool, text: &str) -> Vec<bool> {
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

/// Keeps the headings above kept blocks: a heading is above all blocks up to the next one of its level or a higher one.
fn with_headings(kept: &mut [bool], shapes: &[BlockShape], is_compared: impl Fn(usize) -> bool) {
    /// Number of levels, and 0 for none.
    const LEVELS: usize = 7;
    // Whether something is kept below a heading of each level that may come before.
    let mut below = [false; LEVELS];
    let mut end = kept.len();
    while let Some(at) = end.checked_sub(1) {
        let Some(BlockShape::Heading { level, .. }) = shapes.get(at) else {
            if kept.get(at) == Some(&true) {
                below = [true; LEVELS];
            }
            end = at;
            continue;
        };
        let level = usize::from(*level);
        let same = shapes.get(..end).unwrap_or_default();
        let parts = same.iter().rev().take_while(|shape| Some(*shape) == shapes.get(at)).count();
        let start = end - parts;
        let parts = start..end;
        let remains = below.get(level) == Some(&true)
            || kept.get(parts.clone()).is_some_and(|parts| parts.contains(&true));
        for part in parts.filter(|at| is_compared(*at)) {
            if let Some(kept) = kept.get_mut(part) {
                *kept = remains;
            }
        }
        for (of, below) in below.iter_mut().enumerate() {
            *below = if of < level { *below || remains } else { false };
        }
        end = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_remain_above_kept_blocks() {
        let heading = |level, number| BlockShape::Heading { level, number };
        let other = BlockShape::Other;
        for (shapes, before, after) in [
            // A heading in two parts, and text.
            (vec![heading(2, 0), heading(2, 0), other], "..x", "xxx"),
            // Nothing below.
            (vec![heading(2, 0), other, heading(2, 1), other], "...x", "..xx"),
            // Only in the section below.
            (vec![heading(2, 0), heading(3, 1), other, heading(2, 2)], "..x.", "xxx."),
            // The section below ends before the text.
            (vec![heading(2, 0), heading(3, 1), heading(2, 2), other], "...x", "..xx"),
            (vec![heading(4, 0), heading(1, 1), other], "..x", ".xx"),
        ] {
            let mut kept: Vec<bool> = before.chars().map(|c| c == 'x').collect();
            with_headings(&mut kept, &shapes, |_| true);
            let found: String = kept.iter().map(|kept| if *kept { 'x' } else { '.' }).collect();
            assert_eq!(found, after, "{shapes:?} {before}");
        }
        let mut kept = vec![false, true];
        with_headings(&mut kept, &[heading(1, 0), other], |at| at > 0);
        assert_eq!(kept, [false, true]);
    }
}

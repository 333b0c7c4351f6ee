//! Tables of data are text as a whole or not at all: a value without its label says nothing.

use crate::blocks::Page;
use crate::votes::Votes;

/// Minimum number of cells of a table of data, and maximum number of words in one of them on average. Tables with
/// fewer or longer cells lay out a page.
const LEAST_CELLS: usize = 4;
const CELL_WORDS: f64 = 12.0;
/// Share of words in links from which a table is a menu.
const LINKED: f64 = 0.5;
/// Share of the words that must be expected as text, in a table directly below a heading or a text that is kept.
const BELOW_TEXT: f64 = 0.2;
/// Maximum number of headings between a text and its table.
const MAX_BETWEEN: usize = 2;
/// A probability of one.
const WHOLE: f64 = 65_536.0;

/// What a table contains.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    cells: usize,
    words: f64,
    linked: f64,
    kept: f64,
    /// The probability of each block to be text, times its size, and the sizes.
    expected: u64,
    size: u64,
    /// Whether the block before it is kept.
    below_text: bool,
    /// Whether it contains a heading.
    headed: bool,
}

/// Keeps all cells of each table of which at least half of the words are kept, and none of the others. Below a kept text
/// it suffices that a fifth of the words are `expected` to be text. Blocks that `never` are text stay dropped.
///
/// # Complexity
/// Linear in blocks and elements.
pub(crate) fn keep_as_one(
    page: &Page,
    votes: &Votes,
    never: &[bool],
    expected: impl Fn(usize) -> u64,
    keep: &mut [bool],
) {
    let sizes = votes.sizes();
    // For each element, the nearest table around it; 0 if none.
    let mut tables: Vec<usize> = Vec::with_capacity(page.elements.len());
    for (at, element) in page.elements.iter().enumerate() {
        let above = tables.get(element.parent).copied().unwrap_or(0);
        tables.push(if element.table { at } else { above });
    }
    let table_of = |element: usize| tables.get(element).copied().unwrap_or(0);
    let mut contents = vec![Content::default(); page.elements.len()];
    for (at, (block, m)) in page.blocks.iter().zip(&votes.measures).enumerate() {
        let table = table_of(block.element);
        let Some(content) = contents.get_mut(table).filter(|_| table > 0) else { continue };
        if content.cells == 0 {
            content.below_text = text_before(page, keep, at);
        }
        content.cells += 1;
        content.expected += expected(at);
        content.size += sizes.get(at).copied().unwrap_or(0);
        content.words += m.words;
        content.linked += m.words * m.link_density;
        content.kept += if keep.get(at) == Some(&true) { m.words } else { 0.0 };
        content.headed |= block.heading > 0;
    }
    for (at, block) in page.blocks.iter().enumerate() {
        let table = table_of(block.element);
        let Some(content) = contents.get(table).filter(|_| table > 0) else { continue };
        let is_data = content.cells >= LEAST_CELLS
            && !content.headed
            && content.words <= CELL_WORDS * content.cells as f64
            && content.linked < LINKED * content.words;
        let never = never.get(at).copied().unwrap_or(false);
        if let Some(slot) = keep.get_mut(at).filter(|_| is_data) {
            let likely = content.below_text
                && content.expected as f64 >= BELOW_TEXT * WHOLE * content.size as f64;
            *slot = !never && (likely || 2.0 * content.kept >= content.words);
        }
    }
}

/// Returns whether the text before a block is kept; headings between are ignored.
fn text_before(page: &Page, keep: &[bool], at: usize) -> bool {
    let before = (0..at).rev().take(MAX_BETWEEN + 1);
    let mut before = before.map(|at| (page.blocks.get(at), keep.get(at) == Some(&true)));
    before
        .find(|(block, kept)| *kept || block.is_none_or(|block| block.heading == 0))
        .is_some_and(|(_, kept)| kept)
}

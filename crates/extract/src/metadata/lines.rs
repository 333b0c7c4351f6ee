//! The visible lines near the main heading, where pages show author and date.

use crate::blocks::RawBlock;

/// Number of blocks before and after the heading that are read.
const BEFORE: usize = 4;
const AFTER: usize = 8;
/// A longer block is a paragraph of the text, in bytes.
const MAX_LINE: usize = 200;

/// Returns the short lines near the heading, those after it first; without a heading, those at the beginning.
///
/// # Complexity
/// Linear in the blocks.
pub(crate) fn lines_near<'a>(blocks: &'a [RawBlock], heading: &str) -> Vec<&'a str> {
    let shown =
        |block: &&RawBlock| !block.hidden && !block.structure && block.text.len() <= MAX_LINE;
    let is_heading = |block: &RawBlock| {
        block.heading > 0 && !heading.is_empty() && crate::title::heading_of(block) == heading
    };
    let at = blocks.iter().position(is_heading);
    let (before, after) = blocks.split_at_checked(at.unwrap_or(0)).unwrap_or_default();
    let after = after.iter().take(AFTER).filter(shown);
    let before = before.iter().rev().take(BEFORE).filter(shown);
    after.chain(before).map(|block| block.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_heading_come_first_and_paragraphs_are_left_out() {
        let block =
            |text: &str, heading| RawBlock { text: text.into(), heading, ..RawBlock::default() };
        let mut blocks = vec![block("News", 0), block("Boats", 1), block("By Ada Moss", 0)];
        blocks.push(block(&"long ".repeat(MAX_LINE), 0));
        blocks.extend((0..20).map(|number| block(&format!("line {number}"), 0)));
        let lines = lines_near(&blocks, "Boats");
        assert_eq!(lines.first().copied(), Some("Boats"));
        assert_eq!(lines.get(1).copied(), Some("By Ada Moss"));
        assert_eq!(lines.last().copied(), Some("News"));
        assert_eq!(lines.len(), AFTER - 1 + 1);
        assert_eq!(lines_near(&blocks, "").first().copied(), Some("News"));
        assert!(lines_near(&[], "Boats").is_empty());
    }
}

//! The visible lines near the main heading, where pages show author and date.

use crate::blocks::RawBlock;

/// Number of blocks before and after the heading that are read.
const BEFORE: usize = 4;
const AFTER: usize = 8;
/// A longer block is a paragraph of the text, in bytes.
const MAX_LINE: usize = 200;

/// Returns the short lines near the heading, those after it first, then those near the first block of the text
/// (`text`): the heading may be elsewhere or missing.
///
/// # Complexity
/// Linear in the blocks.
pub(crate) fn lines_near<'a>(
    blocks: &'a [RawBlock],
    heading: &str,
    text: Option<usize>,
) -> Vec<&'a str> {
    let shown =
        |block: &RawBlock| !block.hidden && !block.structure && block.text.len() <= MAX_LINE;
    let is_heading = |block: &RawBlock| {
        block.heading > 0 && !heading.is_empty() && crate::title::heading_of(block) == heading
    };
    let heading = blocks.iter().position(is_heading);
    let mut places: Vec<usize> = Vec::new();
    for at in heading.into_iter().chain(text) {
        let before = (at.saturating_sub(BEFORE)..at).rev();
        let new = (at..at + AFTER).chain(before).filter(|place| !places.contains(place));
        places.extend(new.collect::<Vec<_>>());
    }
    let found = places.into_iter().filter_map(|at| blocks.get(at));
    found.filter(|block| shown(block)).map(|block| block.text.as_str()).collect()
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
        let lines = lines_near(&blocks, "Boats", Some(3));
        assert_eq!(lines.get(..3).unwrap(), ["Boats", "By Ada Moss", "line 0"]);
        // Seven after the heading, without the paragraph, one before it, and the rest near the text.
        assert_eq!(lines.get(AFTER - 1), Some(&"News"));
        assert_eq!(lines.len(), AFTER + 2);
        assert_eq!(lines_near(&blocks, "Boats", None).len(), AFTER);
        assert_eq!(lines_near(&blocks, "", Some(4)).first().copied(), Some("line 0"));
        assert!(lines_near(&blocks, "", None).is_empty());
        assert!(lines_near(&[], "Boats", Some(7)).is_empty());
    }
}

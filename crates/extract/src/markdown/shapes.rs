//! What each block of a page is: a heading, code, or the cell of a table.

use scraper::Html;

use super::input::Elements;
use crate::document::Block;
use crate::elements::heading_level;

/// What a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockShape {
    /// A paragraph, an entry of a list, or anything else.
    #[default]
    Other,
    /// A heading, or a part of it. The level is 1 to 6.
    Heading {
        /// Of `<h1>` to `<h6>`.
        level: u8,
        /// The number of the heading on the page, equal for all its parts.
        number: u32,
    },
    /// Code in `<pre>`, or its rows.
    Code,
    /// A cell of a table.
    Cell,
}

/// Returns what the blocks are.
///
/// # Complexity
/// Linear in the texts and their depth.
pub(super) fn shapes(elements: &Elements, blocks: &[Block]) -> Vec<BlockShape> {
    let of_trace = in_trace(&elements.html, elements);
    let shape = |(block, &(first, last)): (&Block, &(u32, u32))| {
        let found = of_trace.get(first as usize).copied().unwrap_or_default();
        match found {
            _ if first != last => BlockShape::Code,
            BlockShape::Other if block.cell => BlockShape::Cell,
            found => found,
        }
    };
    blocks.iter().zip(&elements.numbers).map(shape).collect()
}

/// Returns the shapes by the numbers of the trace.
fn in_trace(html: &Html, elements: &Elements) -> Vec<BlockShape> {
    let mut shapes = vec![BlockShape::Other; elements.trace.blocks()];
    let (mut number, mut last) = (0, None);
    for span in elements.trace.spans().iter().filter(|span| span.inside) {
        let Some(shape) = shapes.get_mut(span.block as usize) else { continue };
        let ancestors = html.tree.get(span.node).into_iter().flat_map(|node| node.ancestors());
        for node in ancestors {
            let Some(name) = node.value().as_element().map(|element| element.name()) else {
                continue;
            };
            if name == "pre" {
                *shape = BlockShape::Code;
            } else if let Some(level) = heading_level(name) {
                if last.replace(node.id()).is_some_and(|last| last != node.id()) {
                    number += 1;
                }
                *shape = BlockShape::Heading { level, number };
                break;
            }
        }
    }
    shapes
}

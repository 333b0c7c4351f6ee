//! Numbers of lines beside code, which are not text.

use ego_tree::NodeRef;
use scraper::Node;

use crate::class_words::{Marks, Names};
use crate::elements::attribute;

/// How far above a number the element may be that names it a line number.
const NUMBER_DEPTH: usize = 3;
/// How far above a number the element may be that is named as code.
const CODE_DEPTH: usize = 12;
/// Maximum number of digits of a line number.
const MAX_DIGITS: usize = 6;

/// Recognises line numbers among texts in document order.
#[derive(Debug, Default)]
pub(crate) struct LineNumbers {
    last: u32,
}

impl LineNumbers {
    /// Returns whether a text is a line number, or a column of line numbers: the class of an element around it says so,
    /// and it is in code or counts on from the last line number. A bus line has a number too.
    pub(crate) fn skips(&mut self, text: &str, node: NodeRef<'_, Node>) -> bool {
        let bytes = text.as_bytes();
        if !bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace()) {
            return false;
        }
        let mut numbers = text.split_ascii_whitespace();
        let Some(first) = numbers.next().filter(|number| number.len() <= MAX_DIGITS) else {
            return false;
        };
        let named = |wanted: &[Marks], depth| {
            node.ancestors().take(depth).filter_map(|node| node.value().as_element()).any(
                |element| {
                    let class = attribute(element, "class").unwrap_or_default();
                    let marks =
                        Names::of(class, attribute(element, "id").unwrap_or_default()).marks();
                    wanted.iter().all(|wanted| marks.has(*wanted))
                },
            )
        };
        if !named(&[Marks::LINE, Marks::NUMBER], NUMBER_DEPTH) {
            return false;
        }
        let Ok(first) = first.parse::<u32>() else { return false };
        let is_line = first == self.last + 1 || named(&[Marks::CODE], CODE_DEPTH);
        if is_line {
            self.last = numbers.next_back().and_then(|last| last.parse().ok()).unwrap_or(first);
        }
        is_line
    }
}

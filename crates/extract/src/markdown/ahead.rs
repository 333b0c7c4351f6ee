//! Which elements contain something kept: most of a page's menus need no work.

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use foldhash::fast::FixedState;
use scraper::{Html, Node};

use super::input::State;
use crate::trace::{Span, Trace};

/// Knows what is kept in the elements of a page.
#[derive(Debug)]
pub(super) struct Ahead {
    /// The spans that are kept.
    pub(super) spans: Vec<Span>,
    /// The elements around kept spans.
    pub(super) above: HashSet<NodeId, FixedState>,
}

impl Ahead {
    /// # Complexity
    /// Linear in the spans and in the elements around those that are kept.
    pub(super) fn of(html: &Html, trace: &Trace, states: &[State]) -> Self {
        let is_kept = |span: &&Span| {
            states.get(span.block as usize).is_some_and(|state| *state != State::Dropped)
        };
        let spans: Vec<Span> = trace.spans().iter().filter(is_kept).copied().collect();
        let mut above: HashSet<NodeId, FixedState> = HashSet::default();
        above.reserve(spans.len());
        for span in &spans {
            let ancestors = html.tree.get(span.node).into_iter().flat_map(|node| node.ancestors());
            for node in ancestors {
                // Those around this one are there already.
                if !above.insert(node.id()) {
                    break;
                }
            }
        }
        Self { spans, above }
    }

    /// Returns whether an element contains no kept text or image. `next` is the number of the first kept
    /// span that may be in it.
    ///
    /// # Complexity
    /// Constant.
    pub(super) fn is_empty(&self, node: NodeRef<'_, Node>, next: usize) -> bool {
        let is_kept = self.spans.get(next).is_some_and(|span| span.node == node.id());
        !(is_kept || self.above.contains(&node.id()))
    }
}

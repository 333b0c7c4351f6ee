//! Which elements contain something kept: most of a page's menus need no work.

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use foldhash::fast::FixedState;
use scraper::{Html, Node};

use super::input::State;
use crate::trace::{Span, Trace};

/// Knows what is kept in the elements of a page.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    spans: &'a [Span],
    states: &'a [State],
    /// The elements around kept spans.
    above: HashSet<NodeId, FixedState>,
}

impl<'a> Ahead<'a> {
    /// # Complexity
    /// Linear in the spans and in the elements around those that are kept.
    pub(super) fn of(html: &'a Html, trace: &'a Trace, states: &'a [State]) -> Self {
        let spans = trace.spans();
        let mut above: HashSet<NodeId, FixedState> = HashSet::default();
        for span in spans.iter().filter(|span| is_kept(span, states)) {
            let ancestors = html.tree.get(span.node).into_iter().flat_map(|node| node.ancestors());
            for node in ancestors {
                // Those around this one are there already.
                if !above.insert(node.id()) {
                    break;
                }
            }
        }
        Self { spans, states, above }
    }

    /// Returns whether an element contains no kept text or image. `next` is the number of the first span that may be in
    /// it.
    ///
    /// # Complexity
    /// Constant.
    pub(super) fn is_empty(&self, node: NodeRef<'_, Node>, next: usize) -> bool {
        let own = self.spans.get(next).filter(|span| span.node == node.id());
        !(own.is_some_and(|span| is_kept(span, self.states)) || self.above.contains(&node.id()))
    }
}

fn is_kept(span: &Span, states: &[State]) -> bool {
    states.get(span.block as usize).is_some_and(|state| *state != State::Dropped)
}

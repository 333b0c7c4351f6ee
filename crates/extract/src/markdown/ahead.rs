//! Whether something kept is still ahead in an element: most of a page's menus need no work.

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use foldhash::fast::FixedState;
use scraper::{Html, Node};

use super::input::State;
use crate::trace::{Span, Trace};

/// Looks ahead in the spans of a page.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    html: &'a Html,
    spans: &'a [Span],
    /// For each span the number of the next one, itself included, whose block is kept.
    next: Vec<u32>,
    /// The kept span that `above` belongs to.
    of: Option<u32>,
    /// The elements around that span.
    above: HashSet<NodeId, FixedState>,
}

impl<'a> Ahead<'a> {
    /// # Complexity
    /// Linear in the spans.
    pub(super) fn of(html: &'a Html, trace: &'a Trace, states: &[State]) -> Self {
        let spans = trace.spans();
        let mut next = vec![0; spans.len()];
        let mut kept = u32::MAX;
        for (at, span) in spans.iter().enumerate().rev() {
            let state = states.get(span.block as usize).copied().unwrap_or_default();
            if state != State::Dropped {
                kept = at as u32;
            }
            if let Some(next) = next.get_mut(at) {
                *next = kept;
            }
        }
        Self { html, spans, next, of: None, above: HashSet::default() }
    }

    /// Returns whether an element contains no kept text or image. `next` is the number of the first span that may be in
    /// it.
    ///
    /// # Complexity
    /// Constant, and linear in the depth of the tree once for each kept span.
    pub(super) fn is_empty(&mut self, node: NodeRef<'_, Node>, next: usize) -> bool {
        let Some(&kept) = self.next.get(next) else { return true };
        let Some(span) = self.spans.get(kept as usize) else { return true };
        if kept as usize == next && span.node == node.id() {
            return false;
        }
        if self.of != Some(kept) {
            self.of = Some(kept);
            self.above.clear();
            let ancestors = self.html.tree.get(span.node).into_iter().flat_map(|n| n.ancestors());
            self.above.extend(ancestors.map(|node| node.id()));
        }
        !self.above.contains(&node.id())
    }
}

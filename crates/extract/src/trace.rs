//! Which block each text of the tree belongs to.

use ego_tree::NodeId;

/// The texts, images and rules of a page in document order, with their blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    spans: Vec<Span>,
    /// Number of blocks that ended.
    blocks: u32,
    /// First span after the last end of a block.
    open: usize,
}

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) node: NodeId,
    /// The block that contains it; if no block does, the next one.
    pub(crate) block: u32,
    /// Whether a block contains it.
    pub(crate) inside: bool,
}

impl Trace {
    /// Adds a node, which belongs to the next block that ends.
    pub(crate) fn add(&mut self, node: NodeId) {
        self.spans.push(Span { node, block: self.blocks, inside: false });
    }

    /// Ends a block.
    pub(crate) fn end_block(&mut self) {
        for span in self.spans.get_mut(self.open..).into_iter().flatten() {
            span.inside = true;
        }
        self.blocks = self.blocks.saturating_add(1);
        self.open = self.spans.len();
    }

    /// Ends a run of nodes without text: they are between two blocks.
    pub(crate) fn end_without_block(&mut self) {
        self.open = self.spans.len();
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks as usize
    }
}

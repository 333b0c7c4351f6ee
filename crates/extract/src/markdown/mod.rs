//! Writes the kept blocks of a page as Markdown (CommonMark, with the tables and footnotes of GitHub).

mod ahead;
mod build;
mod code;
mod delimiters;
mod escape;
mod frame;
mod images;
mod inline;
mod input;
mod notes;
mod read_back;
mod render;
mod run;
mod shapes;
mod table;
mod token;
mod tree;

use url::Url;

use self::build::build;
use self::inline::{Breaks, inline};
pub(crate) use self::input::Elements;
pub use self::input::MarkdownLimits;
use self::input::State;
use self::render::render;
pub use self::shapes::BlockShape;
use self::tree::{Block as Part, Marks, Piece, Run, What};
use crate::document::{Block, Document};

/// A page as Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownText {
    /// The text, with a line break at its end; empty if no block was kept.
    pub text: String,
    /// Whether [`MarkdownLimits::max_bytes`] cut it.
    pub cut: bool,
}

/// An extracted page with its elements.
#[derive(Clone, Debug)]
pub struct Structured {
    document: Document,
    elements: Option<Elements>,
    /// How an absolute address is written.
    shown: fn(&Url) -> String,
}

impl Structured {
    pub(crate) fn new(document: Document, elements: Option<Elements>) -> Self {
        Self { document, elements, shown: |url| url.as_str().to_owned() }
    }

    /// Returns a page of plain text: its lines become lines of paragraphs.
    pub fn plain(document: Document) -> Self {
        Self::new(document, None)
    }

    /// Writes addresses by this function, for a page whose own address is unknown.
    #[must_use]
    pub fn with_addresses(self, shown: fn(&Url) -> String) -> Self {
        Self { shown, ..self }
    }

    /// Returns the document.
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Writes the blocks that `keeps` selects, by number in [`Document::blocks`], as Markdown. Their headings, lists,
    /// tables, code, quotes, links, images and emphasis stay; nothing outside of them is written. The page's heading is
    /// added if no block contains it. Images and rules stay if they are in a block or between two.
    ///
    /// # Complexity
    /// Linear in the page, within `limits`.
    pub fn markdown(
        &self,
        keeps: impl Fn(usize, &Block) -> bool,
        limits: &MarkdownLimits,
    ) -> MarkdownText {
        let blocks = || self.document.blocks.iter().enumerate();
        let kept: Vec<bool> = blocks().map(|(at, block)| keeps(at, block)).collect();
        let mut marks = Marks::default();
        let mut parts = match &self.elements {
            Some(elements) => {
                build(elements, self.shown, &states(elements, &kept), limits, &mut marks)
            }
            None => blocks()
                .filter(|(at, _)| kept.get(*at) == Some(&true))
                .map(|(_, block)| Part::Paragraph { run: lines(&block.text), explicit: true })
                .collect(),
        };
        let heading = self.document.heading.trim();
        let has = |(at, block): (usize, &Block)| {
            kept.get(at) == Some(&true) && block.text.contains(heading)
        };
        if !heading.is_empty() && !parts.is_empty() && !blocks().any(has) {
            parts.insert(0, Part::Heading(1, lines(self.document.own_heading())));
        }
        let (text, cut) = render(&parts, &marks, limits.max_bytes);
        MarkdownText { text, cut }
    }
}

impl Structured {
    /// Returns what each of [`Document::blocks`] is. Plain text has no shapes.
    ///
    /// # Complexity
    /// Linear in the texts and their depth.
    pub fn shapes(&self) -> Vec<BlockShape> {
        let blocks = &self.document.blocks;
        match &self.elements {
            Some(elements) => shapes::shapes(elements, blocks),
            None => vec![BlockShape::Other; blocks.len()],
        }
    }

    /// Writes the blocks of the [comparison text](Document::comparison_text): of a `thin` page all visible ones.
    ///
    /// # Complexity
    /// As [`markdown`](Self::markdown).
    pub fn comparison_markdown(&self, thin: bool, limits: &MarkdownLimits) -> MarkdownText {
        self.markdown(|_, block| block.is_compared(thin), limits)
    }
}

fn states(elements: &Elements, kept: &[bool]) -> Vec<State> {
    let mut states = vec![State::Dropped; elements.trace.blocks()];
    for (number, (&(first, last), _)) in
        elements.numbers.iter().zip(kept).filter(|(_, kept)| **kept).enumerate()
    {
        let state = if first == last { State::Kept } else { State::Row(number as u32) };
        for state_of in states.get_mut(first as usize..=last as usize).into_iter().flatten() {
            *state_of = state;
        }
    }
    states
}

/// Escapes a text into one line of Markdown that shows it, without markup.
pub fn markdown_line(text: &str) -> String {
    inline(&lines(text), &Marks::default(), Breaks::Space)
}

fn lines(text: &str) -> Run {
    let mut pieces = Vec::new();
    for line in text.lines() {
        if !pieces.is_empty() {
            pieces.push(Piece { what: What::Break, mark: 0 });
        }
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        pieces.push(Piece { what: What::Text(line), mark: 0 });
    }
    Run { pieces }
}

#[cfg(test)]
mod tests;

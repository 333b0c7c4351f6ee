//! The part of a page that is written as Markdown: blocks, and runs of text with marks.

/// A block of Markdown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Heading(u8, Run),
    Paragraph {
        run: Run,
        /// Whether the page has a `<p>` around it. In a list it separates the items by blank lines.
        explicit: bool,
    },
    Code {
        language: String,
        text: String,
    },
    Quote(Vec<Block>),
    List(List),
    Table(Table),
    Note(u32, Vec<Block>),
    Rule,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct List {
    /// Number of the first item, if the list is ordered.
    pub(super) start: Option<u64>,
    /// Whether its items have no list element around them.
    pub(super) implied: bool,
    /// Number and content of each item.
    pub(super) items: Vec<(u64, Vec<Block>)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Whether the first row has the names of the columns.
    pub(super) header: bool,
    pub(super) alignment: Vec<Align>,
    /// Rows of equal length.
    pub(super) rows: Vec<Vec<Run>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Align {
    #[default]
    None,
    Left,
    Centre,
    Right,
}

/// Text with marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) what: What,
    /// Index into [`Marks`]; 0 has no mark.
    pub(super) mark: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Text(String),
    Code(String),
    Break,
    Image { alt: String, url: String },
    Note(u32),
}

/// What an inline element does to its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Strong,
    Emphasis,
    Strike,
    Above,
    Below,
    /// Index into [`Marks::links`].
    Link(u32),
}

/// All combinations of marks on a page: each entry adds one mark to an earlier entry.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    entries: Vec<(u32, Option<Mark>, u8)>,
    pub(super) links: Vec<String>,
}

/// Maximum number of marks on a text. Further ones are ignored.
const MAX_MARKS: u8 = 8;

impl Default for Marks {
    fn default() -> Self {
        Self { entries: vec![(0, None, 0)], links: Vec::new() }
    }
}

impl Marks {
    /// Returns the marks `below` and one more, unless there are too many or it is already there.
    pub(super) fn push(&mut self, below: u32, mark: Mark) -> u32 {
        let is_link = matches!(mark, Mark::Link(_));
        let path = self.path(below);
        let path = path.as_slice();
        let has = |other: &(u32, Mark)| match other.1 {
            Mark::Link(_) => is_link,
            other => other == mark,
        };
        if path.len() >= usize::from(MAX_MARKS) || path.iter().any(has) {
            return below;
        }
        let depth = path.len() as u8 + 1;
        self.entries.push((below, Some(mark), depth));
        (self.entries.len() - 1) as u32
    }

    /// Returns the marks from the outermost to the innermost, each with its entry.
    pub(super) fn path(&self, mut at: u32) -> Path {
        let mut marks = [(0, Mark::Strong); MAX_MARKS as usize];
        let mut from = marks.len();
        while at != 0
            && let Some((below, Some(mark), _)) = self.entries.get(at as usize)
            && let Some(before) = from.checked_sub(1)
            && let Some(slot) = marks.get_mut(before)
        {
            (*slot, from) = ((at, *mark), before);
            at = *below;
        }
        Path { marks, from }
    }
}

/// The marks of a text.
pub(super) struct Path {
    marks: [(u32, Mark); MAX_MARKS as usize],
    from: usize,
}

impl Path {
    pub(super) fn as_slice(&self) -> &[(u32, Mark)] {
        self.marks.get(self.from..).unwrap_or_default()
    }
}

impl Run {
    /// Returns whether nothing of it is visible.
    pub(super) fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| match &piece.what {
            What::Text(text) | What::Code(text) => is_blank(text),
            What::Break => true,
            What::Image { .. } | What::Note(_) => false,
        })
    }
}

/// Returns whether a text has only white space.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

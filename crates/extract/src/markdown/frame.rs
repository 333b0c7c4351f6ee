//! The blocks that are open during the walk.

use super::table::{CellShape, Grid};
use super::tree::{Block, List, Piece, Run, What};

/// An open block and the finished blocks in it.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Root,
    Quote,
    /// `before` has the blocks above the first item.
    List {
        list: List,
        next: u64,
        before: Vec<Block>,
        notes: Vec<Block>,
    },
    Item(u64),
    Note(u32),
    Heading(u8, Run),
    Pre {
        language: String,
        text: String,
    },
    Table(Grid),
    Cell(Run, CellShape),
}

impl Frame {
    pub(super) const fn new(kind: Kind) -> Self {
        Self { kind, blocks: Vec::new() }
    }

    /// Returns whether no block may begin in it: its content is a run of text.
    pub(super) const fn is_flat(&self) -> bool {
        matches!(self.kind, Kind::Heading(..) | Kind::Pre { .. } | Kind::Cell(..))
    }

    /// Adds a run as a paragraph, or to the text of a heading or cell.
    pub(super) fn add_run(&mut self, run: Run, explicit: bool) {
        match &mut self.kind {
            Kind::Heading(_, whole) => join(whole, run, || What::Text(" ".to_owned())),
            Kind::Cell(whole, _) => join(whole, run, || What::Break),
            _ => self.blocks.push(Block::Paragraph { run, explicit }),
        }
    }

    /// Adds a finished block. Items without a list around them become one list.
    pub(super) fn add(&mut self, block: Block) {
        match (self.blocks.last_mut(), block) {
            (Some(Block::List(list)), Block::List(more)) if list.implied && more.implied => {
                list.items.extend(more.items);
            }
            (_, block) => self.blocks.push(block),
        }
    }

    /// Adds what is left of a closed frame.
    pub(super) fn add_closed(&mut self, closed: Self, limits: &super::input::MarkdownLimits) {
        let Self { kind, blocks } = closed;
        match kind {
            Kind::Root => self.blocks.extend(blocks),
            Kind::Quote => {
                let blocks = without_outer_rules(blocks);
                if !blocks.is_empty() {
                    self.add(Block::Quote(blocks));
                }
            }
            Kind::Item(number) => self.add_item(number, without_outer_rules(blocks)),
            Kind::List { mut list, notes, before, .. } => {
                self.blocks.extend(before);
                match list.items.last_mut() {
                    Some((_, last)) => last.extend(blocks),
                    None => self.blocks.extend(blocks),
                }
                if !list.items.is_empty() {
                    self.add(Block::List(list));
                }
                self.blocks.extend(notes);
            }
            Kind::Note(number) => {
                let blocks = without_outer_rules(blocks);
                if blocks.is_empty() {
                    return;
                }
                let note = Block::Note(number, blocks);
                match &mut self.kind {
                    Kind::List { notes, .. } => notes.push(note),
                    _ => self.add(note),
                }
            }
            Kind::Heading(level, run) => {
                if !run.is_blank() {
                    self.add(Block::Heading(level, run));
                }
            }
            Kind::Pre { language, text } => {
                // Rows that were joined.
                self.blocks.extend(blocks);
                self.add_code(language, &text);
            }
            Kind::Table(grid) => {
                // The caption.
                self.blocks.extend(blocks);
                match grid.finish(limits) {
                    Ok(table) => self.add(Block::Table(table)),
                    Err(cells) => cells.into_iter().for_each(|run| self.add_run(run, true)),
                }
            }
            Kind::Cell(run, shape) => match &mut self.kind {
                Kind::Table(grid) => grid.cell(run, shape, limits),
                _ if run.is_blank() => {}
                _ => self.add_run(run, true),
            },
        }
    }

    /// Adds code without the empty lines around it.
    pub(super) fn add_code(&mut self, language: String, text: &str) {
        // Some viewers interpret control characters.
        let is_shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(is_shown).collect();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let is_text = |line: &&str| !line.is_empty();
        let Some(first) = lines.iter().position(is_text) else { return };
        let last = lines.iter().rposition(is_text).unwrap_or(first);
        let text = lines.get(first..=last).unwrap_or_default().join("\n");
        self.add(Block::Code { language, text });
    }

    fn add_item(&mut self, number: u64, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        match &mut self.kind {
            // Blocks between two items, such as a list without an item around it, are shown below the first of them.
            Kind::List { list, before, .. } => {
                let between = std::mem::take(&mut self.blocks);
                match list.items.last_mut() {
                    Some((_, last)) => last.extend(between),
                    None => before.extend(between),
                }
                list.items.push((number, blocks));
            }
            _ => self.add(Block::List(List {
                start: None,
                implied: true,
                items: vec![(number, blocks)],
            })),
        }
    }
}

fn join(whole: &mut Run, run: Run, between: impl Fn() -> What) {
    if !whole.pieces.is_empty() {
        whole.pieces.push(Piece { what: between(), mark: 0 });
    }
    whole.pieces.extend(run.pieces);
}

/// Removes rules at the beginning and the end, and repeated ones.
pub(super) fn without_outer_rules(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.dedup_by(|one, other| *one == Block::Rule && *other == Block::Rule);
    while blocks.last() == Some(&Block::Rule) {
        blocks.pop();
    }
    if blocks.first() == Some(&Block::Rule) {
        blocks.remove(0);
    }
    blocks
}

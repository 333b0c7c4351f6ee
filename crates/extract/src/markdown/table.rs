//! Tables: whether the cells of a table are data, and the grid of its kept cells.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

use super::input::{MarkdownLimits, State};
use super::tree::{Align, Run, Table};
use crate::elements::attribute;
use crate::trace::Span;

/// Longest text of a cell in a data table, in bytes. Longer ones are columns of a layout.
const MAX_CELL: usize = 2_000;

/// Returns whether a table has data: text in two columns and two rows, no headings, no code in rows, no table in it.
/// `spans` begins at its first text.
///
/// # Complexity
/// Linear in the table; nested tables end it.
pub(super) fn is_data(table: NodeRef<'_, Node>, spans: &[Span], states: &[State]) -> bool {
    let is_layout = |element: &Element| {
        matches!(attribute(element, "role"), Some("presentation" | "none" | "layout"))
    };
    if table.value().as_element().is_some_and(is_layout) {
        return false;
    }
    let mut spans = spans.iter().peekable();
    let (mut column, mut bytes) = (0usize, 0usize);
    let (mut first, mut several, mut rows, mut row_has) = (None, false, 0usize, false);
    for edge in table.traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Element(element) => match element.name() {
                    "table" if node.id() != table.id() => return false,
                    "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => return false,
                    "tr" => (column, row_has) = (0, false),
                    "td" | "th" => bytes = 0,
                    _ => {}
                },
                Node::Text(text) => {
                    let Some(span) = spans.next_if(|span| span.node == node.id()) else { continue };
                    match states.get(span.block as usize) {
                        Some(State::Kept) if !text.trim().is_empty() => {}
                        Some(State::Row(_)) => return false,
                        _ => continue,
                    }
                    bytes += text.len();
                    if bytes > MAX_CELL {
                        return false;
                    }
                    several |= *first.get_or_insert(column) != column;
                    rows += usize::from(!std::mem::replace(&mut row_has, true));
                }
                _ => {}
            },
            Edge::Close(node) => {
                if node.value().as_element().is_some_and(|e| matches!(e.name(), "td" | "th")) {
                    column += 1;
                }
            }
        }
        // Images have spans too.
        if let Edge::Open(node) = edge {
            let _ = spans.next_if(|span| span.node == node.id());
        }
    }
    several && rows >= 2
}

/// A table that is read.
#[derive(Debug, Default)]
pub(super) struct Grid {
    rows: Vec<Vec<Run>>,
    /// Number of further rows that a cell above covers, by column.
    covered: Vec<u32>,
    /// Whether all filled cells of a row are `<th>` or in `<thead>`.
    names: Vec<bool>,
    alignment: Vec<Align>,
}

/// Columns and rows that a cell covers, and its alignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellShape {
    columns: usize,
    rows: u32,
    align: Align,
    is_name: bool,
}

impl CellShape {
    pub(super) fn of(element: &Element, node: NodeRef<'_, Node>) -> Self {
        let mut above = node.ancestors().filter_map(|above| above.value().as_element());
        let in_head = above.nth(1).is_some_and(|section| section.name() == "thead");
        let number =
            |name| attribute(element, name).and_then(|value| value.trim().parse::<u32>().ok());
        Self {
            columns: number("colspan").unwrap_or(1).max(1) as usize,
            rows: number("rowspan").unwrap_or(1),
            align: align(element),
            is_name: element.name() == "th" || in_head,
        }
    }
}

fn align(element: &Element) -> Align {
    let style = attribute(element, "style").unwrap_or_default();
    let value = style.split(';').take(64).find_map(|part| {
        let (name, value) = part.split_once(':')?;
        name.trim().eq_ignore_ascii_case("text-align").then(|| value.trim())
    });
    match value.or(attribute(element, "align")).map(str::to_ascii_lowercase).as_deref() {
        Some("left") => Align::Left,
        Some("center") => Align::Centre,
        Some("right") => Align::Right,
        _ => Align::None,
    }
}

impl Grid {
    pub(super) fn row(&mut self) {
        // Cells from above that cover the end of the row before.
        let end = self.rows.last().map_or(0, Vec::len);
        for rows in self.covered.iter_mut().skip(end) {
            *rows = rows.saturating_sub(1);
        }
        self.rows.push(Vec::new());
        self.names.push(true);
    }

    /// Adds a cell to the last row. Cells beyond the limit on columns join the last column.
    pub(super) fn cell(&mut self, run: Run, shape: CellShape, limits: &MarkdownLimits) {
        if self.rows.is_empty() {
            self.row();
        }
        let is_first = self.rows.len() == 1;
        let Some(row) = self.rows.last_mut() else { return };
        while self.covered.get(row.len()).is_some_and(|rows| *rows > 0) {
            if let Some(rows) = self.covered.get_mut(row.len()) {
                *rows -= 1;
            }
            row.push(Run::default());
        }
        if !run.is_blank()
            && let Some(names) = self.names.last_mut()
        {
            *names &= shape.is_name;
        }
        let room = limits.max_columns.saturating_sub(row.len());
        if room == 0 {
            if let Some(last) = row.last_mut() {
                last.pieces.push(super::tree::Piece { what: super::tree::What::Break, mark: 0 });
                last.pieces.extend(run.pieces);
            }
            return;
        }
        let mut run = Some(run);
        for _ in 0..shape.columns.min(room) {
            let at = row.len();
            row.push(run.take().unwrap_or_default());
            if self.covered.len() <= at {
                self.covered.resize(at + 1, 0);
            }
            if let Some(covered) = self.covered.get_mut(at) {
                *covered = shape.rows.saturating_sub(1);
            }
            if is_first {
                self.alignment.push(shape.align);
            }
        }
    }

    /// Returns the table without empty rows and columns, or all its cells if it is not a table.
    pub(super) fn finish(mut self, limits: &MarkdownLimits) -> Result<Table, Vec<Run>> {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut filled = vec![false; width];
        for row in &self.rows {
            for (cell, filled) in row.iter().zip(&mut filled) {
                *filled |= !cell.is_blank();
            }
        }
        let columns = filled.iter().filter(|filled| **filled).count();
        let rows = self.rows.iter().filter(|row| row.iter().any(|cell| !cell.is_blank())).count();
        if columns < 2 || rows < 2 || rows * columns > limits.max_cells {
            let cells = self.rows.into_iter().flatten();
            return Err(cells.filter(|cell| !cell.is_blank()).collect());
        }
        self.alignment.resize(width, Align::None);
        let select = |values: Vec<Run>| -> Vec<Run> {
            let missing = width - values.len().min(width);
            let all = values.into_iter().chain((0..missing).map(|_| Run::default()));
            all.zip(&filled).filter(|(_, filled)| **filled).map(|(value, _)| value).collect()
        };
        let mut header = None;
        let mut kept = Vec::with_capacity(rows);
        for (row, names) in self.rows.into_iter().zip(self.names) {
            if row.iter().all(Run::is_blank) {
                continue;
            }
            header.get_or_insert(names);
            kept.push(select(row));
        }
        let alignment = self.alignment.iter().zip(&filled);
        let alignment = alignment.filter(|(_, filled)| **filled).map(|(align, _)| *align).collect();
        Ok(Table { header: header.unwrap_or(false), alignment, rows: kept })
    }
}

//! Writes the blocks of a page as Markdown, within a limit on its bytes.

use super::inline::{Breaks, inline, longest_run};
use super::tree::{Align, Block, List, Marks, Table};

/// Writes blocks until the limit. Returns the text, and whether the limit cut it.
///
/// # Complexity
/// Linear in its output. Its depth is that of the tree, which is limited.
pub(super) fn render(blocks: &[Block], marks: &Marks, max_bytes: usize) -> (String, bool) {
    let mut writer = Writer {
        out: String::new(),
        prefix: String::new(),
        in_line: false,
        marks,
        max_bytes,
        cut: false,
    };
    writer.blocks(blocks, false);
    (writer.out, writer.cut)
}

struct Writer<'a> {
    out: String,
    /// Beginning of each line: quote marks and the indentation of lists.
    prefix: String,
    /// Whether the marker of a list item or a note begins the line.
    in_line: bool,
    marks: &'a Marks,
    max_bytes: usize,
    cut: bool,
}

/// Largest number of an item: CommonMark reads nine digits.
const MAX_NUMBER: u64 = 999_999_999;

impl Writer<'_> {
    /// Writes blocks with blank lines between them, or without in a `tight` list.
    fn blocks(&mut self, blocks: &[Block], tight: bool) {
        let mut other = false;
        for (at, block) in blocks.iter().enumerate() {
            if at > 0 && !tight {
                self.blank();
            }
            // Two lists in a row need different markers.
            let after_list = at.checked_sub(1).and_then(|at| blocks.get(at));
            other = matches!((after_list, block), (Some(Block::List(_)), Block::List(_))) && !other;
            self.block(block, other);
            if self.cut {
                return;
            }
        }
    }

    fn block(&mut self, block: &Block, other: bool) {
        match block {
            Block::Heading(level, run) => {
                let text = inline(run, self.marks, Breaks::Space);
                let text = match text.strip_suffix('#') {
                    Some(start) if !start.ends_with('\\') => format!("{start}\\#"),
                    _ => text,
                };
                self.line(&format!("{} {text}", "#".repeat(usize::from(*level))));
            }
            Block::Paragraph { run, .. } => {
                for line in inline(run, self.marks, Breaks::Line).split('\n') {
                    self.line(line);
                }
            }
            Block::Code { language, text } => {
                let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
                self.line(&format!("{fence}{language}"));
                if self.cut {
                    return;
                }
                for line in text.split('\n') {
                    self.line(line);
                }
                self.close_fence(&fence);
            }
            Block::Quote(blocks) => self.inside("> ", "> ", |writer| writer.blocks(blocks, false)),
            Block::List(list) => self.list(list, other),
            Block::Table(table) => self.table(table),
            Block::Note(number, blocks) => {
                self.inside(&format!("[^{number}]: "), "    ", |writer| {
                    writer.blocks(blocks, false)
                });
            }
            // Under a line of text, `---` would be a heading.
            Block::Rule if self.prefix.is_empty() => self.line("---"),
            Block::Rule => self.line("___"),
        }
    }

    fn list(&mut self, list: &List, other: bool) {
        let is_list = |block: &&Block| matches!(block, Block::List(_));
        let loose = list.items.iter().any(|(_, blocks)| {
            blocks.iter().filter(|block| !is_list(block)).count() > 1
                || blocks
                    .iter()
                    .any(|block| matches!(block, Block::Paragraph { explicit: true, .. }))
                || blocks.windows(2).any(|pair| pair.iter().all(|block| is_list(&block)))
        });
        for (at, (number, blocks)) in list.items.iter().enumerate() {
            if at > 0 && loose {
                self.blank();
            }
            let marker = match (list.start.is_some(), other) {
                (true, false) => format!("{}. ", (*number).min(MAX_NUMBER)),
                (true, true) => format!("{}) ", (*number).min(MAX_NUMBER)),
                (false, false) => "- ".to_owned(),
                (false, true) => "* ".to_owned(),
            };
            let indent = " ".repeat(marker.len());
            self.inside(&marker, &indent, |writer| writer.blocks(blocks, !loose));
            if self.cut {
                return;
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let width = table.rows.first().map_or(0, Vec::len);
        let mut rows = table.rows.iter();
        let empty = "|".to_owned() + &"  |".repeat(width);
        let first = if table.header { rows.next() } else { None };
        let header = first.map_or(empty, |row| self.row(row));
        self.line(&header);
        let mut line = "|".to_owned();
        for at in 0..width {
            line.push_str(match table.alignment.get(at).copied().unwrap_or_default() {
                Align::None => " --- |",
                Align::Left => " :-- |",
                Align::Centre => " :-: |",
                Align::Right => " --: |",
            });
        }
        self.line(&line);
        for row in rows {
            let line = self.row(row);
            self.line(&line);
            if self.cut {
                return;
            }
        }
    }

    fn row(&self, row: &[super::tree::Run]) -> String {
        let mut line = "|".to_owned();
        for cell in row {
            line.push(' ');
            line.push_str(&inline(cell, self.marks, Breaks::Tag));
            line.push_str(" |");
        }
        line
    }

    /// Writes content whose first line begins with a marker and whose other lines with `indent`.
    fn inside(&mut self, marker: &str, indent: &str, content: impl FnOnce(&mut Self)) {
        if !self.begin(marker.len()) {
            return;
        }
        self.out.push_str(marker);
        let length = self.prefix.len();
        self.prefix.push_str(indent);
        self.in_line = true;
        content(self);
        self.in_line = false;
        self.prefix.truncate(length);
    }

    /// Writes the beginning of a line, if `more` bytes fit too.
    fn begin(&mut self, more: usize) -> bool {
        let needed = self.out.len() + self.prefix.len() + more + 1;
        self.cut |= needed > self.max_bytes;
        if self.cut {
            return false;
        }
        if !std::mem::take(&mut self.in_line) {
            self.out.push_str(&self.prefix);
        }
        true
    }

    fn line(&mut self, line: &str) {
        if !self.begin(line.len()) {
            return;
        }
        if line.is_empty() {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn blank(&mut self) {
        if self.begin(0) {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.push('\n');
        }
    }

    /// Ends a code block even if the limit cut it.
    fn close_fence(&mut self, fence: &str) {
        self.out.push_str(&self.prefix);
        self.out.push_str(fence);
        self.out.push('\n');
    }
}

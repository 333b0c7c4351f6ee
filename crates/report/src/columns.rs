//! Two texts side by side on a terminal, with differences marked by word.

use std::io::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use unicode_width::UnicodeWidthChar;

use crate::text::escape;
use hapax_data::{Piece, diff, diff_deadline};

const CONTEXT: usize = 1;

/// Two columns of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Terminal cells of one column.
    width: usize,
    ansi: bool,
}

/// A run of text, and whether it is on this side only.
type Part = (bool, String);

impl Columns {
    /// Columns for a terminal of this many cells; `ansi` uses colours.
    pub const fn new(width: usize, ansi: bool) -> Self {
        Self { width: (width - 3) / 2, ansi }
    }

    /// Writes the kept text on the left, the discarded one on the right. Without colours, `[-` and `-]`, or `{+` and
    /// `+}`, enclose text that only one side has.
    ///
    /// # Errors
    /// From the writer.
    pub fn write(self, out: &mut dyn Write, kept: &str, own: &str) -> std::io::Result<()> {
        let (old, new): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), own.lines().collect());
        let (left, right) = ("kept", "discarded");
        writeln!(out, "{left:<width$} | {right}", width = self.width)?;
        writeln!(out, "{}-+-{}", "-".repeat(self.width), "-".repeat(self.width))?;
        let deadline = diff_deadline();
        let ops = capture_diff_slices_deadline(Algorithm::Patience, &old, &new, Some(deadline));
        let last = ops.len().saturating_sub(1);
        for (number, op) in ops.iter().enumerate() {
            let (a, b) = (op.old_range(), op.new_range());
            let (a, b) = (old.get(a).unwrap_or_default(), new.get(b).unwrap_or_default());
            if matches!(op, DiffOp::Equal { .. }) {
                self.equal(out, b, number > 0, number < last)?;
                continue;
            }
            for at in 0..a.len().max(b.len()) {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                let one = |lines: &[&str]| lines.get(at).copied().unwrap_or_default().to_owned();
                let (one_old, one_new) = (one(a), one(b));
                for piece in diff(&one_old, &one_new, deadline) {
                    match piece {
                        Piece::Both(text) => {
                            left.push((false, text.to_owned()));
                            right.push((false, text.to_owned()));
                        }
                        Piece::Old(text) => left.push((true, text.to_owned())),
                        Piece::New(text) => right.push((true, text.to_owned())),
                    }
                }
                self.pair(out, &left, &right)?;
            }
        }
        Ok(())
    }

    fn equal(
        self,
        out: &mut dyn Write,
        lines: &[&str],
        after: bool,
        before: bool,
    ) -> std::io::Result<()> {
        let head = if after { CONTEXT.min(lines.len()) } else { 0 };
        let tail = if before { CONTEXT.min(lines.len() - head) } else { 0 };
        let hidden = lines.len() - head - tail;
        let show = |out: &mut dyn Write, lines: &[&str]| -> std::io::Result<()> {
            for line in lines {
                let part = [(false, (*line).to_owned())];
                // One line suffices to recognise common text.
                self.rows(out, &self.wrap(&part, true, 1), &self.wrap(&part, false, 1))?;
            }
            Ok(())
        };
        show(out, lines.get(..head).unwrap_or_default())?;
        if hidden > 0 {
            let (dim, reset) = if self.ansi { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
            let plural = if hidden == 1 { "" } else { "s" };
            writeln!(out, "{dim}... {hidden} equal line{plural}{reset}")?;
        }
        show(out, lines.get(lines.len() - tail..).unwrap_or_default())
    }

    fn pair(self, out: &mut dyn Write, left: &[Part], right: &[Part]) -> std::io::Result<()> {
        let (left, right) =
            (self.wrap(left, true, usize::MAX), self.wrap(right, false, usize::MAX));
        self.rows(out, &left, &right)
    }

    fn rows(
        self,
        out: &mut dyn Write,
        left: &[(String, usize)],
        right: &[(String, usize)],
    ) -> std::io::Result<()> {
        let empty = (String::new(), 0);
        for at in 0..left.len().max(right.len()) {
            let (a, used) = left.get(at).unwrap_or(&empty);
            let (b, _) = right.get(at).unwrap_or(&empty);
            let padding = " ".repeat(self.width.saturating_sub(*used));
            writeln!(out, "{}", format!("{a}{padding} | {b}").trim_end())?;
        }
        Ok(())
    }

    /// Wraps text to the column's width. Returns each line with its number of cells.
    fn wrap(self, parts: &[Part], left: bool, max_lines: usize) -> Vec<(String, usize)> {
        let (on, off) = match (self.ansi, left) {
            (true, true) => ("\x1b[31m", "\x1b[0m"),
            (true, false) => ("\x1b[32m", "\x1b[0m"),
            (false, true) => ("[-", "-]"),
            (false, false) => ("{+", "+}"),
        };
        let marks = if self.ansi { 0 } else { 2 };
        let mut lines = vec![(String::new(), 0)];
        for (changed, text) in parts {
            let mut open = false;
            let text = escape(text);
            // Remaining cells of the word: break before a word that fits only on the next line.
            let mut word = 0;
            for (at, c) in text.char_indices() {
                let cells = c.width().unwrap_or(0);
                let reserve = if *changed { cells + 2 * marks } else { cells };
                let rest = text.get(at..).unwrap_or_default();
                let begins = word == 0;
                if begins {
                    let end = rest.find(' ').unwrap_or(rest.len());
                    let length = rest.get(..end).unwrap_or_default().chars();
                    word = length.filter_map(UnicodeWidthChar::width).sum::<usize>();
                }
                let ahead = if begins && word < self.width / 2 { word.max(cells) } else { cells };
                let reserve = reserve - cells + ahead;
                word = word.saturating_sub(cells);
                let full = lines.last().is_some_and(|(_, used)| used + reserve > self.width);
                if full {
                    if open && let Some((line, used)) = lines.last_mut() {
                        line.push_str(off);
                        *used += marks;
                        open = false;
                    }
                    if lines.len() == max_lines {
                        if let Some((line, _)) = lines.last_mut() {
                            line.pop();
                            line.push('…');
                        }
                        return lines;
                    }
                    lines.push((String::new(), 0));
                }
                let Some((line, used)) = lines.last_mut() else { return lines };
                if *changed && !open {
                    line.push_str(on);
                    *used += marks;
                    open = true;
                }
                line.push(c);
                *used += cells;
            }
            if open && let Some((line, used)) = lines.last_mut() {
                line.push_str(off);
                *used += marks;
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kept: &str, own: &str, width: usize) -> String {
        let mut out = Vec::new();
        Columns::new(width, false).write(&mut out, kept, own).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_mark_changed_words_and_count_equal_lines() {
        let text = shown("a\nb\nthe old river\nd\ne", "a\nb\nthe new river\nd\ne", 60);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "... 1 equal line",
                "b                            | b",
                "the [-old-] river            | the {+new+} river",
                "d                            | d",
                "... 1 equal line"
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_its_column() {
        let text = shown(&"北京大学".repeat(30), &"北京中学".repeat(30), 60);
        for line in text.lines() {
            let cells: usize = line.chars().filter_map(UnicodeWidthChar::width).sum();
            assert!(cells <= 60, "{cells}: {line}");
        }
        assert!(shown("", "\u{1b}[31m", 60).contains("{+\\u{1b}[31m+}"));
    }
}

//! Collects text with marks, with white space collapsed as in a browser.

use super::tree::{Piece, Run, What, is_blank};
use crate::wrap::is_wide;

/// A run that grows.
#[derive(Debug, Default)]
pub(super) struct Growing {
    pieces: Vec<Piece>,
    /// White space before the next word; `Some(true)` has a line break.
    space: Option<bool>,
    /// Whether a word was there on this line.
    begun: bool,
    /// Last character, for line breaks between wide characters.
    last: Option<char>,
}

impl Growing {
    /// Adds a text of the tree.
    pub(super) fn text(&mut self, text: &str, mark: u32, code: bool) {
        let mut rest = text;
        while !rest.is_empty() {
            let plain = plain_words(rest);
            let end = if plain > 0 { plain } else { rest.find(is_space).unwrap_or(rest.len()) };
            let (word, later) = rest.split_at(end);
            if !word.is_empty() {
                self.word(word, plain == 0, mark, code);
            }
            let next = later.find(|c: char| !is_space(c)).unwrap_or(later.len());
            let (space, later) = later.split_at(next);
            rest = later;
            if !space.is_empty() && self.begun {
                let broken = space.contains('\n') || self.space == Some(true);
                self.space = Some(broken);
                // The space belongs to the marks around it, not to those of the next word.
                self.flush_space(mark, code);
            }
        }
    }

    /// Adds a space unless there is one.
    pub(super) fn space(&mut self) {
        if self.begun && self.space.is_none() {
            self.space = Some(false);
            self.flush_space(0, false);
        }
    }

    fn flush_space(&mut self, mark: u32, code: bool) {
        let ends_with_space = self.pieces.last().is_some_and(|piece| match &piece.what {
            What::Text(text) | What::Code(text) => text.ends_with(' '),
            What::Break => true,
            What::Image { .. } | What::Note(_) => false,
        });
        if !ends_with_space {
            self.push(" ", mark, code);
        }
    }

    /// Adds a word. `special` ones may have invisible characters.
    fn word(&mut self, word: &str, special: bool, mark: u32, code: bool) {
        // A line break between two wide characters is not a space.
        let joins =
            self.space == Some(true) && self.last.is_some_and(is_wide) && word.starts_with(is_wide);
        if joins
            && let Some(What::Text(text)) = self.pieces.last_mut().map(|piece| &mut piece.what)
            && text.ends_with(' ')
        {
            text.pop();
        }
        self.space = None;
        self.begun = true;
        self.last = word.chars().next_back();
        if special && word.contains(is_invisible) {
            let word: String = word.chars().filter(|c| !is_invisible(*c)).collect();
            self.push(&word, mark, code);
        } else {
            self.push(word, mark, code);
        }
    }

    fn push(&mut self, text: &str, mark: u32, code: bool) {
        if let Some(piece) = self.pieces.last_mut().filter(|piece| piece.mark == mark) {
            match &mut piece.what {
                What::Code(old) if code => return old.push_str(text),
                What::Text(old) if !code => return old.push_str(text),
                _ => {}
            }
        }
        let text = text.to_owned();
        let what = if code { What::Code(text) } else { What::Text(text) };
        self.pieces.push(Piece { what, mark });
    }

    /// Adds a line break.
    pub(super) fn line_break(&mut self) {
        self.space = None;
        self.begun = false;
        self.last = None;
        if !self.pieces.is_empty() {
            self.pieces.push(Piece { what: What::Break, mark: 0 });
        }
    }

    /// Adds an image or a reference to a note.
    pub(super) fn object(&mut self, what: What, mark: u32) {
        self.space = None;
        self.begun = true;
        self.last = None;
        self.pieces.push(Piece { what, mark });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Ends the run. Returns its parts: two line breaks in a row begin a new one.
    pub(super) fn finish(&mut self) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut run = Run::default();
        let pieces = std::mem::take(self).pieces;
        let mut breaks = 0;
        for piece in pieces {
            let blank = matches!(&piece.what, What::Text(text) if is_blank(text));
            if piece.what == What::Break {
                breaks += 1;
                continue;
            }
            if blank && (breaks > 0 || run.pieces.is_empty()) {
                continue;
            }
            if breaks > 1 {
                runs.push(std::mem::take(&mut run));
            } else if breaks == 1 && !run.pieces.is_empty() {
                run.pieces.push(Piece { what: What::Break, mark: 0 });
            }
            breaks = 0;
            run.pieces.push(piece);
        }
        runs.push(run);
        runs.retain(|run| !run.is_blank());
        runs
    }
}

/// Returns the length of the words at the beginning that are ASCII, with single spaces between them: they need no work.
fn plain_words(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut end) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_graphic() {
            end = at + 1;
        } else if *byte != b' ' || at != end || end == 0 {
            break;
        }
        at += 1;
    }
    end
}

fn is_space(c: char) -> bool {
    // Line ends inside a line of Markdown would end a heading or a cell.
    c.is_whitespace() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}')
}

/// Control characters, which some viewers interpret.
fn is_invisible(c: char) -> bool {
    c.is_control() || c == '\u{feff}'
}

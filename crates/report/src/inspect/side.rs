//! Two texts side by side in HTML, with differences marked by word.

use std::time::Instant;

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::text::escape;
use hapax_data::{Piece, diff, diff_deadline};

/// Number of equal lines shown around a change. More of them are folded.
const CONTEXT: usize = 2;

/// Renders the kept text on the left, the discarded one on the right.
pub(super) fn side_by_side(kept: &str, own: &str) -> Markup {
    let (old, new): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), own.lines().collect());
    let deadline = diff_deadline();
    let ops = capture_diff_slices_deadline(Algorithm::Patience, &old, &new, Some(deadline));
    html! {
        div.diff role="table" aria-label="The two texts side by side" {
            div.row.head role="row" {
                div role="columnheader" { "kept" }
                div role="columnheader" { "discarded" }
            }
            @for op in &ops {
                @let a = old.get(op.old_range()).unwrap_or_default();
                @let b = new.get(op.new_range()).unwrap_or_default();
                @if matches!(op, DiffOp::Equal { .. }) {
                    (equal(b))
                } @else {
                    @for at in 0..a.len().max(b.len()) {
                        (changed(a.get(at).copied().unwrap_or_default(), b.get(at).copied().unwrap_or_default(), deadline))
                    }
                }
            }
        }
    }
}

fn equal(lines: &[&str]) -> Markup {
    let shown = |lines: &[&str]| {
        html! { @for line in lines { div.row role="row" { div role="cell" { (escape(line)) } div role="cell" { (escape(line)) } } } }
    };
    if lines.len() <= 2 * CONTEXT + 1 {
        return shown(lines);
    }
    let (head, rest) = lines.split_at(CONTEXT);
    let (middle, tail) = rest.split_at(rest.len() - CONTEXT);
    html! {
        (shown(head))
        details { summary { (middle.len()) " equal lines" } (shown(middle)) }
        (shown(tail))
    }
}

fn changed(old: &str, new: &str, deadline: Instant) -> Markup {
    let pieces = diff(old, new, deadline);
    html! {
        div.row.changed role="row" {
            div role="cell" {
                @for piece in &pieces {
                    @match piece {
                        Piece::Both(text) => (escape(text)),
                        Piece::Old(text) => del { (escape(text)) },
                        Piece::New(_) => {},
                    }
                }
            }
            div role="cell" {
                @for piece in &pieces {
                    @match piece {
                        Piece::Both(text) => (escape(text)),
                        Piece::New(text) => ins { (escape(text)) },
                        Piece::Old(_) => {},
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_by_side_marks_changed_words_and_escapes_page_markup() {
        let html = side_by_side("the old <script>\nb", "the new <script>\nb").into_string();
        assert!(html.contains("the <del>old</del> &lt;script&gt;"), "{html}");
        assert!(html.contains("the <ins>new</ins> &lt;script&gt;"), "{html}");
        let long = "x\n".repeat(50);
        assert!(side_by_side(&long, &long).into_string().contains("46 equal lines"));
    }
}

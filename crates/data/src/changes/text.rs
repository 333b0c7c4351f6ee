//! The difference of two versions of a page, from the archive.

use std::path::Path;

use hapax_page::difference::{Words, compare as compare_words};
use url::Url;

use super::net::Places;
use super::page::{DiffPiece, PageChange};
use crate::archived::stored_text;
use crate::comparison::round;
use crate::diff::{Piece, diff, diff_deadline};

/// Differing parts of a page that are listed.
const MOST_PIECES: usize = 50;
/// Characters of one part.
const MOST_CHARACTERS: usize = 500;

/// Adds the difference of the two texts, and their similarity if no event has it.
pub(super) fn compare(data: &Path, change: &mut PageChange, places: &Places) {
    let Ok(url) = Url::parse(&change.url) else { return };
    let text = |place: &Option<String>| stored_text(&data.join("pages"), place.as_deref()?, &url);
    let (Some(before), Some(after)) = (text(&places.before), text(&places.after)) else { return };
    if change.similarity.is_none() {
        let words = compare_words(&Words::of(&before), &Words::of(&after));
        change.similarity = Some(round(words.jaccard()));
    }
    change.diff = Some(pieces(&before, &after));
}

/// Returns the differing parts. White space between two of them belongs to both.
fn pieces(before: &str, after: &str) -> Vec<DiffPiece> {
    let mut pieces: Vec<DiffPiece> = Vec::new();
    let mut open = false;
    for piece in diff(before, after, diff_deadline()) {
        match piece {
            Piece::Both(text) if open && text.trim().is_empty() => {
                if let Some(last) = pieces.last_mut() {
                    last.removed.push_str(text);
                    last.added.push_str(text);
                }
            }
            Piece::Both(_) => open = false,
            Piece::Old(text) | Piece::New(text) => {
                if !open {
                    if pieces.len() >= MOST_PIECES {
                        break;
                    }
                    pieces.push(DiffPiece::default());
                    open = true;
                }
                if let Some(last) = pieces.last_mut() {
                    let side = match piece {
                        Piece::Old(_) => &mut last.removed,
                        _ => &mut last.added,
                    };
                    side.push_str(text);
                }
            }
        }
    }
    for piece in &mut pieces {
        for side in [&mut piece.removed, &mut piece.added] {
            *side = side.trim().chars().take(MOST_CHARACTERS).collect();
        }
    }
    pieces.retain(|piece| *piece != DiffPiece::default());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_lists_what_was_removed_and_added_within_limits() {
        let piece = |removed: &str, added: &str| DiffPiece {
            removed: removed.to_owned(),
            added: added.to_owned(),
        };
        assert_eq!(
            pieces("The old mill stands by the river.", "The new tall mill stands by the sea."),
            [piece("old", "new tall"), piece("river", "sea")]
        );
        assert_eq!(pieces("same", "same"), []);
        let long: String = (0..10_000).map(|word| format!("a{word} same ")).collect();
        let other: String = (0..10_000).map(|word| format!("b{word} same ")).collect();
        let found = pieces(&long, &other);
        assert!(found.len() <= MOST_PIECES, "{}", found.len());
        let one = pieces("", &"word ".repeat(1000));
        assert!(one.iter().all(|piece| piece.added.len() <= MOST_CHARACTERS));
    }
}

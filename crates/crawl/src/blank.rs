//! Blank pages: pages that show neither text nor images. Of each host and title the first one is kept.
//!
//! Sites that need scripts, or that answer with an empty template, return thousands of them. They have no text to
//! compare, so they are logged in skipped.jsonl and not as duplicates.

use std::collections::HashMap;

use hapax_frontier::Frontier;
use hapax_page::HASH;
use hapax_url::url_key;

use crate::error::Result;
use crate::page::PageWork;

/// Name of the frontier's note with the kept blank pages of a host.
const NOTE: &str = "blank";
/// Maximum number of blank pages that are kept of a host, each with another title.
const MAX_KEPT: usize = 16;
const MAX_HOSTS: usize = 100_000;
/// Bytes of one page in a note: hash of the title, key of the URL.
const KEPT: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    title: u64,
    url: u128,
}

#[derive(Debug, Default)]
pub(super) struct BlankPages {
    hosts: HashMap<String, Vec<Kept>>,
}

impl BlankPages {
    /// Returns whether a page is blank and another blank page of its host and title was kept. Records the first one
    /// as kept.
    pub(super) fn repeats(
        &mut self,
        frontier: &dyn Frontier,
        host: &str,
        page: &PageWork,
    ) -> Result<bool> {
        if !page.blank {
            return Ok(false);
        }
        if !self.hosts.contains_key(host) {
            if self.hosts.len() >= MAX_HOSTS {
                self.hosts.clear();
            }
            let note = frontier.note_of(host, NOTE)?.unwrap_or_default();
            self.hosts.insert(host.to_owned(), read_note(&note));
        }
        let kept = self.hosts.entry(host.to_owned()).or_default();
        let own = Kept {
            title: HASH.hash(page.document.title.as_bytes()),
            url: url_key(page.url.as_str()),
        };
        // A recrawl fetches the kept page again.
        if kept.iter().any(|kept| kept.url == own.url) {
            return Ok(false);
        }
        if kept.len() >= MAX_KEPT || kept.iter().any(|kept| kept.title == own.title) {
            return Ok(true);
        }
        kept.push(own);
        frontier.note(host, NOTE, kept.iter().flat_map(to_note).collect());
        Ok(false)
    }
}

fn to_note(kept: &Kept) -> Vec<u8> {
    [&kept.title.to_le_bytes()[..], &kept.url.to_le_bytes()].concat()
}

fn read_note(note: &[u8]) -> Vec<Kept> {
    let (pages, _) = note.as_chunks::<KEPT>();
    let read = |page: &[u8; KEPT]| {
        let (title, rest) = page.split_first_chunk::<8>()?;
        let url = u128::from_le_bytes(rest.try_into().ok()?);
        Some(Kept { title: u64::from_le_bytes(*title), url })
    };
    pages.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_page_note_round_trips() {
        let kept = [Kept { title: 1, url: 2 }, Kept { title: u64::MAX, url: u128::MAX }];
        let note: Vec<u8> = kept.iter().flat_map(to_note).collect();
        assert_eq!(read_note(&note), kept);
        assert_eq!(read_note(&note[..note.len() - 1]), kept[..1]);
        assert!(read_note(b"").is_empty());
    }
}

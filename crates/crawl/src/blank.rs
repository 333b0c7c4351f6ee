//! Pages without any visible text: of each host the first one of a title is kept.
//!
//! A site of which pages need scripts, or that answers with an empty template, sends thousands of them. They are no
//! duplicates in the log's sense, for there is nothing to compare.

use std::collections::HashMap;

use hapax_frontier::Frontier;
use hapax_page::HASH;
use hapax_url::url_key;

use crate::error::Result;
use crate::page::PageWork;

/// Under this name the frontier remembers blank pages of a host.
const NOTE: &str = "blank";
/// Blank pages of different titles that are kept of a host.
const MAX_KEPT: usize = 16;
/// Hosts held in memory.
const MAX_HOSTS: usize = 100_000;
/// Bytes of a page in a note: the hash of its title, and the key of its URL.
const KEPT: usize = 24;

/// A blank page that was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    title: u64,
    url: u128,
}

/// The blank pages that were kept of each host.
#[derive(Debug, Default)]
pub(super) struct BlankPages {
    hosts: HashMap<String, Vec<Kept>>,
}

impl BlankPages {
    /// Whether a page is blank, and a blank page of its host and title was kept. If not, a blank page is remembered as kept.
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
        // The page that was kept is fetched again by a recrawl.
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
    fn what_is_noted_is_read_again() {
        let kept = [Kept { title: 1, url: 2 }, Kept { title: u64::MAX, url: u128::MAX }];
        let note: Vec<u8> = kept.iter().flat_map(to_note).collect();
        assert_eq!(read_note(&note), kept);
        assert_eq!(read_note(&note[..note.len() - 1]), kept[..1]);
        assert!(read_note(b"").is_empty());
    }
}

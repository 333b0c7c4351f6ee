//! Pages that say "not found" with status 200: each host is asked once for an address that does not
//! exist, and what looks like the answer is no page.

use std::collections::HashMap;

use anyhow::Result;
use hapax_dedup::{SKETCH_SIZE, Sketch};
use hapax_frontier::{Entry, EntryKind, Frontier, url_key};
use url::Url;

use super::page::PageWork;

/// Under this name the frontier remembers the answer.
const NOTE: &str = "soft-404";
/// Such answers repeat what was asked for; their sketches are this much alike at least.
const SIMILARITY: f64 = 0.8;
/// Hosts held in memory.
const MAX_HOSTS: usize = 100_000;

#[derive(Clone, Debug)]
struct Answer {
    digest: [u8; 16],
    sketch: Option<Sketch>,
}

/// How each host says that there is nothing; `None` for those that were not asked, or say so well.
#[derive(Debug, Default)]
pub(super) struct MissingPages(HashMap<String, Option<Answer>>);

impl MissingPages {
    /// An address on a page's host that does not exist.
    pub(super) fn probe(page: &Url) -> Entry {
        let mut url = page.clone();
        url.set_query(None);
        url.set_path(&format!("/no-such-page-{:016x}", url_key(page.as_str()) as u64));
        Entry { kind: EntryKind::Probe, ..Entry::page(url, 0) }
    }

    /// Takes in a page that should not exist.
    pub(super) fn learn(&mut self, frontier: &dyn Frontier, host: &str, page: &PageWork) {
        let Some(digest) = page.basis.features.digest else { return };
        let mut note = digest.to_vec();
        note.extend(page.sketch.iter().flat_map(|sketch| *sketch.as_bytes()));
        frontier.note(host, NOTE, note);
        self.0.insert(host.to_owned(), Some(Answer { digest, sketch: page.sketch }));
    }

    /// Whether a page looks like the answer of its host to an address that does not exist.
    pub(super) fn looks_like(
        &mut self,
        frontier: &dyn Frontier,
        host: &str,
        page: &PageWork,
    ) -> Result<bool> {
        if !self.0.contains_key(host) {
            if self.0.len() >= MAX_HOSTS {
                self.0.clear();
            }
            let note = frontier.note_of(host, NOTE)?;
            self.0.insert(host.to_owned(), note.as_deref().and_then(read_note));
        }
        let Some(Some(answer)) = self.0.get(host) else { return Ok(false) };
        if page.basis.features.digest == Some(answer.digest) {
            return Ok(true);
        }
        let both = page.sketch.as_ref().zip(answer.sketch.as_ref());
        Ok(both.is_some_and(|(a, b)| a.similarity(b) >= SIMILARITY))
    }
}

fn read_note(note: &[u8]) -> Option<Answer> {
    let (digest, sketch) = note.split_first_chunk::<16>()?;
    let sketch = <[u8; SKETCH_SIZE]>::try_from(sketch).ok().map(Sketch::from_bytes);
    Some(Answer { digest: *digest, sketch })
}

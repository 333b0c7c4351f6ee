//! Soft 404s: pages that say "not found" with status 200. For each host the crawl requests one invented URL, which
//! surely does not exist. Pages that are similar to its response are logged in skipped.jsonl as `soft-404`.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use hapax_dedup::{SKETCH_SIZE, Sketch};
use hapax_frontier::{Entry, EntryKind, Frontier};
use hapax_url::url_key;
use url::Url;

use super::page::PageWork;

/// Name of the frontier's note with the response of a host.
const NOTE: &str = "soft-404";
/// Similarity of sketches from which a page counts as "not found". It is below 1, because such pages repeat the URL.
const SIMILARITY: f64 = 0.8;
/// Maximum number of hosts in memory. Beyond it, the frontier's notes are read again.
const MAX_HOSTS: usize = 100_000;

/// The response of a host to the invented URL.
#[derive(Clone, Debug)]
struct Answer {
    digest: [u8; 16],
    sketch: Option<Sketch>,
}

/// The responses of hosts to a URL that does not exist.
#[derive(Debug, Default)]
pub(super) struct MissingPages {
    /// By host. `None`: no response to compare with, because the host was not asked or correctly returned an error.
    answers: HashMap<String, Option<Answer>>,
    probed: HashSet<String>,
}

impl MissingPages {
    /// Returns a URL on a page's host that does not exist; `None` if this run has probed the host. The URL is the
    /// same in each run, so that the frontier knows whether it was requested.
    pub(super) fn probe(&mut self, page: &Url, host: &str) -> Option<Entry> {
        if self.probed.len() >= MAX_HOSTS {
            self.probed.clear();
        }
        if !self.probed.insert(host.to_owned()) {
            return None;
        }
        let mut url = page.clone();
        url.set_query(None);
        url.set_path(&format!("/no-such-page-{:016x}", url_key(host) as u64));
        Some(Entry { kind: EntryKind::Probe, ..Entry::page(url, 0) })
    }

    /// Remembers the page that a probe returned.
    pub(super) fn learn(&mut self, frontier: &dyn Frontier, host: &str, page: &PageWork) {
        let Some(digest) = page.evidence.comparison_text.features.digest else { return };
        let mut note = digest.to_vec();
        note.extend(page.evidence.sketch.iter().flat_map(|sketch| *sketch.as_bytes()));
        frontier.note(host, NOTE, note);
        self.answers.insert(host.to_owned(), Some(Answer { digest, sketch: page.evidence.sketch }));
    }

    /// Returns whether a page resembles its host's response to a URL that does not exist.
    pub(super) fn looks_like(
        &mut self,
        frontier: &dyn Frontier,
        host: &str,
        page: &PageWork,
    ) -> Result<bool> {
        if !self.answers.contains_key(host) {
            if self.answers.len() >= MAX_HOSTS {
                self.answers.clear();
            }
            let note = frontier.note_of(host, NOTE)?;
            self.answers.insert(host.to_owned(), note.as_deref().and_then(read_note));
        }
        let Some(Some(answer)) = self.answers.get(host) else { return Ok(false) };
        let features = &page.evidence.comparison_text.features;
        // A note of an earlier version has the former digest.
        if [features.digest, features.former_digest].contains(&Some(answer.digest)) {
            return Ok(true);
        }
        let both = page.evidence.sketch.as_ref().zip(answer.sketch.as_ref());
        Ok(both.is_some_and(|(a, b)| a.similarity(b) >= SIMILARITY))
    }
}

fn read_note(note: &[u8]) -> Option<Answer> {
    let (digest, sketch) = note.split_first_chunk::<16>()?;
    let sketch = <[u8; SKETCH_SIZE]>::try_from(sketch).ok().map(Sketch::from_bytes);
    Some(Answer { digest: *digest, sketch })
}

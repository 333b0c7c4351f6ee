//! Soft 404s: pages that say "not found" with status 200. For each host the crawl requests one invented URL, which
//! surely does not exist. The first page of a host that is similar to its response is kept, like the first blank page.
//! Further ones are logged in skipped.jsonl as `soft-404`.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use hapax_dedup::{SKETCH_SIZE, Sketch};
use hapax_frontier::{Entry, EntryKind, Frontier};
use hapax_url::url_key;
use url::Url;

use super::page::PageWork;

/// Name of the frontier's note with the response of a host.
const NOTE: &str = "soft-404";
/// Name of the frontier's note with the key of the URL of the kept page.
const KEPT_NOTE: &str = "soft-404-kept";
/// Similarity of sketches from which a page counts as "not found". It is below 1, because such pages repeat the URL.
const SIMILARITY: f64 = 0.8;
/// Maximum number of hosts in memory. Beyond it, the frontier's notes are read again.
const MAX_HOSTS: usize = 100_000;

/// The response of a host to the invented URL.
#[derive(Clone, Debug)]
struct Answer {
    digest: [u8; 16],
    sketch: Option<Sketch>,
    /// Key of the URL of the first similar page, which is kept.
    kept: Option<u128>,
}

impl Answer {
    fn is_like(&self, page: &PageWork) -> bool {
        let features = &page.evidence.comparison_text.features;
        // A note of an earlier version has the former digest.
        if [features.digest, features.former_digest].contains(&Some(self.digest)) {
            return true;
        }
        let both = page.evidence.sketch.as_ref().zip(self.sketch.as_ref());
        both.is_some_and(|(a, b)| a.similarity(b) >= SIMILARITY)
    }
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
    pub(super) fn learn(
        &mut self,
        frontier: &dyn Frontier,
        host: &str,
        page: &PageWork,
    ) -> Result<()> {
        let Some(digest) = page.evidence.comparison_text.features.digest else { return Ok(()) };
        let mut note = digest.to_vec();
        note.extend(page.evidence.sketch.iter().flat_map(|sketch| *sketch.as_bytes()));
        frontier.note(host, NOTE, note);
        // The host is probed again in each run; the kept page stays the same.
        let kept = match self.answers.get(host) {
            Some(answer) => answer.as_ref().and_then(|answer| answer.kept),
            None => frontier.note_of(host, KEPT_NOTE)?.as_deref().and_then(read_key),
        };
        let answer = Answer { digest, sketch: page.evidence.sketch, kept };
        self.answers.insert(host.to_owned(), Some(answer));
        Ok(())
    }

    /// Returns whether a page resembles its host's response to a URL that does not exist, and is not the one that is
    /// kept. If the page `can_be_kept`, records the first one as kept.
    pub(super) fn repeats(
        &mut self,
        frontier: &dyn Frontier,
        host: &str,
        page: &PageWork,
        can_be_kept: bool,
    ) -> Result<bool> {
        if !self.answers.contains_key(host) {
            if self.answers.len() >= MAX_HOSTS {
                self.answers.clear();
            }
            let note = frontier.note_of(host, NOTE)?;
            let mut answer = note.as_deref().and_then(read_note);
            if let Some(answer) = &mut answer {
                answer.kept = frontier.note_of(host, KEPT_NOTE)?.as_deref().and_then(read_key);
            }
            self.answers.insert(host.to_owned(), answer);
        }
        let Some(Some(answer)) = self.answers.get_mut(host) else { return Ok(false) };
        if !answer.is_like(page) {
            return Ok(false);
        }
        let own = url_key(page.url.as_str());
        if answer.kept.is_none() && can_be_kept {
            answer.kept = Some(own);
            frontier.note(host, KEPT_NOTE, own.to_le_bytes().to_vec());
        }
        // A recrawl fetches the kept page again.
        Ok(!can_be_kept || answer.kept != Some(own))
    }
}

fn read_key(note: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(note.try_into().ok()?))
}

fn read_note(note: &[u8]) -> Option<Answer> {
    let (digest, sketch) = note.split_first_chunk::<16>()?;
    let sketch = <[u8; SKETCH_SIZE]>::try_from(sketch).ok().map(Sketch::from_bytes);
    Some(Answer { digest: *digest, sketch, kept: None })
}

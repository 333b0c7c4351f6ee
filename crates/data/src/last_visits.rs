//! When recrawls found the pages of data directories.

use std::collections::HashMap;
use std::path::Path;

use hapax_frontier::revisit::{Sighting, VISIT};
use hapax_frontier::{DiskFrontier, Frontier, Options};

use crate::corpus::Corpus;
use crate::dir::is_locked;
use crate::rows::hash_of_url;

/// Sightings by the hash of a URL as in the logs.
#[derive(Debug, Default)]
pub(crate) struct LastVisits(HashMap<u64, Sighting>);

impl LastVisits {
    /// Reads the visits. A directory that another process works on, or whose frontier is missing or damaged, has none: a
    /// fetch alone is a sighting then.
    ///
    /// # Complexity
    /// Linear in the visited URLs, about 40 bytes of memory each. Nothing without a recrawl.
    pub(crate) fn of<'d>(corpus: &Corpus<'_>, dirs: impl Iterator<Item = &'d Path>) -> Self {
        let mut all = Self::default();
        if !corpus.was_recrawled() {
            return all;
        }
        for data in dirs {
            let folder = data.join("frontier");
            if !folder.is_dir() || is_locked(data).unwrap_or(true) {
                continue;
            }
            let Ok(frontier) = DiskFrontier::open_read_only(&folder, Options::default()) else {
                continue;
            };
            let read = frontier.notes(VISIT, &mut |url, note| {
                if let Some((sighting, ..)) = Sighting::of_note(note) {
                    all.add(hash_of_url(url), sighting);
                }
            });
            if let Err(error) = read {
                tracing::debug!("{}: {error}", data.display());
            }
        }
        all
    }

    /// Several directories may know a URL.
    fn add(&mut self, key: u64, found: Sighting) {
        let known = self.0.entry(key).or_insert(found);
        known.last = known.last.max(found.last);
        if found.first > 0 && (known.first == 0 || found.first < known.first) {
            known.first = found.first;
        }
    }

    pub(crate) fn of_key(&self, key: u64) -> Option<Sighting> {
        self.0.get(&key).copied()
    }
}

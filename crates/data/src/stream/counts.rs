//! Counts of the copies of kept pages, for their events. Every later copy changes them, so an event has those of the last
//! look at the log.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hapax_extract::jieba;
use hapax_index::{Error, Searcher};

use crate::corpus::{Corpus, CorpusDir};
use crate::error::Result;
use crate::export::ExportedPage;
use crate::rows::Rows;
use crate::sightings::{Sighted, Sightings};
use crate::standing::{Heads, tables};

/// A look at the logs takes at most one part in this number of the time of a follower, and so does opening the index.
pub(super) const SHARE: u32 = 40;

/// The counts of all kept pages at the last look.
#[derive(Debug)]
pub(super) struct Counts {
    dirs: Vec<PathBuf>,
    last: Option<Look>,
    /// Whether there are events since the last look.
    is_behind: bool,
    /// Whether a field needs them.
    pub(super) is_wanted: bool,
}

#[derive(Debug)]
struct Look {
    /// `None` if they are unknown.
    sightings: Option<Sightings>,
    began: Instant,
    took: Duration,
}

impl Counts {
    pub(super) fn of(dirs: &[PathBuf]) -> Self {
        Self { dirs: dirs.to_vec(), last: None, is_behind: false, is_wanted: true }
    }

    /// Makes the next page look at the logs again.
    pub(super) const fn renew(&mut self) {
        self.is_behind = true;
    }

    /// Returns the counts of a kept page; empty ones if they are unknown.
    pub(super) fn page(&mut self, id: u64, page: &ExportedPage) -> Result<Sighted> {
        if !self.is_wanted {
            return Ok(Sighted::default());
        }
        let is_old = |look: &Look| look.began.elapsed() > look.took * SHARE;
        if self.last.as_ref().is_none_or(|look| self.is_behind && is_old(look)) {
            let began = Instant::now();
            let sightings = self.look()?;
            self.last = Some(Look { sightings, began, took: began.elapsed() });
            self.is_behind = false;
        }
        let sightings = self.last.as_ref().and_then(|look| look.sightings.as_ref());
        Ok(sightings.map(|all| all.page(id, &page.url, &page.fetched)).unwrap_or_default())
    }

    fn look(&self) -> Result<Option<Sightings>> {
        if let [data] = self.dirs.as_slice() {
            // Without the index, which a directory may lack.
            let rows = Rows::open(data)?;
            let store = tables(data);
            let corpus = Corpus::of_heads(vec![Heads::new(&rows, store.as_ref())]);
            return Sightings::of(&corpus, std::iter::once(data.as_path())).map(Some);
        }
        let mut dirs = Vec::new();
        for data in &self.dirs {
            let searcher = match Searcher::open(&data.join("index"), jieba) {
                Err(Error::Missing(_)) => return Ok(None),
                searcher => searcher?,
            };
            dirs.push(CorpusDir::open(data, searcher)?);
        }
        Sightings::of(&Corpus::new(&dirs)?, self.dirs.iter().map(PathBuf::as_path)).map(Some)
    }
}

//! The committed length of a log. Lines behind it were written by a run that crashed; the next run cuts them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::SystemTime;

use hapax_dedup::Policy;
use hapax_extract::Recipe;
use hapax_frontier::DiskFrontier;
use serde_json::{Value, json};

use crate::dir::is_locked;
use crate::positions::skipped_of;
use crate::tables::read_only;

/// The committed lengths of the logs in a data directory.
#[derive(Clone, Debug)]
pub(crate) struct Committed {
    pub(crate) discarded: u64,
    pub(crate) decisions: u64,
    /// For jobs without a frontier.
    skipped: u64,
    /// Length and time of the logs at that moment. `None` while another process is working: it commits new lines
    /// within a second, or cuts off the lines after a crash.
    stamps: Option<[Stamp; 2]>,
}

type Stamp = Option<(u64, SystemTime)>;

impl Committed {
    /// Reads the lengths from the store's last commit. Without limits while another process is working, or if the
    /// store is missing or damaged.
    pub(crate) fn of(data: &Path) -> Self {
        if is_locked(data).unwrap_or(true) { Self::without_limits() } else { Self::last(data) }
    }

    /// Reads the lengths from the store's last commit, even while another process is working. A process that resumes after a
    /// crash cuts off longer logs.
    pub(crate) fn at_open(data: &Path) -> Self {
        let is_locked = is_locked(data).unwrap_or(true);
        let mut all = Self::last(data);
        if is_locked {
            all.stamps = None;
        }
        all
    }

    const fn without_limits() -> Self {
        Self { discarded: u64::MAX, decisions: u64::MAX, skipped: u64::MAX, stamps: None }
    }

    fn last(data: &Path) -> Self {
        let mut all = Self { stamps: Some(stamps(data)), ..Self::without_limits() };
        let store = read_only(data, Policy::default(), Recipe::default().name());
        let position = match store {
            // No commit yet: the next run discards all lines.
            Ok(Some((store, _))) if store.payload().is_empty() => json!({}),
            Ok(Some((store, _))) => serde_json::from_slice(&store.payload()).unwrap_or_default(),
            _ => Value::Null,
        };
        if let Some(position) = position.as_object() {
            let length = |name: &str| position.get(name).and_then(Value::as_u64).unwrap_or(0);
            (all.discarded, all.decisions) = (length("discarded"), length("decisions"));
            all.skipped = length("skipped");
        }
        all
    }

    /// Returns whether the lengths are still valid: no process is working, and none has been.
    pub(crate) fn is_current(&self, data: &Path) -> bool {
        self.stamps.is_some_and(|then| then == stamps(data)) && !is_locked(data).unwrap_or(true)
    }

    /// Reads the lengths again unless they are valid.
    pub(crate) fn renew(&mut self, data: &Path) {
        if !self.is_current(data) {
            *self = Self::of(data);
        }
    }
}

/// Calls `visit` with each committed line of skipped.jsonl. `frontier` is the crawl's, if it could be opened.
pub fn skipped_lines(data: &Path, frontier: Option<&DiskFrontier>, mut visit: impl FnMut(&str)) {
    let Ok(log) = File::open(data.join("skipped.jsonl")) else { return };
    let mut log = BufReader::new(log).take(skipped_length(data, frontier));
    let mut line = Vec::new();
    // A line without an end is still being written.
    while log.read_until(b'\n', &mut line).is_ok_and(|_| line.ends_with(b"\n")) {
        visit(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

/// Returns the committed length, by the crawl's frontier if it has one.
fn skipped_length(data: &Path, frontier: Option<&DiskFrontier>) -> u64 {
    let by_store = Committed::of(data).skipped;
    match frontier {
        // The process that has locked it commits the lines or cuts them off.
        None if DiskFrontier::is_there(&data.join("frontier")) => u64::MAX,
        None => by_store,
        Some(frontier) => {
            let by_frontier = skipped_of(frontier).unwrap_or(u64::MAX);
            if by_store == u64::MAX { by_frontier } else { by_frontier.max(by_store) }
        }
    }
}

fn stamps(data: &Path) -> [Stamp; 2] {
    ["discarded.jsonl", "decisions.jsonl"].map(|name| {
        let meta = std::fs::metadata(data.join(name)).ok()?;
        Some((meta.len(), meta.modified().ok()?))
    })
}

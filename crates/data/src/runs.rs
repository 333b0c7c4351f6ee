//! runs.json: when the runs of a crawl began, and where their events begin. For `crawl changes`.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dir::replace;
use crate::error::{Context, Error, Result};

const NAME: &str = "runs.json";
/// Runs that are remembered. A watch has many, most of them without a change.
const MOST_RUNS: usize = 1000;

/// A run of a crawl. A recrawl that was interrupted and goes on is one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its number, from 1.
    pub run: u64,
    /// When it began, RFC 3339.
    pub begun: String,
    /// Whether known pages were requested again.
    pub recrawl: bool,
    /// The random number of its events, and the length of events.jsonl when it began.
    pub stream: u64,
    /// Length of events.jsonl when the run began.
    pub events: u64,
}

/// The last runs of a data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// In their order.
    pub runs: Vec<Run>,
}

impl Runs {
    /// Reads the runs; empty if a version without runs made the directory.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn read(data: &Path) -> Result<Self> {
        let path = data.join(NAME);
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes.with_context(|| path.display().to_string())?,
        };
        serde_json::from_slice(&bytes).map_err(|error| {
            let what =
                format!("{}: {error}. Delete the file; the next run writes it", path.display());
            Error::Damaged(what)
        })
    }

    /// Adds a run that begins now. A run without any event is forgotten by the next one.
    ///
    /// # Errors
    /// From the file system.
    pub fn begin(
        data: &Path,
        begun: String,
        recrawl: bool,
        (stream, events): (u64, u64),
    ) -> Result<()> {
        // A damaged list must not end the crawl: it begins again.
        let mut all = Self::read(data).unwrap_or_default();
        let mut number = all.runs.last().map_or(0, |last| last.run) + 1;
        if let Some(last) = all.runs.pop_if(|last| last.stream == stream && last.events == events) {
            number = last.run;
        }
        all.runs.push(Run { run: number, begun, recrawl, stream, events });
        let beyond = all.runs.len().saturating_sub(MOST_RUNS);
        all.runs.drain(..beyond);
        replace(data, NAME, &serde_json::to_vec(&all)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_an_event_are_forgotten_and_at_most_a_thousand_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let begin =
            |events| Runs::begin(folder.path(), format!("t{events}"), false, (7, events)).unwrap();
        let numbers = || -> Vec<(u64, u64)> {
            Runs::read(folder.path())
                .unwrap()
                .runs
                .iter()
                .map(|run| (run.run, run.events))
                .collect()
        };
        assert_eq!(numbers(), []);
        [0, 0, 5, 5, 9].into_iter().for_each(begin);
        assert_eq!(numbers(), [(1, 0), (2, 5), (3, 9)]);
        (10..1100).for_each(begin);
        assert_eq!(numbers().len(), MOST_RUNS);
        assert_eq!(numbers().last(), Some(&(1093, 1099)));
        std::fs::write(folder.path().join(NAME), "{").unwrap();
        assert!(Runs::read(folder.path()).unwrap_err().to_string().contains("runs.json"));
        begin(2000);
        assert_eq!(numbers(), [(1, 2000)]);
    }
}

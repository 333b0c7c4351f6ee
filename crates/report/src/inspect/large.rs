//! Results that a page computes at once for a small log, and a thread for a large one.

use std::path::PathBuf;
use std::sync::Arc;

use hapax_data::{ClusterIndex, Heads, LogStats, Result, Rows, tables};

use super::computed::{Computed, Got, PATIENCE};
use super::views::View;

/// Rows of all logs up to which a page computes the results itself, so that a change is shown at once.
const MAX_ROWS: usize = 50_000;

/// The clusters of all directories together, and of each of several directories.
#[derive(Debug)]
pub(super) struct Clusters {
    pub(super) all: ClusterIndex,
    each: Vec<ClusterIndex>,
}

impl Clusters {
    fn of(logs: &[Heads<'_>]) -> Result<Self> {
        let several = logs.iter().filter(|_| logs.len() > 1);
        let each = several.map(|heads| ClusterIndex::of(std::slice::from_ref(heads)));
        Ok(Self { all: ClusterIndex::of(logs)?, each: each.collect::<Result<_>>()? })
    }

    /// Returns the clusters of one directory.
    pub(super) fn of_dir(&self, dir: usize) -> &ClusterIndex {
        self.each.get(dir).unwrap_or(&self.all)
    }
}

/// Returns the clusters of all directories.
pub(super) fn clusters(computed: &Computed<Clusters>, view: View<'_>) -> Result<Got<Clusters>> {
    get(computed, view, Clusters::of)
}

/// Returns the statistics of all directories.
pub(super) fn stats(computed: &Computed<LogStats>, view: View<'_>) -> Result<Got<LogStats>> {
    get(computed, view, stats_of)
}

/// Counts the rows of several logs.
pub(super) fn stats_of(logs: &[Heads<'_>]) -> Result<LogStats> {
    let mut all: Option<LogStats> = None;
    for heads in logs {
        let own = LogStats::of(heads)?;
        all = Some(match all {
            Some(stats) => stats.and(own),
            None => own,
        });
    }
    Ok(all.unwrap_or_default())
}

fn get<T: Send + Sync + 'static>(
    computed: &Computed<T>,
    view: View<'_>,
    compute: fn(&[Heads<'_>]) -> Result<T>,
) -> Result<Got<T>> {
    let rows: usize = view.rows.iter().map(|rows| rows.all().len()).sum();
    if rows <= MAX_ROWS {
        return Ok(Got::Ready(Arc::new(compute(&view.heads())?), None));
    }
    let dirs = view.dirs.to_vec();
    let own = move || of_dirs(&dirs, compute).map_err(|error| error.to_string());
    Ok(computed.get("rows", view.dirs, PATIENCE, own))
}

/// Opens logs and tables, because those of the pages are in use.
fn of_dirs<T>(dirs: &[PathBuf], compute: fn(&[Heads<'_>]) -> Result<T>) -> Result<T> {
    let rows = dirs.iter().map(|data| Rows::open(data)).collect::<Result<Vec<_>>>()?;
    let stores: Vec<_> = dirs.iter().map(|data| tables(data)).collect();
    let heads = rows.iter().zip(&stores).map(|(rows, store)| Heads::new(rows, store.as_ref()));
    compute(&heads.collect::<Vec<_>>())
}

//! Checks that a data directory is complete, before anything is cut back to what was committed.

use crate::error::Result;
use hapax_frontier::{DiskFrontier, Frontier};

use crate::error::Error;
use hapax_data::DataDir;

/// Checks that the dedup store exists. A job creates it first: without it nothing else should exist.
///
/// # Errors
/// The store is missing, and files exist whose length only its commits record.
pub(super) fn has_store(data: &DataDir) -> Result<()> {
    if data.dedup().join("MANIFEST").exists() {
        return Ok(());
    }
    let Some(left) = left_without_store(data.root()) else { return Ok(()) };
    Err(Error::damaged(format!(
        "dedup/ or dedup/MANIFEST is missing, but {left} exists. Restore it from a backup, or {}, or start \
         over with --fresh",
        again(data)
    )))
}

/// Returns a file that only a job with a dedup store can have written.
pub fn left_without_store(root: &std::path::Path) -> Option<&'static str> {
    let full = |name: &str| std::fs::metadata(root.join(name)).is_ok_and(|meta| meta.len() > 0);
    // A user's folder may have the same name.
    let is_ours = |name: &str| name.starts_with("pages-") && name.ends_with(".warc.gz");
    let pages = || {
        let files = std::fs::read_dir(root.join("pages")).into_iter().flatten().flatten();
        files.into_iter().any(|file| file.file_name().to_str().is_some_and(is_ours))
    };
    let files =
        ["discarded.jsonl", "decisions.jsonl", "events.jsonl", "skipped.jsonl", "index/meta.json"];
    files.into_iter().find(|name| full(name)).or_else(|| pages().then_some("pages/"))
}

/// Returns whether the committed length of skipped.jsonl is known. In a crawl the frontier records it, which other
/// jobs do not open. Without a frontier the store does, unless the frontier of an earlier crawl is missing.
pub(super) fn knows_skipped(
    data: &DataDir,
    frontier: Option<&dyn Frontier>,
    nothing_committed: bool,
    has_seeds: bool,
) -> Result<bool> {
    if let Some(frontier) = frontier {
        return Ok(nothing_committed || !frontier.payload()?.is_empty());
    }
    let folder = data.frontier();
    Ok(!has_seeds && !DiskFrontier::is_there(&folder) && !folder.join("payload").exists())
}

/// Checks the index. A job that adds no pages to it also removes discarded pages from it.
///
/// # Errors
/// The index is missing, and contained pages.
pub(super) fn has_index(data: &DataDir, indexed: u64, fetched: u64) -> Result<()> {
    match indexed {
        0 if fetched > 0 => tracing::warn!(
            "the index starts now and does not contain the pages fetched before. To index them, {}",
            again(data)
        ),
        0 => {}
        indexed => {
            let end = if indexed == 1 { "" } else { "s" };
            let again = again(data);
            let what = format!(
                "index/ is missing; it contained {indexed} page{end}. Restore it from a backup, or {again}"
            );
            return Err(Error::damaged(what));
        }
    }
    Ok(())
}

fn again(data: &DataDir) -> String {
    let data = data.root().display();
    format!(
        "create a new data directory from the archive: `crawl pages {data}/pages/*.warc.gz --data NEW`"
    )
}

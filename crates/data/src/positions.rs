//! Payloads of the dedup store's and frontier's commits: positions in the other files.

use std::collections::BTreeMap;

use hapax_frontier::Frontier;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::digests::Digests;
use crate::error::{Error, Result};
use crate::page_counts::PageCounts;
use crate::reason::SkipReason;

/// Positions in the other stores, in each commit of the dedup store.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PagePosition {
    /// Number of the last WARC file.
    pub warc_file: u32,
    /// Its length in bytes.
    pub warc_length: u64,
    /// Length of discarded.jsonl in bytes.
    pub discarded: u64,
    /// CRC-32 of these bytes.
    pub discarded_sum: Option<u32>,
    /// Length of skipped.jsonl after a job without a frontier.
    pub skipped: u64,
    /// CRC-32 of these bytes.
    pub skipped_sum: Option<u32>,
    /// Counts of pages.
    pub counts: PageCounts,
    /// A unique number of the archive, part of its record ids.
    pub archive: u64,
    /// Length of decisions.jsonl in bytes.
    pub decisions: u64,
    /// CRC-32 of these bytes.
    pub decisions_sum: Option<u32>,
    /// Length of events.jsonl in bytes.
    pub events: u64,
    /// CRC-32 of these bytes.
    pub events_sum: Option<u32>,
    /// The random number of events.jsonl in its cursors. 0 after a commit of a version without events.
    pub events_stream: u64,
    /// Pages to be removed from the index after this commit, and again on opening.
    pub leaves_index: Vec<u64>,
    /// Hosts of the last group, with all pages fetched from each: the frontier's commit, which has them too, may be
    /// missing.
    pub hosts: Vec<(String, u64)>,
    /// The digests of the store's records.
    pub digests: Digests,
    /// The commit of `sites/`; 0 before the first one.
    pub sites: u64,
}

/// Returns the digests of a store's records, from the payload of its last commit.
pub fn digests_of(payload: &[u8]) -> Result<Digests> {
    if payload.is_empty() {
        return Ok(Digests::Current);
    }
    Ok(read_position::<PagePosition>(payload)?.digests)
}

/// Positions in each commit of the frontier.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SkipPosition {
    /// Length of skipped.jsonl in bytes.
    pub skipped: u64,
    /// CRC-32 of these bytes.
    pub skipped_sum: Option<u32>,
    /// Skipped URLs by reason.
    pub counts: BTreeMap<SkipReason, u64>,
    /// Duration of all runs in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the last run finished.
    pub finished: bool,
    /// URLs of seeds' redirect targets, which extend the scope.
    pub moved_seeds: Vec<String>,
    /// Whether a recrawl is in progress, or waits for unreachable hosts.
    pub recrawl: bool,
    /// Whether the pages of a recrawl are queued, and not all of them have been requested.
    pub looking: bool,
    /// Whether this recrawl requests only due pages.
    pub due: bool,
    /// The counts of pages when the recrawl began.
    pub baseline: Option<PageCounts>,
    /// Pages that were requested before the recrawl began.
    pub looked_at_before: u64,
    /// The rules that refused URLs.
    pub rules: String,
    /// Whether a seed was fetched; `None` in a position of an earlier version.
    pub seed_fetched: Option<bool>,
    /// Whether a version that encoded the queries of all links in UTF-8 has found some; `None` in its positions.
    pub utf8_queries: Option<bool>,
}

impl SkipPosition {
    /// Parses the payload of a commit.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn read(payload: &[u8]) -> Result<Self> {
        if payload.is_empty() {
            return Ok(Self {
                seed_fetched: Some(false),
                utf8_queries: Some(false),
                ..Self::default()
            });
        }
        read_position(payload).map_err(|error| match error {
            Error::Damaged(what) => Error::Damaged(format!("frontier/: {what}")),
            other => other,
        })
    }
}

/// Returns whether a recrawl by these rules was interrupted, from the frontier's payload. A recrawl that only waits
/// for unreachable hosts is complete.
pub fn is_looking(payload: &[u8], rules: &str) -> Result<bool> {
    let position = SkipPosition::read(payload)?;
    Ok(position.looking && position.rules == rules)
}

/// Returns the length of skipped.jsonl at a crawl's last commit.
pub fn skipped_of(frontier: &dyn Frontier) -> Result<u64> {
    Ok(SkipPosition::read(&frontier.payload()?)?.skipped)
}

/// Returns the redirect targets of a crawl's seeds, as of its last commit.
pub fn moved_seeds(frontier: &dyn Frontier) -> Result<Vec<Url>> {
    let position = SkipPosition::read(&frontier.payload()?)?;
    Ok(position.moved_seeds.iter().filter_map(|url| Url::parse(url).ok()).collect())
}

/// Parses the payload of a commit; an empty one gives the default.
///
/// # Errors
/// [`Error::Damaged`].
pub fn read_position<T: Default + for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() {
        return Ok(T::default());
    }
    let position = serde_json::from_slice(bytes);
    position
        .map_err(|error| Error::Damaged(format!("the committed positions cannot be read: {error}")))
}

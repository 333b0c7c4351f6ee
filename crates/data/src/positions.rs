//! What the commits of dedup store and frontier carry about the other files.

use std::collections::BTreeMap;

use hapax_frontier::Frontier;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::digests::Digests;
use crate::error::{Error, Result};
use crate::page_counts::PageCounts;
use crate::reason::SkipReason;

/// Positions of the other stores, carried by each commit of the dedup store.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PagePosition {
    /// The last WARC file.
    pub warc_file: u32,
    /// Bytes of it.
    pub warc_length: u64,
    /// Bytes of discarded.jsonl.
    pub discarded: u64,
    /// Their CRC-32.
    pub discarded_sum: Option<u32>,
    /// Length of skipped.jsonl after a job that has no frontier to keep it.
    pub skipped: u64,
    /// The CRC-32 of that.
    pub skipped_sum: Option<u32>,
    /// Counts of pages.
    pub counts: PageCounts,
    /// What no other archive is called; in the ids of its records.
    pub archive: u64,
    /// Bytes of decisions.jsonl.
    pub decisions: u64,
    /// Their CRC-32.
    pub decisions_sum: Option<u32>,
    /// Pages that leave the index: done after this commit, and once more at open.
    pub leaves_index: Vec<u64>,
    /// Hosts of which pages were fetched in the last group, and how many ever: the frontier keeps these counts, and
    /// its commit may not have come about.
    pub hosts: Vec<(String, u64)>,
    /// Which digests the store's records have.
    pub digests: Digests,
}

/// Which digests the records of a store have, by the payload of its last commit.
pub fn digests_of(payload: &[u8]) -> Result<Digests> {
    if payload.is_empty() {
        return Ok(Digests::Current);
    }
    Ok(read_position::<PagePosition>(payload)?.digests)
}

/// The same for the frontier's commits.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SkipPosition {
    /// Bytes of skipped.jsonl.
    pub skipped: u64,
    /// Their CRC-32.
    pub skipped_sum: Option<u32>,
    /// Skipped URLs by reason.
    pub counts: BTreeMap<SkipReason, u64>,
    /// Milliseconds that all runs took.
    pub elapsed_ms: u64,
    /// Whether the last run came to its end.
    pub finished: bool,
    /// Hosts that came into the scope because a seed moved there.
    pub moved_seeds: Vec<String>,
    /// A look at all known pages is under way, or waits for hosts that could not be reached.
    pub recrawl: bool,
    /// All that is to be looked at is queued, and not all of it was.
    pub looking: bool,
    /// Pages looked at before it began.
    pub looked_at_before: u64,
    /// The rules by which URLs were refused.
    pub rules: String,
    /// A seed was fetched.
    pub seed_fetched: Option<bool>,
}

impl SkipPosition {
    /// Reads what a commit carried.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn read(payload: &[u8]) -> Result<Self> {
        if payload.is_empty() {
            // Nothing was fetched yet.
            return Ok(Self { seed_fetched: Some(false), ..Self::default() });
        }
        read_position(payload).map_err(|error| match error {
            Error::Damaged(what) => Error::Damaged(format!("frontier/: {what}")),
            other => other,
        })
    }
}

/// Whether a look at all known pages by these rules was stopped before its end, by what the frontier keeps
/// for us. One that only waits for hosts that could not be reached has come to its end.
pub fn is_looking(payload: &[u8], rules: &str) -> Result<bool> {
    let position = SkipPosition::read(payload)?;
    Ok(position.looking && position.rules == rules)
}

/// How long skipped.jsonl was at a crawl's last commit.
pub fn skipped_of(frontier: &dyn Frontier) -> Result<u64> {
    Ok(SkipPosition::read(&frontier.payload()?)?.skipped)
}

/// Where the seeds of a crawl moved to, as of its last commit.
pub fn moved_seeds(frontier: &dyn Frontier) -> Result<Vec<Url>> {
    let position = SkipPosition::read(&frontier.payload()?)?;
    Ok(position.moved_seeds.iter().filter_map(|url| Url::parse(url).ok()).collect())
}

/// Reads what a commit carried; the default of one that carried nothing.
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

//! What the commits of dedup store and frontier carry of everything else.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use hapax_frontier::Frontier;
use serde::{Deserialize, Serialize};
use url::Url;

use super::digests::Digests;
use super::stats::PageCounts;

/// Positions of the other stores, carried by each commit of the dedup store.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PagePosition {
    pub(super) warc_file: u32,
    pub(super) warc_length: u64,
    pub(super) discarded: u64,
    pub(super) discarded_sum: Option<u32>,
    /// Length of skipped.jsonl after a job that has no frontier to keep it.
    pub(super) skipped: u64,
    pub(super) skipped_sum: Option<u32>,
    pub(super) counts: PageCounts,
    /// What no other archive is called; in the ids of its records.
    pub(super) archive: u64,
    pub(super) decisions: u64,
    pub(super) decisions_sum: Option<u32>,
    /// Pages that leave the index: done after this commit, and once more at open.
    pub(super) leaves_index: Vec<u64>,
    /// Hosts of which pages were fetched in the last group, and how many ever: the frontier keeps these counts, and
    /// its commit may not have come about.
    pub(super) hosts: Vec<(String, u64)>,
    /// Which digests the store's records have.
    pub(super) digests: Digests,
}

/// Which digests the records of a store have, by the payload of its last commit.
pub(crate) fn digests_of(payload: &[u8]) -> Result<Digests> {
    if payload.is_empty() {
        return Ok(Digests::Current);
    }
    Ok(read_position::<PagePosition>(payload)?.digests)
}

/// The same for the frontier's commits.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SkipPosition {
    pub(super) skipped: u64,
    pub(super) skipped_sum: Option<u32>,
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) elapsed_ms: u64,
    pub(super) finished: bool,
    /// Hosts that came into the scope because a seed moved there.
    pub(super) moved_seeds: Vec<String>,
    /// A look at all known pages is under way, or waits for hosts that could not be reached.
    pub(super) recrawl: bool,
    /// All that is to be looked at is queued, and not all of it was.
    pub(super) looking: bool,
    /// Pages looked at before it began.
    pub(super) looked_at_before: u64,
    /// The rules by which URLs were refused.
    pub(super) rules: String,
    /// A seed was fetched.
    pub(super) seed_fetched: Option<bool>,
}

impl SkipPosition {
    pub(super) fn read(payload: &[u8]) -> Result<Self> {
        if payload.is_empty() {
            // Nothing was fetched yet.
            return Ok(Self { seed_fetched: Some(false), ..Self::default() });
        }
        read_position(payload)
    }
}

/// Whether a look at all known pages by these rules was stopped before its end, by what the frontier keeps
/// for us. One that only waits for hosts that could not be reached has come to its end.
pub(super) fn is_looking(payload: &[u8], rules: &str) -> Result<bool> {
    let position = SkipPosition::read(payload)?;
    Ok(position.looking && position.rules == rules)
}

/// How long skipped.jsonl was at a crawl's last commit.
pub(crate) fn skipped_of(frontier: &dyn Frontier) -> Result<u64> {
    Ok(SkipPosition::read(&frontier.payload()?)?.skipped)
}

/// Where the seeds of a crawl moved to, as of its last commit.
pub(crate) fn moved_seeds(frontier: &dyn Frontier) -> Result<Vec<Url>> {
    let position = SkipPosition::read(&frontier.payload()?)?;
    Ok(position.moved_seeds.iter().filter_map(|url| Url::parse(url).ok()).collect())
}

pub(super) fn read_position<T: Default + for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T> {
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(bytes).context("the committed positions cannot be read")
}

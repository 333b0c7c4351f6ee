//! Seeds that failed, with the reason. Every run requests them again.

use std::collections::{BTreeMap, HashSet};

use hapax_data::{Again, Decisions, SkipReason, Skipped};
use hapax_frontier::Frontier;
use hapax_url::host_key;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::error::Result;

/// Name of the frontier's note with the failure of a seed.
const NOTE: &str = "seed-failed";

/// Name of the frontier's note with the URL on another site to which a seed redirects.
const ELSEWHERE: &str = "seed-elsewhere";

/// A seed that redirects to another site. Only this page of the site is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedElsewhere {
    /// The URL of the seed.
    pub url: String,
    /// The URL on the other site.
    pub to: String,
}

/// A seed that was not fetched, or whose page was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSeed {
    /// Its URL.
    pub url: String,
    /// Time of the last attempt, RFC 3339.
    pub time: String,
    /// The reason.
    pub reason: SkipReason,
    /// The reason in words.
    pub detail: String,
    /// When it is requested again.
    pub again: Again,
}

impl FailedSeed {
    /// Returns when the seed is requested again, and which flags accept a certificate.
    pub fn describe_again(&self) -> String {
        let flags = match self.reason {
            SkipReason::Tls => "; --ca FILE or --insecure HOST accepts its certificate",
            _ => "",
        };
        format!("{}{flags}", self.again.describe())
    }
}

/// What a summary says about the seeds.
#[derive(Debug, Default)]
pub(crate) struct AboutSeeds {
    pub(crate) failed: Vec<FailedSeed>,
    pub(crate) elsewhere: Vec<SeedElsewhere>,
    /// Number of seeds that are forgotten, or whose host is.
    pub(crate) forgotten: u64,
    /// Number of pages that were removed.
    pub(crate) forgotten_pages: u64,
}

/// The seeds of a crawl, and where they moved to.
#[derive(Debug, Default)]
pub(crate) struct Seeds {
    all: HashSet<String>,
    failed: BTreeMap<String, FailedSeed>,
    /// Where seeds lead on other sites.
    elsewhere: BTreeMap<String, String>,
    /// Those that this run requests again, or that failed in it.
    retried: HashSet<String>,
}

/// Returns the failure of a seed, or of a URL that a seed moved to, as the frontier remembers it.
pub(crate) fn failure_of(frontier: &dyn Frontier, url: &str) -> Result<Option<FailedSeed>> {
    let note = frontier.note_of(url, NOTE)?.unwrap_or_default();
    // Ignore a note of a later version.
    Ok(serde_json::from_slice(&note).ok())
}

impl Seeds {
    /// Reads the failures of earlier runs from the frontier.
    pub(crate) fn read<'s>(
        frontier: &dyn Frontier,
        urls: impl IntoIterator<Item = &'s Url>,
    ) -> Result<Self> {
        let mut seeds = Self::default();
        for url in urls {
            seeds.recall(frontier, url)?;
        }
        Ok(seeds)
    }

    /// Adds a seed, or the URL that it moved to in an earlier run, with its failure.
    pub(crate) fn recall(&mut self, frontier: &dyn Frontier, url: &Url) -> Result<()> {
        if self.all.insert(url.to_string()) {
            if let Some(failed) = failure_of(frontier, url.as_str())? {
                self.failed.insert(failed.url.clone(), failed);
            }
            let to = frontier.note_of(url.as_str(), ELSEWHERE)?.unwrap_or_default();
            if let Some(to) = String::from_utf8(to).ok().filter(|to| !to.is_empty()) {
                self.elsewhere.insert(url.to_string(), to);
            }
        }
        Ok(())
    }

    /// Adds the URL that a seed moved to.
    pub(crate) fn add(&mut self, url: &Url) {
        self.all.insert(url.to_string());
    }

    pub(crate) fn holds(&self, url: &str) -> bool {
        self.all.contains(url)
    }

    /// Returns what a summary says about the seeds.
    pub(crate) fn about(&self, decisions: &Decisions, most: usize) -> AboutSeeds {
        AboutSeeds {
            failed: self.failed.values().take(most).cloned().collect(),
            elsewhere: self
                .elsewhere
                .iter()
                .take(most)
                .map(|(url, to)| SeedElsewhere { url: url.clone(), to: to.clone() })
                .collect(),
            forgotten: self.forgotten(decisions),
            forgotten_pages: decisions.removed_pages(),
        }
    }

    /// Returns the number of seeds that are forgotten, or whose host is.
    fn forgotten(&self, decisions: &Decisions) -> u64 {
        let is_forgotten = |seed: &&String| {
            let host = Url::parse(seed).map(|url| host_key(&url)).unwrap_or_default();
            decisions.forgotten(seed, &host)
        };
        self.all.iter().filter(is_forgotten).count() as u64
    }

    /// Marks a seed, or a URL that it leads to, as requested again. Returns whether this is new in this run.
    pub(crate) fn retry(&mut self, url: &str) -> bool {
        self.retried.insert(url.to_owned())
    }

    /// Returns whether a seed was requested again, or failed in this run.
    pub(crate) fn is_retried(&self, url: &str) -> bool {
        self.retried.contains(url)
    }

    pub(crate) fn failure(&self, url: &str) -> Option<&FailedSeed> {
        self.failed.get(url)
    }

    /// Records the failure if the line is about a seed.
    pub(crate) fn skipped(&mut self, frontier: &dyn Frontier, line: &Skipped) {
        let used = line.reason.uses_the_page() || line.reason == SkipReason::HostDown;
        if used || line.sitemap.is_some() || !self.holds(&line.url) {
            return;
        }
        let failed = FailedSeed {
            url: line.url.clone(),
            time: line.time.clone(),
            reason: line.reason,
            detail: line.detail.clone(),
            again: line.again.unwrap_or(Again::Never),
        };
        frontier.note(&line.url, NOTE, serde_json::to_vec(&failed).unwrap_or_default());
        self.failed.insert(line.url.clone(), failed);
        self.retried.insert(line.url.clone());
    }

    /// Records to which URL on another site a seed redirects now, if it does.
    pub(crate) fn leads(&mut self, frontier: &dyn Frontier, url: &str, to: Option<&Url>) {
        let to = to.map(Url::to_string);
        if self.elsewhere.get(url) == to.as_ref() {
            return;
        }
        frontier.note(url, ELSEWHERE, to.clone().unwrap_or_default().into_bytes());
        match to {
            Some(to) => self.elsewhere.insert(url.to_owned(), to),
            None => self.elsewhere.remove(url),
        };
    }

    /// Removes the failure of a seed whose page was fetched.
    pub(crate) fn fetched(&mut self, frontier: &dyn Frontier, url: &str) {
        self.leads(frontier, url, None);
        if self.failed.remove(url).is_some() {
            frontier.note(url, NOTE, Vec::new());
        }
    }
}

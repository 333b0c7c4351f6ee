//! Changes that people make to decisions, while no crawl runs on the data directory.

use std::path::Path;
use std::sync::Arc;

use hapax_data::{Answer, DataDir, DecidedBy, Decisions, Request, Texts};
use hapax_dedup::{Neighbour, Policy, Store};

use crate::commit::{Committer, Parts};
use crate::config::Decision;
use crate::error::Result;
use crate::stats::Stats;

/// Changes decisions: restores discarded pages, keeps another page of a pair, forgets pages.
#[derive(Debug)]
pub struct Amend {
    data: DataDir,
    committer: Committer,
}

impl Amend {
    /// Opens the stores of a data directory. `has_seeds` says whether a crawl with seeds made it.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data).
    pub fn open(data: DataDir, decision: Decision, has_seeds: bool) -> Result<Self> {
        let parts = Parts {
            recipe: decision.recipe,
            policy: decision.policy,
            warc: false,
            index: data.index().join("meta.json").exists(),
            skips: false,
            shared: false,
            keep_duplicates: false,
            sites: data.sites().exists(),
            against: Arc::default(),
            has_seeds,
        };
        let committer = Committer::open(&data, &parts, None, Arc::new(Stats::default()))?;
        Ok(Self { data, committer })
    }

    /// Applies one request and makes it durable. The answer lists rows that could not be changed, and why.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn apply(&mut self, request: &Request, by: DecidedBy) -> Result<Answer> {
        self.committer.apply(request, by)
    }

    /// Applies the requests in the spool. Returns whether there were any.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn apply_spool(&mut self) -> Result<bool> {
        self.committer.apply_spool()
    }

    /// Discards a kept page as a duplicate of another kept page.
    ///
    /// # Errors
    /// An error of the stores.
    pub(crate) fn discard_kept(
        &mut self,
        texts: &Texts,
        key: &[u8],
        of: &[u8],
        near: &Neighbour,
    ) -> Result<()> {
        self.committer.discard_kept(texts, key, of, near)
    }

    /// Sets the policy that later log lines name.
    pub(crate) const fn decides_by(&mut self, policy: Policy) {
        self.committer.decides_by(policy);
    }

    /// The data directory.
    pub(crate) fn root(&self) -> &Path {
        self.data.root()
    }

    /// The dedup store.
    pub fn store(&self) -> &Store {
        self.committer.store()
    }

    /// How fingerprints in this store are made.
    pub const fn recipe(&self) -> hapax_extract::Recipe {
        self.committer.recipe()
    }

    /// Earlier decisions.
    pub const fn decisions(&self) -> &Decisions {
        self.committer.decisions()
    }

    /// Makes everything durable, including the counts of summary.json.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn finish(mut self) -> Result<()> {
        self.committer.commit(true)?;
        self.committer.save_counts(&self.data)?;
        self.committer.close()
    }

    /// Closes the stores without a final commit.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn close(self) -> Result<()> {
        self.committer.close()
    }
}

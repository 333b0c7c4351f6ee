//! What people decide about discarded pages, in a data directory that nobody works on.

use std::sync::Arc;

use hapax_data::{Answer, DataDir, DecidedBy, Decisions, Request, Texts};
use hapax_dedup::{Neighbour, Policy, Store};

use crate::commit::{Committer, Parts};
use crate::config::Decision;
use crate::error::Result;
use crate::stats::Stats;

/// Changes what was decided: restores pages, lets others stand for them, forgets them.
#[derive(Debug)]
pub struct Amend {
    data: DataDir,
    committer: Committer,
}

impl Amend {
    /// Opens the stores of a data directory. `has_seeds`: a crawl was made there.
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
            has_seeds,
        };
        let committer = Committer::open(&data, &parts, None, Arc::new(Stats::default()))?;
        Ok(Self { data, committer })
    }

    /// Does one request, durably; the answer says which rows could not be changed and why.
    ///
    /// # Errors
    /// The stores'.
    pub fn apply(&mut self, request: &Request, by: DecidedBy) -> Result<Answer> {
        self.committer.apply(request, by)
    }

    /// Does what lies in the spool; whether there was anything.
    ///
    /// # Errors
    /// The stores'.
    pub fn apply_spool(&mut self) -> Result<bool> {
        self.committer.apply_spool()
    }

    /// Discards a page that was kept, for another one that is kept.
    ///
    /// # Errors
    /// The stores'.
    pub fn discard_kept(
        &mut self,
        texts: &Texts,
        key: &[u8],
        of: &[u8],
        near: &Neighbour,
    ) -> Result<()> {
        self.committer.discard_kept(texts, key, of, near)
    }

    /// The thresholds that the log names from here on.
    pub const fn decides_by(&mut self, policy: Policy) {
        self.committer.decides_by(policy);
    }

    /// The store of fingerprints.
    pub fn store(&self) -> &Store {
        self.committer.store()
    }

    /// How fingerprints are made here.
    pub const fn recipe(&self) -> hapax_extract::Recipe {
        self.committer.recipe()
    }

    /// What was decided before.
    pub const fn decisions(&self) -> &Decisions {
        self.committer.decisions()
    }

    /// Makes everything durable, the counts of the summary too.
    ///
    /// # Errors
    /// The stores'.
    pub fn finish(mut self) -> Result<()> {
        self.committer.commit(true)?;
        self.committer.save_counts(&self.data)?;
        self.committer.close()
    }

    /// Ends with nothing but what was done durably.
    ///
    /// # Errors
    /// The stores'.
    pub fn close(self) -> Result<()> {
        self.committer.close()
    }
}

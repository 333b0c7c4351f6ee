//! Purges a forgotten page or host: its texts leave index and archive. The pages must have been removed before.

use std::time::SystemTime;

use hapax_data::{Action, DecidedBy, Decision, PurgePlan, Purged};

use super::archive_index::ArchiveIndex;
use super::commit::Committer;
use super::decided::now;
use crate::error::Result;
use hapax_data::Context;

impl Committer {
    /// Overwrites the records of a forgotten page or host in the archive, and rewrites the files of the index that
    /// contain removed pages. A crash leaves each file as it was or complete. The request is still in the spool then,
    /// and the next process repeats it.
    pub(super) fn purge(&mut self, url_or_host: &str, by: DecidedBy) -> Result<Purged> {
        self.decide(&Decision::new(now(), Action::Purge, url_or_host.to_owned(), by))?;
        // Erases the texts of the removed pages, and ends their rows.
        self.commit_as_it_is()?;
        if let Some(index) = &mut self.search.index {
            index.expunge()?;
        }
        self.search.look_up_again();
        let end = Some(self.warc.end);
        let plan = PurgePlan::of(&self.root, url_or_host, &self.logs.decisions, end)?;
        // Its thread may be reading a file that is replaced.
        let indexes = self.warc.index.take().is_some();
        plan.carry_out(&format!("{:016x}", self.warc.name), SystemTime::now())?;
        if let Some(writer) = &mut self.warc.writer {
            writer.reopen().context("pages/")?;
        }
        if indexes {
            let mut index = ArchiveIndex::of(self.warc.folder.clone());
            index.committed(self.warc.end.0);
            self.warc.index = Some(index);
        }
        Ok(plan.counts().clone())
    }
}

//! Records visits of known pages, and the first miss of a page.

use crate::commit::Committer;
use crate::error::Result;
use crate::visits::{Seen, Visits, unix_now};

impl Committer {
    /// Records the visit of a URL in a recrawl, with the group's commit.
    pub(crate) fn visited(&mut self, url: &str, seen: Seen) -> Result<()> {
        let since = self.look.since.take();
        let Some(frontier) = self.frontier.as_ref().filter(|_| self.look.on && !self.is_shared())
        else {
            return Ok(());
        };
        let now = unix_now();
        let (known, pace) = (Visits::read(&**frontier, url)?, self.look.pace);
        let visits = match (known, since) {
            (Some(mut visits), _) => {
                self.check_date(url, &visits, seen)?;
                visits.observe(seen, now, &pace);
                visits
            }
            (None, Some(since)) => {
                let mut visits = Visits::of_record(since);
                visits.observe(seen, now, &pace);
                visits
            }
            (None, None) => Visits::of_record(now),
        };
        visits.write(&**frontier, url);
        self.stats.due_at(visits.due(now, &pace));
        Ok(())
    }

    /// Returns whether a known page is missing for the first time, in a recrawl that removes pages at the second time.
    pub(crate) fn is_first_miss(&mut self, url: &str) -> Result<bool> {
        let Some(frontier) = self.frontier.as_ref().filter(|_| self.look.on && self.look.due)
        else {
            return Ok(false);
        };
        let Some(id) = self.store.id_of(url.as_bytes())? else { return Ok(false) };
        self.look.since = self.store.record(id)?.map(|record| record.time);
        self.look.seen = Some(Seen::Missing);
        Ok(Visits::read(&**frontier, url)?.is_none_or(|visits| visits.misses == 0))
    }
}

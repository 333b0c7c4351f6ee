//! Events of pages: each change of the set of kept pages and of their duplicates, in the order of the commits.

use hapax_data::{Decisions, EventKind, PageEvent, Row, Rows, TextChange, is_reference_key};
use hapax_dedup::Record;
use hapax_warc::format_time;

use super::commit::{Committer, place};
use super::decided::now;
use super::page::PageWork;
use crate::error::Result;
use hapax_data::Discarded;

impl Committer {
    fn event(&mut self, event: &PageEvent) -> Result<()> {
        Ok(self.logs.events.append(event)?)
    }

    /// Reports a new page, or a known page that has changed.
    pub(super) fn event_kept(&mut self, page: &PageWork, id: u64, fetched: &str) -> Result<()> {
        let kind = if self.look.changed { EventKind::Changed } else { EventKind::Kept };
        let page = (page.url.as_str(), page.key.as_deref());
        let place = self.warc.places.get(&id).map(|(location, _)| place(location));
        let change = self.look.change.take();
        let change = change.map(|change| TextChange { after: place.clone(), ..change });
        let event = PageEvent { change, ..PageEvent::of_page(kind, now(), id, page) };
        self.event_of_text(event, place, fetched)
    }

    /// Reports that the page of a log line is kept again.
    pub(super) fn event_restored(
        &mut self,
        entry: &Discarded,
        id: u64,
        stored_at: &str,
    ) -> Result<()> {
        let page = (&*entry.url, entry.key.as_deref());
        let event = PageEvent::of_page(EventKind::Restored, now(), id, page);
        let place = Some(stored_at.to_owned()).filter(|place| !place.is_empty());
        self.event_of_text(event, place, &entry.time)
    }

    /// A reader finds the text in the index or, if this job adds nothing to the index, in the archive.
    fn event_of_text(
        &mut self,
        event: PageEvent,
        place: Option<String>,
        fetched: &str,
    ) -> Result<()> {
        let warc = place.filter(|_| !self.search.adds);
        let fetched = warc.as_ref().map(|_| fetched.to_owned());
        self.event(&PageEvent { warc, fetched, ..event })
    }

    /// Reports a discarded page, by its line in the log.
    pub(super) fn event_discarded(&mut self, line: &Discarded) -> Result<()> {
        let change = self.look.change.take();
        let change = change.map(|change| TextChange { after: line.warc.clone(), ..change });
        let event = PageEvent::duplicate(EventKind::Discarded, now(), line);
        self.event(&PageEvent { change, ..event })
    }

    /// Reports that another page is kept instead of a kept page, by the line of that page.
    pub(super) fn event_replaced(&mut self, line: &Discarded) -> Result<()> {
        self.event(&PageEvent::duplicate(EventKind::Replaced, now(), line))
    }

    /// Reports that a page is not known any more.
    pub(super) fn event_removed(&mut self, id: u64, key: &str, why: &str) -> Result<()> {
        self.event(&PageEvent::new(EventKind::Removed, now(), id, key).because(why))
    }

    /// Reports a known page that has changed and is not used.
    pub(super) fn event_of_unused_change(&mut self, id: Option<u64>, key: &str) -> Result<()> {
        match id {
            Some(id) => {
                self.event_removed(id, key, "it has changed, and its new version is not used")
            }
            None => Ok(()),
        }
    }

    /// Begins the events of a directory that a version without events made: all kept pages in the order of their
    /// numbers, then all discarded ones in the order of the log.
    pub(super) fn begin_events(&mut self) -> Result<()> {
        if self.store.is_empty() || !self.logs.events.is_new() {
            return Ok(());
        }
        let rows = Rows::open(&self.root)?;
        let store = std::sync::Arc::clone(&self.store);
        for record in store.snapshot().records() {
            let record = record?;
            let key = String::from_utf8_lossy(&record.key).into_owned();
            if is_kept(&record, rows.by_id(record.id), &self.logs.decisions)
                && !Self::is_elsewhere(&record.key)
            {
                let since = std::time::UNIX_EPOCH + std::time::Duration::from_secs(record.time);
                self.event(&PageEvent::new(EventKind::Kept, format_time(since), record.id, &key))?;
            }
        }
        for row in rows.discarded() {
            let line = rows.entry(row)?;
            let time = line.time.clone();
            self.event(&PageEvent::duplicate(EventKind::Discarded, time, &line))?;
        }
        Ok(())
    }
}

/// Returns whether a record is that of a kept page. A redirect has a record like a kept page, and a row. So has a
/// reference, without a row.
fn is_kept(record: &Record, row: Option<Row>, decisions: &Decisions) -> bool {
    let is_redirect = row.is_some_and(|row| row.is_alias() && !decisions.ended(row.id));
    record.of.is_none() && !is_redirect && !is_reference_key(&record.key)
}

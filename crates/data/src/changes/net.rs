//! The events of one page, summed up.

use super::page::{ChangeKind, PageChange};
use crate::kind::DuplicateKind;
use crate::stream::{EventKind, PageEvent};

/// Locations of the texts of before and after in pages/.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

/// The first event of a page, its last one, and what is between them.
#[derive(Debug, Default)]
pub(super) struct Net {
    /// Whether the page was kept before the first event.
    was_kept: bool,
    last: Option<PageEvent>,
    /// Whether the text has changed.
    has_changed: bool,
    places: Places,
    similarity: Option<f64>,
    changes: u32,
}

impl Net {
    pub(super) fn add(&mut self, event: PageEvent) {
        if self.last.is_none() {
            self.was_kept = match event.event {
                EventKind::Kept | EventKind::Restored => false,
                EventKind::Changed | EventKind::Replaced => true,
                // A discarded page that is gone was never one of the kept pages; the event does not distinguish them.
                EventKind::Removed => true,
                EventKind::Discarded => event.change.is_some(),
            };
        }
        if let Some(change) = &event.change {
            self.has_changed = true;
            self.changes += 1;
            self.similarity = change.similarity;
            if self.changes == 1 {
                self.places.before.clone_from(&change.before);
            }
            self.places.after.clone_from(&change.after);
        }
        self.last = Some(event);
    }

    /// Returns the change from the first event to the last one; `None` if the kept pages are the same.
    pub(super) fn result(self) -> Option<(PageChange, Places)> {
        let event = self.last?;
        let change = match event.event {
            EventKind::Kept | EventKind::Changed | EventKind::Restored if !self.was_kept => {
                ChangeKind::New
            }
            // It was gone in between.
            EventKind::Kept | EventKind::Changed | EventKind::Restored => ChangeKind::Changed,
            EventKind::Removed if self.was_kept => ChangeKind::Gone,
            EventKind::Discarded if event.kind == Some(DuplicateKind::Alias) && self.was_kept => {
                ChangeKind::Moved
            }
            EventKind::Discarded if self.was_kept && self.has_changed => ChangeKind::Changed,
            _ => return None,
        };
        let is_changed = change == ChangeKind::Changed;
        let page = PageChange {
            change,
            time: event.time,
            url: event.url,
            id: event.id,
            of: event.of,
            // Several changes: the texts of before and after are compared instead.
            similarity: self.similarity.filter(|_| is_changed && self.changes == 1),
            why: event.why.filter(|_| change != ChangeKind::New),
            diff: None,
        };
        let places = if is_changed { self.places } else { Places::default() };
        Some((page, places))
    }
}

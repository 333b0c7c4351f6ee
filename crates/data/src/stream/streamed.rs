//! An event as a reader gets it.

use super::cursor::Cursor;
use super::event::PageEvent;
use crate::export::ExportedPage;

/// An event with its cursor and, if the page is kept after it, the page's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    /// The position after the event.
    pub cursor: Cursor,
    /// The event.
    pub event: PageEvent,
    /// The page. `None` for other events, if the page has left since, which a later event reports, or if the
    /// directory has no text of it. Its counts are those of the last look at the log; without an index of each
    /// directory they are unknown, and its times are empty.
    pub page: Option<ExportedPage>,
}

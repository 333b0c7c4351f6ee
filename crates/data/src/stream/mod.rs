//! The stream of events: changes of pages in durable order, for other programs. A line of events.jsonl has no text; the
//! reader adds the text from the index or the archive, so that no text is stored twice.

mod counts;
mod cursor;
mod end;
mod event;
mod joined;
mod log;
mod page;
mod reader;
mod render;
mod streamed;

use std::path::Path;

pub use self::cursor::Cursor;
pub use self::event::{EventKind, EventOf, PageEvent, TextChange};
pub use self::joined::Stream;
pub use self::log::EventLog;
pub(crate) use self::reader::DirStream;
pub use self::reader::FOLLOW_INTERVAL;
pub use self::render::{Fields, StreamFormat};
pub use self::streamed::Streamed;

use hapax_dedup::Policy;
use hapax_extract::Recipe;

use crate::dir::is_locked;
use crate::error::Result;
use crate::positions::{PagePosition, read_position};
use crate::tables::read_only;

/// Returns whether a version without events made a data directory, and no later version has committed to it. `false` while
/// another process is working: its next commit begins the events.
///
/// # Errors
/// If the store cannot be read.
pub fn is_without_events(data: &Path) -> Result<bool> {
    if is_locked(data)? {
        return Ok(false);
    }
    let store = read_only(data, Policy::default(), Recipe::default().name())?;
    let payload = store.map(|(store, _)| store.payload()).unwrap_or_default();
    Ok(!payload.is_empty() && read_position::<PagePosition>(&payload)?.events_stream == 0)
}

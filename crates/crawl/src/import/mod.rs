//! Reads archives of other programs: their pages, and records whose payload is in another record.

mod place;
mod record;
mod revisits;

pub use place::{Place, Source};
pub use record::{ReadSeek, Records, Refused, holds_payload, of_resource, page_of};
pub use revisits::{MAX_WAITING, Revisit, Revisits};

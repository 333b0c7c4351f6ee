//! Archives of other programs: the pages in them, and records whose payload another record holds.

mod place;
mod record;
mod revisits;

pub use place::{Place, Source};
pub use record::{ReadSeek, Records, Refused, holds_payload, of_resource, page_of};
pub use revisits::{MAX_WAITING, Revisit, Revisits};

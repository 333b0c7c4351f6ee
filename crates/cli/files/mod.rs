//! Files that others may have prepared: inputs that may not lead out of a folder, and outputs that may
//! not be written through a link.

mod output;
mod private;
mod root;

pub(crate) use output::{NewFile, remove_leftovers, replace};
pub(crate) use private::{close_to_others, for_owner_only};
pub(crate) use root::{Root, is_of_system, open_regular, open_stored, without_links};

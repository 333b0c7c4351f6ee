//! Files that others may have prepared: inputs must not leave a folder, outputs must not follow a link.

mod continued;
mod destination;
mod exchange;
mod folder_lock;
mod output;
mod pipe;
mod private;
mod root;

pub use continued::ContinuedFile;
pub use destination::{Destination, NamedFile};
pub use exchange::{end_exchange, exchange};
pub use folder_lock::lock_folder;
pub use output::{NewFile, is_temporary, remove_leftovers, replace};
pub use pipe::is_closed;
pub use private::{close_to_others, for_owner_only};
pub use root::{Root, is_of_system, open_regular, open_stored, without_links};

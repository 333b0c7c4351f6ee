//! Inputs of commands: files that a person or an input names, gzip, documents of JSONL files, seeds.

mod compressed;
mod document;
mod kind;
mod named;
mod rules;
mod seeds;

pub use compressed::{as_it_lies, head_and_whole, read, read_line, unpacked, within};
pub use document::{Item, MAX_LINE};
pub use kind::{StoredKind, page_kind, stored_kind};
pub use named::{is_stop, open_named, read_named, root_of};
pub use rules::read_rules;
pub use seeds::{parse_seeds, read_seeds};

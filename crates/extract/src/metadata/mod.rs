//! Metadata of a page: author, dates, description and more, each with its source.
//!
//! The walk over the tree gathers what the page declares (`gather`). Then one value is chosen for each field: by
//! source, in the order that `choose` lists, so that a declared value is preferred to a visible one.

mod byline;
mod candidates;
mod choose;
mod date;
mod date_text;
mod gather;
mod json_ld;
mod json_repair;
mod limits;
mod meta_names;
mod months;
mod url_date;
mod values;

pub(crate) use candidates::Field;
pub use candidates::MetadataSource;
pub(crate) use choose::{Surroundings, choose};
pub use date::{Date, Moment};
pub(crate) use gather::{Gathered, Place, field_of_class};
pub use values::Metadata;

#[cfg(test)]
mod tests;

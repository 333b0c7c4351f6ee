/*!
Documents to a full-text index that finds Chinese and English words alike. A face over tantivy.

[`Index`] adds, deletes and commits. What a crash left ahead of the caller's other stores is taken
out by the caller's numbers: [`Index::delete_from`].
*/
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod error;
#[cfg(test)]
mod few_words;
mod index;
mod query;
mod reading;
mod searcher;
mod tokenizer;
mod verify;

pub use error::{Error, Result};
pub use index::{Index, Page, is_guarded};
pub use query::{
    MAX_QUERY_BYTES, MAX_QUERY_GROUPS, MAX_QUERY_OPERATORS, MAX_QUERY_RANGES, MAX_QUERY_TERMS,
};
pub use searcher::{Hit, Searcher, StoredPage, damaged_files};
pub use tokenizer::{Dictionary, is_cjk};

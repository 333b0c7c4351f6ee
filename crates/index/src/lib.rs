#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod error;
#[cfg(test)]
mod few_words;
mod ids;
mod index;
mod marks;
mod query;
mod reading;
mod request;
mod schema;
mod searcher;
mod snippet;
mod tokenizer;
mod verify;

pub use error::{Error, Result};
pub use index::{Index, Page, is_guarded};
pub use query::{
    MAX_QUERY_BYTES, MAX_QUERY_GROUPS, MAX_QUERY_OPERATORS, MAX_QUERY_RANGES, MAX_QUERY_TERMS,
};
pub use request::Request;
pub use searcher::{Hit, OTHER_BOOST, Searcher, StoredPage, damaged_files};
pub use tokenizer::{Dictionary, is_cjk};

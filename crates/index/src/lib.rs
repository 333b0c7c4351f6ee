/*!
Documents to a full-text index that finds Chinese and English words alike. A face over tantivy.

[`Index`] adds, deletes and commits; each commit carries the caller's sequence number, so that after
a crash the index can be brought back in step with the caller's other stores.
*/
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod error;
mod index;
mod tokenizer;

pub use error::{Error, Result};
pub use index::{Hit, Index, Page, Searcher, StoredPage};
pub use tokenizer::{Dictionary, MixedTokenizer};

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod anchors;
mod bucket;
mod covered;
mod error;
mod finder;
mod found;
mod lcs;
mod near;
mod nested;
mod options;
mod pairs;
mod parts;
mod range_min;
mod repeats;
mod runs;
mod scratch;
mod stop;
mod types;
mod words;

pub use covered::Covered;
pub use error::{Error, Result};
pub use finder::Finder;
pub use found::Found;
pub use options::{
    MAX_ANCHOR_PLACES, MAX_MONOTONOUS, MAX_PER_DOCUMENT, MAX_WORDS_PER_DOCUMENT, Options,
};
pub use types::{Contained, NearPair, Passage, Place, Shared, Totals};

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod buffer;
mod cell;
mod discards;
mod error;
mod folder;
mod kept;
mod parts;
mod progress;
mod store;
mod target;
mod write;

pub use cell::{Cell, Column, ColumnType};
pub use discards::{DISCARD_COLUMNS, discard_row};
pub use error::{Error, Result, StoreFault};
pub use kept::{PAGE_COLUMNS, page_row};
pub use parts::{Limits, Parts, Written};
pub use store::{is_store, object};
pub use target::Target;
pub use write::{write_discards, write_pages};

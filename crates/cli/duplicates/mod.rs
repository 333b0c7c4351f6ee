//! The log of discarded pages as a person works with it: rows chosen by words, the texts behind a row, how
//! they differ.

mod columns;
mod filter;
mod select;
mod why;

pub(crate) use columns::Columns;
pub(crate) use filter::{Filter, Order};
pub(crate) use select::{gone_told, members, wanted};
pub(crate) use why::texts;

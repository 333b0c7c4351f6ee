//! The log of discarded pages for users: filters, the texts behind a row, and their differences.

mod columns;
mod filter;
mod select;
mod why;

pub(crate) use columns::Columns;
pub(crate) use filter::{Filter, Order};
pub(crate) use select::{gone_told, members, wanted};
pub(crate) use why::texts;

//! The log of discarded pages as a person works with it: rows found fast, what people decided, the
//! texts behind a row, how they differ.

mod clusters;
mod columns;
mod committed;
mod counts;
mod decisions;
mod diff;
mod filter;
mod rows;
mod spool;
mod standing;
mod texts;

pub(crate) use clusters::{Cluster, clusters};
pub(crate) use columns::Columns;
pub(crate) use committed::skipped_lines;
pub(crate) use counts::LogCounts;
pub(crate) use decisions::{Action, Decision, Decisions, Forgotten};
pub(crate) use diff::{Piece, deadline, diff};
pub(crate) use filter::{Filter, KINDS, Order};
pub(crate) use rows::{ALIAS, Row, Rows, is_of_host};
pub(crate) use spool::{Answer, Request, Spool, submit};
pub(crate) use standing::{Heads, Shown, tables};
pub(crate) use texts::{Texts, reason};

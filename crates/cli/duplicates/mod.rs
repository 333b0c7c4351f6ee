//! The log of discarded pages as a person works with it: rows found fast, what people decided, the
//! texts behind a row, how they differ.

mod columns;
mod decisions;
mod diff;
mod filter;
mod rows;
mod spool;
mod texts;

pub(crate) use columns::Columns;
pub(crate) use decisions::{Action, Decision, Decisions, Forgotten};
pub(crate) use diff::{Piece, deadline, diff};
pub(crate) use filter::{Filter, KINDS, Order};
pub(crate) use rows::{ALIAS, Row, Rows};
pub(crate) use spool::{Answer, Request, Spool, submit};
pub(crate) use texts::{Texts, reason};

//! `crawl inspect`, a local web page over log and index, and `crawl duplicates report`, the same as a
//! file. Rendered here, readable without scripts.

mod charts;
mod guard;
mod lists;
mod page;
mod report;
mod server;
mod side;
mod views;

pub(crate) use report::report;
pub(crate) use server::serve;

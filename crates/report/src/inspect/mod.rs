//! `crawl inspect`, a local web page about log and index, and `crawl duplicates report`, the same as a file. Pages
//! are rendered on the server and readable without scripts.

mod advice;
mod charts;
mod events;
mod guard;
mod lists;
mod page;
mod report;
mod server;
mod side;
mod views;

pub use report::report;
pub use server::{Change, Inspect};

//! `crawl inspect`, a local web page about log and index, and `crawl duplicates report`, the same as a file. Pages
//! are rendered on the server and readable without scripts.

mod advice;
mod causes;
mod changes;
mod charts;
mod clusters;
mod computed;
mod drawing;
mod events;
mod guard;
mod kept;
mod kept_page;
mod large;
mod lists;
mod near;
mod overview;
mod page;
mod pager;
mod passages;
mod report;
mod server;
mod side;
mod views;

pub use causes::Advise;
pub use report::report;
pub use server::{Change, Inspect};

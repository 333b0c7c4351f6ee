//! Kept pages as a folder of Markdown.

mod flat;
mod folder;
mod front;
mod listing;
mod manifest;
mod names;
mod page;

pub use self::folder::{MarkdownCounts, write_markdown};

#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod causes;
mod columns;
mod filter;
mod inspect;
pub mod local_server;
mod purged;
mod select;
mod shell;
mod stored;
pub mod text;

pub use causes::{cause_sentence, dropped_sentence, write_causes};
pub use columns::Columns;
pub use filter::{Filter, Order};
pub use inspect::{Advise, Change, Inspect, report};
pub use purged::{purge_done, would_purge};
pub use select::{gone_told, in_store, members, texts_missing, wanted};
pub use shell::shell_path;
pub use stored::{advice_on_index, advised, texts};

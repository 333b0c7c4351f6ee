#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(all(test, feature = "texts"), expect(clippy::unwrap_used, reason = "a test may panic"))]

pub mod comparison;
mod dateless;
pub mod difference;
mod evidence;
mod examples;
mod glued;
mod kind;
#[cfg(feature = "texts")]
pub mod sites;
mod stand_in;
#[cfg(feature = "texts")]
pub mod texts;

pub use dateless::{Dateless, url_without_dates};
pub use evidence::{Evidence, HASH, fingerprint, site_of};
pub use examples::examples;
pub use kind::Kind;
pub use stand_in::{as_it_stands, stand_in};

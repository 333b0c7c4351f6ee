//! A flag that ends a search early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{Error, Result};

/// Set by the caller; checked between steps of about a second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(pub(crate) Arc<AtomicBool>);

impl Stop {
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.load(Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}

//! Ctrl-C and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result};

use crate::exit::STOPPED;

/// Becomes true at the first Ctrl-C or SIGTERM, for work without an event loop, which checks it between pages. A
/// second signal ends the process at once; committed data is safe.
pub(crate) fn interrupted() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&asked);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let wait = move || {
        runtime.block_on(async {
            signals.recv().await;
            told.store(true, Relaxed);
            signals.recv().await;
            std::process::exit(STOPPED.into());
        })
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait)
        .context("cannot start the signal thread")?;
    Ok(asked)
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error, as on a full disk, instead of the end.
#[cfg(unix)]
pub(crate) fn outlive_file_limit() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _inside = runtime.enter();
    let kind = tokio::signal::unix::SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    tokio::signal::unix::signal(kind).map(drop)
}

pub(crate) struct Signals {
    #[cfg(unix)]
    term: tokio::signal::unix::Signal,
    #[cfg(unix)]
    int: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    #[cfg(unix)]
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub(crate) async fn recv(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

//! `crawl inspect` and `crawl duplicates report`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use hapax_data::files::for_owner_only;
use hapax_report::Inspect;

use crate::change::change;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::open_index;
use crate::output::number;
use crate::signals::Signals;

/// Time for pages that are being rendered when the server ends.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// Serves until Ctrl-C.
pub(crate) fn serve(listen: SocketAddr, dirs: &[PathBuf], quiet: bool) -> Result<u8> {
    let mut policy = None;
    for data in dirs {
        hapax_data::must_hold_pages(data)?;
        open_index::verify(data)?;
        let saved = crate::data::saved(data)?.unwrap_or_default();
        policy.get_or_insert(saved.settings.policy()?);
    }
    if !listen.ip().is_loopback() {
        return Err(coded(
            USAGE,
            format!(
                "--listen {listen}: must be a loopback address such as 127.0.0.1:7878, because the page has \
                 no login. To share results, run: crawl duplicates report FILE.html"
            ),
        ));
    }
    let changed = |data: &Path, request: &_| change(data, request).map_err(|e| format!("{e:#}"));
    let advise = |data: &Path| super::causes::advice(data).map_err(|e| format!("{e:#}"));
    let policy = policy.unwrap_or_default();
    let inspect = Inspect::open(dirs, policy, Box::new(changed), Arc::new(advise))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(listen).await.map_err(|error| {
            coded(USAGE, format!("cannot listen on {listen}: {error}; give another --listen"))
        })?;
        if !quiet {
            let address = listener.local_addr()?;
            let open = format!("Open http://{address}/ in a browser (Ctrl-C stops the server)");
            writeln!(std::io::stdout(), "{open}")?;
        }
        let mut signals = Signals::new()?;
        inspect.serve(listener, signals.recv()).await?;
        anyhow::Ok(())
    })?;
    // Ends with the process even if a slow search is still being rendered.
    runtime.shutdown_timeout(SHUTDOWN);
    Ok(COMPLETE)
}

/// Writes the report of a data directory to a file.
pub(crate) fn report(file: &Path, pairs: usize, data: &Path) -> Result<u8> {
    let settings = crate::data::saved(data)?.unwrap_or_default().settings;
    if settings.is_personal() {
        for_owner_only();
    }
    // The pairs are worth a report even without advice.
    let advice = super::causes::advice(data).map_err(|error| format!("{error:#}"));
    let written = hapax_report::report(file, pairs, data, &settings.policy()?, &advice)?;
    writeln!(std::io::stdout(), "{} holds {} pairs", file.display(), number(written as u64))
        .context("stdout")?;
    Ok(COMPLETE)
}

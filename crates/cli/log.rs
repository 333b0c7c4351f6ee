//! Log messages on stderr or in a file.

use std::io::IsTerminal;

use crate::args::Common;
use crate::output::colour;

/// Sets up the log, on stderr or in the file of `--log-file`.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn init_log(common: &Common) -> anyhow::Result<()> {
    let level = match (common.quiet, common.verbose) {
        // A log file is of use only with more detail.
        (_, 0) if common.log_file.is_some() => "info",
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "info",
        _ => "debug",
    };
    let filter = format!("{level},tantivy=error,sled=error,html5ever=off,selectors=off");
    let filter = tracing_subscriber::EnvFilter::new(filter);
    if let Some(path) = &common.log_file {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| {
            crate::exit::coded(
                crate::exit::USAGE,
                format!("--log-file {}: {error}", path.display()),
            )
        })?;
        tracing_subscriber::fmt()
            .log_internal_errors(false)
            .with_env_filter(filter)
            .with_writer(std::sync::Mutex::new(file))
            .with_ansi(false)
            .with_target(false)
            .init();
        return Ok(());
    }
    tracing_subscriber::fmt()
        // tracing would write to a closed stderr and panic.
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour(std::io::stderr().is_terminal()))
        .with_target(false)
        .init();
    Ok(())
}

//! The binary `crawl`: arguments, settings, commands, the inspection page and terminal output. The engine is
//! `hapax-crawl`.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod args;
mod change;
mod cluster;
mod command_line;
mod commands;
mod config;
mod data;
mod exit;
mod help;
mod limits;
mod log;
mod metrics;
mod open_index;
mod output;
mod progress;
mod settings;
mod signals;
mod spelling;
mod summary;

use std::process::ExitCode;

/// glibc's allocator fragments when threads exchange buffers.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // A panic over a damaged index or frontier becomes an error, so it is not a bug to report.
        if !hapax_index::is_guarded() && !hapax_frontier::is_guarded() {
            told(info);
        }
    }));
    #[cfg(unix)]
    let _ = signals::outlive_file_limit();
    let environment: Vec<_> = std::env::vars_os().collect();
    let (args, slips) = match command_line::parse(std::env::args_os(), &environment) {
        Ok(given) => given,
        Err(error) => {
            // clap exits with 2, which here means a damaged data directory.
            let code = if error.use_stderr() { exit::USAGE } else { exit::COMPLETE };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let begun = is_after_1970().and_then(|()| log::init_log(&args.common));
    if begun.is_ok() {
        slips.iter().for_each(|slip| tracing::warn!("{slip}"));
    }
    match begun.and_then(|()| commands::run(args)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if exit::is_closed_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            output::error(&error);
            let code = exit::code_of(&error);
            if let Some(advice) = exit::advice(&error) {
                output::error(&anyhow::anyhow!(advice));
            }
            // The error of a damaged reference says itself what to do.
            let is_own = !format!("{error:#}").contains("--against ");
            if let Some(hint) = exit::hint(code).filter(|_| is_own) {
                output::error(&anyhow::anyhow!(hint));
            }
            ExitCode::from(code)
        }
    }
}

/// Timestamps are stored as seconds since 1970.
fn is_after_1970() -> anyhow::Result<()> {
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(exit::coded(exit::USAGE, "this machine's clock is before 1970: set it first"))
        }
    }
}

//! Exit codes, and the mapping of errors to them.

use std::io;

use hapax_report::advice_on_index;

/// Finished.
pub(crate) const COMPLETE: u8 = 0;
/// Usage or configuration.
pub(crate) const USAGE: u8 = 1;
/// The data directory is damaged.
pub(crate) const DAMAGED: u8 = 2;
/// Stopped by a limit or by Ctrl-C.
pub(crate) const STOPPED: u8 = 3;
/// No seed could be fetched.
pub(crate) const NO_SEED: u8 = 4;
/// Another process holds the data directory.
pub(crate) const LOCKED: u8 = 5;
pub(crate) const WRITE: u8 = 6;
/// Finished, but some inputs were bad.
pub(crate) const BAD_INPUT: u8 = 7;

/// The section of `--help` and the man page.
pub(crate) const HELP: &str = "Exit codes:
  0  complete (also when a finished crawl is run again); done but for hosts
     that could not be reached: summary.json says `complete: false` then
  1  usage or configuration error
  2  the data directory is damaged, or of another version
  3  stopped by Ctrl-C, --max-pages, --max-bytes, --time-limit or
     --min-free-disk; the same command, or a larger limit, goes on
  4  no seed could be fetched, whatever sitemaps led to (a recrawl: no page):
     down, an error, or refused by robots, scope or guard
  5  another process holds the data directory
  6  could not write (disk full, read-only, cluster lost); the same command
     goes on
  7  finished, but some inputs were bad";

/// An error with an explicit exit code.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl std::fmt::Display for Coded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Coded {}

pub(crate) fn coded(code: u8, message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Coded { code, message: message.into() })
}

pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(coded) = cause.downcast_ref::<Coded>() {
            return coded.code;
        }
        if cause.is::<hapax_data::units::UnitError>() {
            return USAGE;
        }
        let data = match cause.downcast_ref::<hapax_crawl::Error>() {
            Some(hapax_crawl::Error::Config { .. }) => return USAGE,
            Some(hapax_crawl::Error::Panicked) => return WRITE,
            Some(hapax_crawl::Error::Data(error)) => Some(error),
            _ => hapax_data::Error::of_cause(cause),
        };
        if let Some(error) = data {
            match error {
                hapax_data::Error::Invalid(_) => return USAGE,
                hapax_data::Error::Damaged(_) => return DAMAGED,
                hapax_data::Error::Locked(_) => return LOCKED,
                hapax_data::Error::Write(_) => return WRITE,
                hapax_data::Error::Store(error) => return code_of_store(error),
                hapax_data::Error::Frontier(error) => return code_of_frontier(error),
                hapax_data::Error::Index(error) => return code_of_index(error),
                hapax_data::Error::Os(error) if is_write_error(error.kind()) => return WRITE,
                // The cause decides.
                _ => {}
            }
        }
        if let Some(error) = cause.downcast_ref() {
            return code_of_store(error);
        }
        if let Some(error) = cause.downcast_ref() {
            return code_of_frontier(error);
        }
        if let Some(error) = cause.downcast_ref() {
            return code_of_index(error);
        }
        #[cfg(feature = "cluster")]
        if let Some(error) = cause.downcast_ref::<hapax_cluster::Error>() {
            return code_elsewhere(error);
        }
        if cause.downcast_ref::<io::Error>().is_some_and(|e| is_write_error(e.kind())) {
            return WRITE;
        }
    }
    USAGE
}

fn code_of_store(error: &hapax_dedup::Error) -> u8 {
    match error {
        hapax_dedup::Error::Locked { .. } => LOCKED,
        hapax_dedup::Error::Io { source, .. } if is_damage(source.kind()) => DAMAGED,
        hapax_dedup::Error::Io { .. } | hapax_dedup::Error::Poisoned => WRITE,
        hapax_dedup::Error::Elsewhere(error) => code_elsewhere(error.as_ref()),
        hapax_dedup::Error::Corrupt { .. } | hapax_dedup::Error::Version { .. } => DAMAGED,
        _ => USAGE,
    }
}

fn code_of_frontier(error: &hapax_frontier::Error) -> u8 {
    match error {
        hapax_frontier::Error::Locked(_) => LOCKED,
        hapax_frontier::Error::Io { source, .. } if is_damage(source.kind()) => DAMAGED,
        hapax_frontier::Error::Io { .. } | hapax_frontier::Error::Poisoned => WRITE,
        hapax_frontier::Error::Elsewhere(error) => code_elsewhere(error.as_ref()),
        _ => DAMAGED,
    }
}

fn code_of_index(error: &hapax_index::Error) -> u8 {
    match error {
        hapax_index::Error::Locked(_) => LOCKED,
        hapax_index::Error::Io { source, .. } if is_damage(source.kind()) => DAMAGED,
        hapax_index::Error::Io { .. } | hapax_index::Error::Poisoned => WRITE,
        hapax_index::Error::Damaged { .. } => DAMAGED,
        _ => USAGE,
    }
}

/// The exit code of a cluster's error.
fn code_elsewhere(error: &(dyn std::error::Error + Send + Sync + 'static)) -> u8 {
    #[cfg(feature = "cluster")]
    if let Some(error) = error.downcast_ref::<hapax_cluster::Error>() {
        use hapax_cluster::Error::{Refused, Unavailable};
        return if matches!(error, Unavailable { .. } | Refused { .. }) { WRITE } else { USAGE };
    }
    let _ = error;
    WRITE
}

/// Whether an I/O error comes from a file's content, such as an offset beyond its end. Repeating the command would
/// not help.
const fn is_damage(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(kind, InvalidData | InvalidInput | UnexpectedEof)
}

fn is_write_error(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WriteZero,
    };
    matches!(
        kind,
        FileTooLarge
            | StorageFull
            | ReadOnlyFilesystem
            | QuotaExceeded
            | PermissionDenied
            | WriteZero
    )
}

/// Advice for an error about a damaged index.
pub(crate) fn advice(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let data = match cause.downcast_ref() {
            Some(hapax_crawl::Error::Data(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        let index = match data {
            Some(hapax_data::Error::Index(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        let Some(hapax_index::Error::Damaged { path, .. }) = index else { return None };
        let folder =
            path.ancestors().find(|folder| folder.file_name().is_some_and(|n| n == "index"))?;
        folder.parent().map(advice_on_index)
    })
}

pub(crate) const fn hint(code: u8) -> Option<&'static str> {
    match code {
        WRITE => Some(
            "no committed data is lost. Fix the cause (disk space, permissions), then run the same command \
             to continue",
        ),
        DAMAGED => Some(
            "nothing was changed. Restore the damaged files from a backup, or use another --data",
        ),
        _ => None,
    }
}

/// Whether the reader closed our output, as `head` does; this is not an error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let data = match cause.downcast_ref() {
            Some(hapax_crawl::Error::Data(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        let error = match data {
            Some(hapax_data::Error::Os(error)) => Some(error),
            _ => cause.downcast_ref::<io::Error>(),
        };
        error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_of_a_store_is_2_and_a_refusal_of_the_file_system_6() {
        use io::ErrorKind::{
            InvalidData, InvalidInput, PermissionDenied, ReadOnlyFilesystem, StorageFull,
            UnexpectedEof,
        };
        let path = || std::path::PathBuf::from("store");
        let codes = |kind: io::ErrorKind| {
            let source = || io::Error::from(kind);
            let store = || hapax_dedup::Error::Io { path: path(), source: source() };
            let queue = || hapax_frontier::Error::Io { path: path(), source: source() };
            let index = || hapax_index::Error::Io { path: path(), source: source() };
            let data = |error: hapax_data::Error| code_of(&error.into());
            [
                [code_of(&store().into()), data(store().into())],
                [code_of(&queue().into()), data(queue().into())],
                [code_of(&index().into()), data(index().into())],
            ]
        };
        for kind in [InvalidData, InvalidInput, UnexpectedEof] {
            assert_eq!(codes(kind), [[DAMAGED; 2]; 3], "{kind}");
        }
        for kind in [StorageFull, ReadOnlyFilesystem, PermissionDenied] {
            assert_eq!(codes(kind), [[WRITE; 2]; 3], "{kind}");
        }
    }
}

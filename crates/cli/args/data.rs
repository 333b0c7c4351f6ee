//! The data directories of a command.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// The data directory of a command.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct Data {
    /// The data directory
    #[arg(long, value_name = "DIR", default_value = "crawl-data", env = "HAPAX_DATA")]
    pub(crate) data: PathBuf,
}

/// The data directories of a command: each worker of a shared crawl has a separate one.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct DataDirs {
    /// The data directory; repeat to read several as one
    #[arg(long = "data", value_name = "DIR", default_value = "crawl-data", env = "HAPAX_DATA")]
    pub(crate) dirs: Vec<PathBuf>,
}

//! Arguments of the commands that use one stage.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::data::Data;
use crate::settings::Settings;

/// Arguments of `explain`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExplainArgs {
    /// A file with HTML or text, also gzipped (- reads stdin): explains its extraction and its duplicates in
    /// --data. A URL: explains what a crawl would do with it, and shows its stored data; fetches robots.txt
    /// only
    #[arg(value_name = "FILE_OR_URL")]
    pub(crate) first: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Compare the page with this one. A URL is a stored page of --data
    #[arg(value_name = "FILE_OR_URL")]
    pub(crate) second: Option<PathBuf>,
    /// The URL of a file; repeat it for the second file. Without it, two files count as pages of different sites
    #[arg(long, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// Show all blocks and all words, not the first few
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Arguments of `calibrate`.
#[derive(ClapArgs, Debug)]
pub(crate) struct CalibrateArgs {
    /// HTML or text files, also gzipped, and folders of them
    #[arg(required_unless_present = "data")]
    pub(crate) files: Vec<PathBuf>,
    /// Sample the archived pages of this data directory
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub(crate) data: Option<PathBuf>,
    /// Expected pages of the crawl, such as 1e8 [default: the number of given pages]
    #[arg(long, value_name = "N")]
    pub(crate) pages: Option<String>,
    /// Read at most N pages; each is compared with all others
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) sample: usize,
    /// Recipe of the fingerprints, as in a crawl [default: content-words-tf]
    #[arg(long, value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `plan`.
#[derive(ClapArgs, Debug)]
pub(crate) struct PlanArgs {
    /// Number of pages: 1000000, 1e9 or 2^34
    #[arg(long, value_name = "N")]
    pub(crate) pages: String,
    /// Largest Hamming distance of near-duplicates, 0 to 7
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub(crate) distance: u32,
    /// Largest memory for the tables, such as 64GiB [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `find-all` and `find-clusters`, like those of the simhash-cpp tools.
#[derive(ClapArgs, Debug)]
pub(crate) struct FindArgs {
    /// Cut the 64 bits into N blocks [default: the fastest number for the input]
    #[arg(short, long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Largest Hamming distance of near-duplicates, 0 to 7
    #[arg(short, long, value_name = "K", default_value_t = 3)]
    pub(crate) distance: u32,
    /// Read fingerprints from this file, one a line; - reads stdin
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// Memory for fingerprints, such as 4GiB; the rest goes to a temporary file that is read in several passes
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: String,
    /// Write the arrays to this file; - writes stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

//! Arguments of the commands that write pages for other programs.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::data::{Data, DataDirs};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Print one JSON object a line
    Jsonl,
    /// A CSV table
    Csv,
    /// One Markdown file a page, with its metadata on top
    Markdown,
    /// One file with the whole archive, its index and the list of kept pages, for replay
    Wacz,
    /// A folder of Parquet files (needs the feature parquet)
    Parquet,
    /// Bulk requests of OpenSearch and Elasticsearch, as in `crawl stream`
    OpensearchBulk,
}

/// Arguments of `export`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    /// The format of the pages
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "jsonl",
        default_value_if("csv", "true", "csv")
    )]
    pub(crate) format: ExportFormat,
    /// Short for `--format csv`, as in `duplicates export`
    #[arg(long = "csv", id = "csv", hide = true, conflicts_with = "format")]
    _csv: bool,
    /// Write to this file, or folder for Markdown and Parquet, or s3://BUCKET/KEY [default: stdout]
    #[arg(short = 'o', long = "to", visible_alias = "output", value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Export the discarded pages with their evidence instead, as Parquet
    #[arg(long)]
    pub(crate) discards: bool,
    /// Keep lines that a site repeats on three or more pages
    #[arg(long)]
    pub(crate) no_site_boilerplate: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    #[command(flatten)]
    pub(crate) data: DataDirs,
}

/// The pages that `export` writes.
#[derive(ClapArgs, Debug)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Export pages of this host only; without a port, of all its ports
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Export pages of this site only: a domain such as example.org, with all of its hosts
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) site: Option<String>,
    /// Export pages in this language only, such as zh
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Option<String>,
    /// Export pages that were fetched on this day or at this time, or later
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Export pages that were fetched before this day or time
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
    /// Export pages with at least N words in the exported text [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) min_words: Option<u64>,
    /// Export pages with at least N discarded copies [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) min_copies: Option<u64>,
    /// Export pages whose main text was found with at least this confidence, 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_confidence: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamFormat {
    /// One JSON object an event
    Jsonl,
    /// Bulk requests of OpenSearch: index and delete
    OpensearchBulk,
}

/// Arguments of `changes`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ChangesArgs {
    /// List what has changed since this day, time or run, such as 2026-11-20 or 3 [default: the last run]
    #[arg(long, value_name = "TIME|RUN")]
    pub(crate) since: Option<String>,
    /// List the changes of this page only
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Do not compare the texts of before and after; faster
    #[arg(long)]
    pub(crate) no_diff: bool,
    /// Print one JSON object a page
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// Arguments of `stream`.
#[derive(ClapArgs, Debug)]
pub(crate) struct StreamArgs {
    /// Begin after the event with this cursor; an empty one means the first event
    #[arg(long, value_name = "CURSOR")]
    pub(crate) from: Option<String>,
    /// Wait for further events instead of ending at the last durable one
    #[arg(long)]
    pub(crate) follow: bool,
    /// The format of the events
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: StreamFormat,
    /// Print only these fields besides cursor, event, time, id, url and key, separated by commas [default: all]
    #[arg(long, value_name = "NAMES")]
    pub(crate) fields: Option<String>,
    /// End after N events [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Write the cursor of the last printed event to this file at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) cursor_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataDirs,
}

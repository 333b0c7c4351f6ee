//! Arguments of the commands about text that kept pages share.

use clap::Args as ClapArgs;

use super::data::Data;

/// Arguments of `passages`.
#[derive(ClapArgs, Debug)]
pub(crate) struct PassagesArgs {
    /// Minimum words of a passage; in scripts without spaces, characters
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(8..=10_000))]
    pub(crate) min_words: u32,
    /// List only this kind; repeat for several [default: all]
    #[arg(long, value_parser = ["copied", "boilerplate", "near", "part"])]
    pub(crate) kind: Vec<String>,
    /// At most N passages [default: 50; all with --json or --csv]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// At most N places of a passage [default: 5; 20 with --json or --csv]
    #[arg(long, value_name = "N")]
    pub(crate) places: Option<usize>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV for spreadsheets, a row for each place
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// Arguments of `closest`.
#[derive(ClapArgs, Debug)]
pub(crate) struct ClosestArgs {
    /// List closest pages from this similarity on, 0 to 1; with 0, also pages without a closest page
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    pub(crate) min_similarity: f64,
    /// List only this kind; repeat for several [default: all]
    #[arg(long, value_parser = hapax_data::NEAR_MISSES)]
    pub(crate) kind: Vec<String>,
    /// At most N lines [default: 50; all with --json or --csv]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV for spreadsheets
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

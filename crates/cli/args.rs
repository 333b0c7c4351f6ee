//! The command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::duplicates::{Filter, Order};
use crate::exit;
use crate::settings::Settings;
use hapax_data::SkipReason;

/// The crawler that keeps each page once.
///
/// Fetches the pages below the seeds politely, keeps each text once, and makes it searchable. Run
/// again on the same data directory, it goes on where it stopped.
#[derive(Parser, Debug)]
#[command(
    name = "crawl",
    version,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    after_help = format!("Examples:\n  crawl demo\n  crawl --seeds seeds.txt\n  crawl --seeds seeds.txt --max-pages 1000 --delay 500ms\n  crawl search 'long river'\n  crawl duplicates list\n\n{}", exit::HELP)
)]
pub(crate) struct Args {
    /// Another job than crawling
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The main job
    #[command(flatten)]
    pub(crate) crawl: CrawlArgs,
    /// Everywhere
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Flags of every command.
#[derive(ClapArgs, Clone, Debug, Default)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Common {
    /// Only errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// More of what happens; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Settings file (TOML, same names as the flags)
    #[arg(long, global = true, value_name = "FILE", env = "HAPAX_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// No live progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Append the log to a file, with times, and a line on the crawl's progress each minute
    #[arg(long, global = true, value_name = "FILE", env = "HAPAX_LOG_FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

/// Where the data lies.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct Data {
    /// The data directory
    #[arg(long, value_name = "DIR", default_value = "crawl-data", env = "HAPAX_DATA")]
    pub(crate) data: PathBuf,
}

/// Where the data lies: of a crawl of many workers, each has a directory of its own.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct DataDirs {
    /// The data directory; several are read as one
    #[arg(long = "data", value_name = "DIR", default_value = "crawl-data", env = "HAPAX_DATA")]
    pub(crate) dirs: Vec<PathBuf>,
}

impl DataDirs {
    /// The only one.
    pub(crate) fn one(&self) -> anyhow::Result<&std::path::Path> {
        match self.dirs.as_slice() {
            [one] => Ok(one),
            _ => Err(crate::exit::coded(
                crate::exit::USAGE,
                "this changes one data directory: give one --data",
            )),
        }
    }
}

/// The main job.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct CrawlArgs {
    /// File with one URL a line; - reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) seeds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Begin anew: removes what a crawl wrote into the data directory (needs --yes if it is not empty)
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Yes, remove it
    #[arg(long)]
    pub(crate) yes: bool,
    /// Request every known page again, and every URL that was skipped for a reason that may be temporary
    #[arg(long, help_heading = "Job")]
    pub(crate) recrawl: bool,
    /// Request URLs again that were skipped for these reasons, such as http-4xx,robots (names: docs/logs.md)
    #[arg(long, value_name = "REASON", value_delimiter = ',', help_heading = "Job")]
    pub(crate) retry: Vec<SkipReason>,
    /// Say what would become of each seed, and fetch nothing but robots.txt
    #[arg(long, help_heading = "Job")]
    pub(crate) dry_run: bool,
    /// Tell Prometheus how the crawl goes: http://ADDRESS/metrics, such as 127.0.0.1:9090
    #[arg(long, value_name = "ADDRESS", env = "HAPAX_METRICS", help_heading = "Job")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Everything but the main job.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Crawl a small site of its own on loopback and show what was found: no network needed
    #[command(after_help = "Examples:\n  crawl demo\n  crawl demo --help")]
    Demo {
        /// Where the demo's data goes [default: a new folder in the temporary directory]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Take stored pages through the same line: WARC, HTML, folders; - reads JSONL
    #[command(
        after_help = "Examples:\n  crawl pages site/ saved.warc.gz\n  crawl export --data one | crawl pages - --data two"
    )]
    Pages {
        /// WARC, HTML, text or JSONL, also gzipped, known by their bytes; folders, of which HTML, .txt and WARC
        /// are taken; - for JSONL on stdin
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Folder below which "path" of a JSON line may name files [default: the folder of the JSONL file; none for stdin]
        #[arg(long, value_name = "DIR", env = "HAPAX_ROOT")]
        root: Option<PathBuf>,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        settings: Settings,
    },
    /// Search the index, Chinese too
    #[command(
        after_help = "Examples:\n  crawl search river spring\n  crawl search '\"long river\"' --limit 3\n  crawl search 北京大学 --json"
    )]
    Search {
        /// Words, all wanted; in quotes for the shell: '"a phrase" -without', 'one OR other'
        #[arg(required = true)]
        query: Vec<String>,
        /// Results [default: 10, with --json all]
        #[arg(long)]
        limit: Option<usize>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: DataDirs,
    },
    /// The log of discarded duplicates
    #[command(
        subcommand,
        after_help = "Examples:\n  crawl duplicates list --kind near --sort similarity\n  crawl duplicates show 812\n  crawl duplicates restore 812\n  crawl duplicates stats --json"
    )]
    Duplicates(Duplicates),
    /// A local web page over log and index: look, compare, restore
    #[command(
        after_help = "Examples:\n  crawl inspect\n  crawl inspect --listen 127.0.0.1:7878 --data crawl-data"
    )]
    Inspect {
        /// Where it listens; other than loopback is refused
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
        listen: std::net::SocketAddr,
        #[command(flatten)]
        data: Data,
    },
    /// The kept pages as JSONL, CSV or Markdown
    #[command(
        after_help = "Examples:\n  crawl export > pages.jsonl\n  crawl export --format csv --host a.example -o a.csv\n  crawl export --format markdown -o notes/"
    )]
    Export(ExportArgs),
    /// Remove a page or a host from index and tables, and never fetch it again
    #[command(
        after_help = "Examples:\n  crawl forget https://example.org/page\n  crawl forget example.org"
    )]
    Forget {
        /// A URL, or a host: a.example (http and https), a.example:8080
        url_or_host: String,
        #[command(flatten)]
        data: Data,
    },
    /// What a data directory holds, and whether the crawl is complete
    #[command(
        after_help = "Examples:\n  crawl status\n  crawl status --json --data one --data two"
    )]
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
        /// The cluster of a crawl of many workers: who is at work, and what is queued
        #[arg(long, value_name = "URL", env = "HAPAX_CLUSTER", hide = !cfg!(feature = "cluster"))]
        cluster: Option<String>,
        /// The crawl's name there
        #[arg(long, value_name = "NAME", env = "HAPAX_CLUSTER_NAME", hide = !cfg!(feature = "cluster"))]
        cluster_name: Option<String>,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Hold archives, stores, index and logs against their checksums, and all against each other
    #[command(after_help = "Examples:\n  crawl check\n  crawl check --json --data crawl-data")]
    Check {
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: Data,
    },
    /// Bring a data directory of an earlier version to the formats of this one, without a request
    #[command(
        after_help = "Run it again after an interruption: it goes on.\n\nExamples:\n  crawl upgrade\n  crawl upgrade --data crawl-data"
    )]
    Upgrade {
        #[command(flatten)]
        data: Data,
    },
    /// The table arrangements for so many pages, and which one is chosen
    #[command(
        after_help = "Examples:\n  crawl plan --pages 1e9\n  crawl plan --pages 2^34 --memory 256GiB\n  crawl plan --pages 1e6 --distance 6 --json"
    )]
    Plan(PlanArgs),
    /// Pages in, one JSON document a line out; every block says why it was kept or dropped
    #[command(
        after_help = "Examples:\n  crawl extract page.html\n  curl https://example.org/ | crawl extract --text -"
    )]
    Extract {
        /// HTML files, also gzipped; - reads a page from stdin. Links are printed as they stand in the page
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The text alone
        #[arg(long)]
        text: bool,
    },
    /// Text or pages in, fingerprint and name out
    #[command(
        after_help = "Examples:\n  crawl fingerprint page.html other.txt\n  crawl fingerprint *.html.gz | cut -f1 > fingerprints.txt"
    )]
    Fingerprint {
        /// Files, also gzipped; - reads stdin
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        settings: Settings,
    },
    /// One page through every stage with each decision's reason; or why two pages are or are not duplicates
    #[command(
        after_help = "Examples:\n  crawl explain page.html\n  crawl explain page.html other.html --url http://a.example/1 --url http://b.example/1\n  crawl explain https://example.org/page --data crawl-data"
    )]
    Explain(ExplainArgs),
    /// From your own pages to a fitting distance and similarity: advice, changes nothing
    #[command(
        after_help = "Examples:\n  crawl calibrate pages/\n  crawl calibrate pages/*.html.gz --pages 1e8 --json"
    )]
    Calibrate(CalibrateArgs),
    /// Documents (JSONL) on stdin, verdicts (JSONL) on stdout
    #[command(
        after_help = "A line is {\"id\", \"url\"?, \"title\"?, \"content_type\"?, and \"text\" or \"html\" or \"path\"}.\nExample:\n  echo '{\"id\":\"1\",\"text\":\"some words\"}' | crawl dedup --data seen"
    )]
    Dedup {
        /// Folder below which "path" of a line may name files [default: none, "path" is an error]
        #[arg(long, value_name = "DIR", env = "HAPAX_ROOT")]
        root: Option<PathBuf>,
        #[command(flatten)]
        data: Data,
        /// Also print all stored documents that a document duplicates, and store duplicates
        #[arg(long)]
        all_matches: bool,
        #[command(flatten)]
        settings: Settings,
    },
    /// All pairs of near fingerprints: decimals, one a line, in; JSON arrays out
    #[command(after_help = "Example:\n  printf '10\\n20\\n10\\n' | crawl find-all --distance 4")]
    FindAll(FindArgs),
    /// Clusters of near fingerprints: decimals, one a line, in; JSON arrays out
    #[command(
        after_help = "Example:\n  printf '10\\n20\\n10\\n' | crawl find-clusters --distance 4"
    )]
    FindClusters(FindArgs),
    /// Shell completions on stdout
    #[command(
        after_help = "Examples:\n  crawl completions bash > ~/.local/share/bash-completion/completions/crawl\n  crawl completions zsh > ~/.zfunc/_crawl"
    )]
    Completions {
        /// bash, zsh, fish, elvish, powershell
        shell: clap_complete::Shell,
    },
    /// Man page on stdout
    #[command(after_help = "Example:\n  crawl man > ~/.cargo/share/man/man1/crawl.1")]
    Man,
}

/// The log of discarded duplicates.
#[derive(Subcommand, Debug)]
pub(crate) enum Duplicates {
    /// What was discarded, newest last
    #[command(
        after_help = "Examples:\n  crawl duplicates list --kind near --similarity 0.5..0.6 --sort similarity\n  crawl duplicates list --host a.example --csv > a.csv\n  crawl duplicates list --match 'long river' --json --limit 10"
    )]
    List(ListArgs),
    /// One discarded page beside the page that was kept: why, and how they differ
    #[command(
        after_help = "Examples:\n  crawl duplicates show 812\n  crawl duplicates show http://a.example/print/7 --json"
    )]
    Show {
        /// The id in the list, or the URL
        page: String,
        /// One JSON object, with both texts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Pages that stand for others, the largest clusters first; or sorted by the first of their copies
    #[command(
        after_help = "Examples:\n  crawl duplicates clusters --limit 10\n  crawl duplicates clusters --sort bytes --reverse --csv\n  crawl duplicates clusters --host a.example --json"
    )]
    Clusters(ListArgs),
    /// The log in numbers: by kind, distance, similarity, language, host
    #[command(after_help = "Examples:\n  crawl duplicates stats\n  crawl duplicates stats --json")]
    Stats {
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Index discarded pages after all; the pair is never merged again
    #[command(
        after_help = "Examples:\n  crawl duplicates restore 812\n  crawl duplicates restore --host a.example --similarity 0.5..0.6 --dry-run --json\n  crawl duplicates restore 812 --undo"
    )]
    #[command(mut_arg("dirs", |arg| arg.help("The data directory")))]
    Restore(RestoreArgs),
    /// Let a discarded page take the place of the one that was kept
    #[command(
        after_help = "Examples:\n  crawl duplicates keep 812\n  crawl duplicates keep http://a.example/print/7"
    )]
    Keep {
        /// The id in the list, or the URL
        page: String,
        #[command(flatten)]
        data: Data,
    },
    /// What other thresholds would change, from what is stored; --apply does it without fetching
    #[command(after_help = "Example:\n  crawl duplicates recheck --distance 2 --similarity 0.7")]
    Recheck(RecheckArgs),
    /// The log as JSONL or CSV; with --feed for other crawls, so that they need not fetch what was found
    #[command(
        after_help = "Examples:\n  crawl duplicates export -o log.jsonl\n  crawl duplicates export --feed a.feed.gz"
    )]
    Export {
        /// A file that `crawl duplicates import` reads, and FILE.filter beside it
        #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "csv"])]
        feed: Option<PathBuf>,
        /// A file [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// A table for spreadsheets
        #[arg(long)]
        csv: bool,
        #[command(flatten)]
        data: Data,
    },
    /// Take in what another crawl found: those pages are left out, but for checks
    #[command(after_help = "Example:\n  crawl duplicates import a.feed.gz --data crawl-data")]
    Import {
        /// A file of `crawl duplicates export --feed`
        feed: PathBuf,
        #[command(flatten)]
        data: Data,
    },
    /// The log as one HTML file to send to somebody
    #[command(
        after_help = "Examples:\n  crawl duplicates report pairs.html\n  crawl duplicates report pairs.html --pairs 500"
    )]
    Report {
        /// The file
        file: PathBuf,
        /// Pairs shown side by side
        #[arg(long, value_name = "N", default_value_t = 100)]
        pairs: usize,
        #[command(flatten)]
        data: Data,
    },
}

/// Rows of the log.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// In this order
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<Order>,
    /// The other way round
    #[arg(long)]
    pub(crate) reverse: bool,
    /// At most so many
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Without the first ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// A table for spreadsheets
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) data: DataDirs,
}

impl ListArgs {
    /// Which rows, in which order, and whether from the end.
    pub(crate) const fn select(&self) -> (&Filter, Option<Order>, bool) {
        (&self.filter, self.sort, self.reverse)
    }
}

/// What is to be restored.
#[derive(ClapArgs, Debug)]
pub(crate) struct RestoreArgs {
    /// Ids in the list, or URLs; without any, what the filter selects
    pub(crate) pages: Vec<String>,
    /// All of them
    #[arg(long)]
    pub(crate) all: bool,
    /// Say what would be restored, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Discard again what was restored
    #[arg(long)]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// Other thresholds.
#[derive(ClapArgs, Debug)]
pub(crate) struct RecheckArgs {
    /// Largest Hamming distance, 0 to 7
    #[arg(long, value_name = "K")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity on another host
    #[arg(long, value_name = "S")]
    pub(crate) similarity: Option<f64>,
    /// Smallest similarity on one host
    #[arg(long, value_name = "S")]
    pub(crate) similarity_same_host: Option<f64>,
    /// Do it, and keep these thresholds
    #[arg(long)]
    pub(crate) apply: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// How pages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    Jsonl,
    /// A table
    Csv,
    /// One file a page, with its facts on top
    Markdown,
}

/// What is to be exported.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExportArgs {
    /// How the pages are written
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// A file, or a folder for Markdown [default: stdout]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Only this host; without a port, at all of its ports
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Only this language, such as zh
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Option<String>,
    /// Keep lines that a site repeats on three or more pages
    #[arg(long)]
    pub(crate) no_site_boilerplate: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// What is to be explained.
#[derive(ClapArgs, Debug)]
pub(crate) struct ExplainArgs {
    /// HTML or text, also gzipped; - reads stdin: its stages, and what the tables in --data say of it.
    /// A URL: what a crawl would do with it, without fetching more than robots.txt, and what is stored
    /// of it
    #[arg(value_name = "FILE_OR_URL")]
    pub(crate) first: PathBuf,
    #[command(flatten)]
    pub(crate) data: Data,
    /// The page it is compared with
    #[arg(value_name = "FILE")]
    pub(crate) second: Option<PathBuf>,
    /// The page's address; given twice, that of each page. Without one the pages are of different sites
    #[arg(long, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// All blocks and all words, not the first few
    #[arg(long)]
    pub(crate) all: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What is to be measured.
#[derive(ClapArgs, Debug)]
pub(crate) struct CalibrateArgs {
    /// HTML or text files, also gzipped, and folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Pages the corpus will have [default: as many as given]
    #[arg(long, value_name = "N")]
    pub(crate) pages: Option<String>,
    /// At most so many pages are read; each is compared with each
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) sample: usize,
    /// What fingerprints are made of, as in a crawl [default: content-words-tf]
    #[arg(long, value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is to be arranged.
#[derive(ClapArgs, Debug)]
pub(crate) struct PlanArgs {
    /// How many pages: 1000000, 1e9, 2^34
    #[arg(long, value_name = "N")]
    pub(crate) pages: String,
    /// Largest Hamming distance, 0 to 7
    #[arg(long, value_name = "K", default_value_t = 3)]
    pub(crate) distance: u32,
    /// Memory for the tables, such as 64GiB [default: any]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments as the simhash-cpp tools have them.
#[derive(ClapArgs, Debug)]
pub(crate) struct FindArgs {
    /// Blocks the 64 bits are cut into [default: what is fastest for so many]
    #[arg(short, long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Largest Hamming distance, 0 to 7
    #[arg(short, long, value_name = "K", default_value_t = 3)]
    pub(crate) distance: u32,
    /// Fingerprints, one a line; - reads stdin
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// Fingerprints held in memory; more are read from a temporary file in several passes
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: String,
    /// Where the arrays go; - writes stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

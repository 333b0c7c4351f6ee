//! The command line.

mod data;
mod forget;
mod output;
mod passages;
mod stages;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use self::data::{Data, DataDirs};
pub(crate) use self::forget::ForgetArgs;
pub(crate) use self::output::{
    ChangesArgs, ExportArgs, ExportFormat, FilterArgs, StreamArgs, StreamFormat,
};
pub(crate) use self::passages::{ClosestArgs, PassagesArgs};
pub(crate) use self::stages::{CalibrateArgs, ExplainArgs, FindArgs, PlanArgs};
use crate::exit;
use crate::settings::Settings;
use hapax_data::SkipReason;
use hapax_report::{Filter, Order};

/// The crawler that keeps each page once.
///
/// Fetches the pages below the seeds politely, keeps each text once, and makes it searchable. If you
/// run it again on the same data directory, it continues where it stopped.
#[derive(Parser, Debug)]
#[command(
    name = "crawl",
    version,
    subcommand_negates_reqs = true,
    after_help = format!("Examples:\n  crawl demo\n  crawl https://example.org/\n  crawl --seeds seeds.txt\n  crawl --seeds seeds.txt --max-pages 1000 --delay 500ms\n  crawl search 'long river'\n  crawl duplicates list\n\n{}", exit::HELP)
)]
pub(crate) struct Args {
    /// A command other than crawling
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The crawl
    #[command(flatten)]
    pub(crate) crawl: CrawlArgs,
    /// The flags of every command
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Flags of every command.
#[derive(ClapArgs, Clone, Debug, Default)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Common {
    /// Print errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Log more: -v for details, -vv for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Read settings from this TOML file; the names are those of the flags
    #[arg(long, global = true, value_name = "FILE", env = "HAPAX_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Show no live progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Append the log to this file, with times and a progress line each minute
    #[arg(long, global = true, value_name = "FILE", env = "HAPAX_LOG_FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

impl DataDirs {
    /// Returns the directory, if there is one.
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

/// Arguments of a crawl.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct CrawlArgs {
    /// Read seed URLs from this file, one a line; - reads stdin; a URL is itself a seed
    #[arg(long, value_name = "FILE")]
    pub(crate) seeds: Option<PathBuf>,
    /// A seed: `crawl URL` is `crawl --seed-url URL`
    #[arg(long, value_name = "URL", hide = true)]
    pub(crate) seed_url: Vec<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Start over: delete the crawl in the data directory first (needs --yes unless the directory is empty)
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Confirm that --fresh may delete data
    #[arg(long)]
    pub(crate) yes: bool,
    /// Forget the flags of earlier runs in this data directory: only those given now, the environment and --config count
    #[arg(long)]
    pub(crate) forget_flags: bool,
    /// Request all known pages again, and URLs that were skipped for a reason that may be temporary
    #[arg(long, help_heading = "Job")]
    pub(crate) recrawl: bool,
    /// With --recrawl: request only pages whose next visit is due; a page that is gone twice is removed
    #[arg(long, requires = "recrawl", help_heading = "Job")]
    pub(crate) due: bool,
    /// Go on after the crawl: visit known pages again whenever they are due, until a signal arrives
    #[arg(long, conflicts_with_all = ["recrawl", "dry_run"], help_heading = "Job")]
    pub(crate) watch: bool,
    /// Request URLs again that were skipped for these reasons, such as http-4xx,robots (list: docs/logs.md)
    #[arg(long, value_name = "REASON", value_delimiter = ',', help_heading = "Job")]
    pub(crate) retry: Vec<SkipReason>,
    /// Print what the crawl would do with each seed; fetch robots.txt only
    #[arg(long, help_heading = "Job")]
    pub(crate) dry_run: bool,
    /// Serve Prometheus metrics at http://ADDRESS/metrics, such as 127.0.0.1:9090
    #[arg(long, value_name = "ADDRESS", env = "HAPAX_METRICS", help_heading = "Job")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Commands other than a crawl.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Crawl a small built-in site on this machine and show the results; needs no network
    #[command(after_help = "Examples:\n  crawl demo\n  crawl demo --help")]
    Demo {
        /// Write the demo's data to this directory [default: a new folder in the temporary directory]
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
    /// Deduplicate and index stored pages as a crawl does: WARC, HTML, text or JSONL files and folders
    #[command(
        after_help = "Examples:\n  crawl pages site/ saved.warc.gz\n  crawl export --data one | crawl pages - --data two"
    )]
    Pages {
        /// WARC, HTML, text or JSONL files, also gzipped, recognised by their content; folders, of which the HTML,
        /// .txt and WARC files are read; - reads JSONL from stdin
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
    /// Search the index of kept pages, also in Chinese
    #[command(
        after_help = "Examples:\n  crawl search river spring\n  crawl search '\"long river\"' --limit 3\n  crawl search title:river --site a.example --language en --after 2026-11-20\n  crawl search 北京大学 --json"
    )]
    Search(SearchArgs),
    /// List, explain, restore and export discarded duplicates
    #[command(
        subcommand,
        after_help = "Examples:\n  crawl duplicates list --kind near --sort similarity\n  crawl duplicates show 812\n  crawl duplicates restore 812\n  crawl duplicates stats --json"
    )]
    Duplicates(Duplicates),
    /// Serve a local web page to search, compare and restore pages
    #[command(
        after_help = "Examples:\n  crawl inspect\n  crawl inspect --listen 127.0.0.1:7878 --data crawl-data"
    )]
    Inspect {
        /// Listen on this address; it must be a loopback address
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
        listen: std::net::SocketAddr,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Write the kept pages as JSONL, CSV or Markdown, or the archive as WACZ
    #[command(
        after_help = "Examples:\n  crawl export > pages.jsonl\n  crawl export --format csv --host a.example -o a.csv\n  crawl export --format markdown -o notes/\n  crawl export --format wacz --to crawl.wacz\n\nAfter an interruption the same command continues. Until then, what was sent to s3:// costs money.\nFor exports that nobody continues, set a lifecycle rule of the bucket: AbortIncompleteMultipartUpload."
    )]
    Export(ExportArgs),
    /// Print changes of pages in durable order, for other programs
    #[command(
        after_help = "Examples:\n  crawl stream --follow | consumer\n  crawl stream --from \"$(cat cursor)\" --limit 1000 --cursor-file cursor\n  crawl stream --format opensearch-bulk --fields title,text > bulk.jsonl"
    )]
    Stream(StreamArgs),
    /// List new, changed, moved and gone pages of the last run
    #[command(after_help = "Examples:\n  crawl changes\n  crawl changes --since 2026-11-20 --json")]
    Changes(ChangesArgs),
    /// Remove a page or a host from the index and the tables, and never fetch it again
    #[command(
        after_help = "Examples:\n  crawl forget --dry-run example.org\n  crawl forget --yes https://example.org/page\n  crawl forget --undo"
    )]
    Forget(ForgetArgs),
    /// Show the contents of a data directory, and whether the crawl is complete
    #[command(
        after_help = "Examples:\n  crawl status\n  crawl status --json --data one --data two"
    )]
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// Show the workers and the queue of a shared crawl: the address of its Redis Cluster
        #[arg(long, value_name = "URL", env = "HAPAX_CLUSTER", hide = !cfg!(feature = "cluster"))]
        cluster: Option<String>,
        /// The crawl's name in the cluster
        #[arg(long, value_name = "NAME", env = "HAPAX_CLUSTER_NAME", hide = !cfg!(feature = "cluster"))]
        cluster_name: Option<String>,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Verify archives, stores, index and logs by their checksums and against each other
    #[command(after_help = "Examples:\n  crawl check\n  crawl check --json --data crawl-data")]
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: Data,
    },
    /// Convert a data directory of an earlier version to the present formats; makes no requests
    #[command(
        after_help = "Run it again after an interruption: it goes on.\n\nExamples:\n  crawl upgrade\n  crawl upgrade --data crawl-data"
    )]
    Upgrade {
        #[command(flatten)]
        data: Data,
    },
    /// Show the table layouts for N pages, their costs, and which layout is chosen
    #[command(
        after_help = "Examples:\n  crawl plan --pages 1e9\n  crawl plan --pages 2^34 --memory 256GiB\n  crawl plan --pages 1e6 --distance 6 --json"
    )]
    Plan(PlanArgs),
    /// Print the extracted document of each page as a JSON line, with the reason why each block is kept or dropped
    #[command(
        after_help = "Examples:\n  crawl extract page.html\n  curl https://example.org/ | crawl extract --text -"
    )]
    Extract {
        /// HTML files, also gzipped; - reads a page from stdin. Links are printed as written in the page
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print the text only
        #[arg(long)]
        text: bool,
        /// Print the text only, as Markdown with its headings, lists, tables, code and links
        #[arg(long, conflicts_with = "text")]
        markdown: bool,
    },
    /// Print the fingerprint and the path of each text or page
    #[command(
        after_help = "Examples:\n  crawl fingerprint page.html other.txt\n  crawl fingerprint *.html.gz | cut -f1 > fingerprints.txt"
    )]
    Fingerprint {
        /// Text or HTML files, also gzipped; - reads stdin
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        settings: Settings,
    },
    /// Explain each decision about one page, or why two pages are or are not duplicates
    #[command(
        after_help = "Examples:\n  crawl explain page.html\n  crawl explain page.html other.html --url http://a.example/1 --url http://b.example/1\n  crawl explain https://example.org/page --data crawl-data\n  crawl explain https://example.org/page https://example.org/other --data crawl-data"
    )]
    Explain(ExplainArgs),
    /// Recommend a distance and similarity for your pages; changes nothing
    #[command(
        after_help = "Examples:\n  crawl calibrate pages/\n  crawl calibrate --data crawl-data\n  crawl calibrate pages/*.html.gz --pages 1e8 --json"
    )]
    Calibrate(CalibrateArgs),
    /// Read documents (JSONL) from stdin, print duplicate verdicts (JSONL)
    #[command(
        after_help = "A line is {\"id\", \"url\"?, \"title\"?, \"content_type\"?, and \"text\" or \"html\" or \"path\"}.\nExample:\n  echo '{\"id\":\"1\",\"text\":\"some words\"}' | crawl dedup --data seen"
    )]
    Dedup {
        /// Folder below which "path" of a line may name files [default: none, "path" is an error]
        #[arg(long, value_name = "DIR", env = "HAPAX_ROOT")]
        root: Option<PathBuf>,
        #[command(flatten)]
        data: Data,
        /// Print all stored documents that a document duplicates, and store duplicates too
        #[arg(long)]
        all_matches: bool,
        #[command(flatten)]
        settings: Settings,
    },
    /// Make a store to compare with (--against) from files, for example of evaluation sets
    #[command(
        subcommand,
        after_help = "Example:\n  crawl reference build test-set.jsonl --data test-sets"
    )]
    Reference(Reference),
    /// Print all pairs of near fingerprints as JSON arrays; reads decimal numbers, one a line
    #[command(after_help = "Example:\n  printf '10\\n20\\n10\\n' | crawl find-all --distance 4")]
    FindAll(FindArgs),
    /// Print clusters of near fingerprints as JSON arrays; reads decimal numbers, one a line
    #[command(
        after_help = "Example:\n  printf '10\\n20\\n10\\n' | crawl find-clusters --distance 4"
    )]
    FindClusters(FindArgs),
    /// Print shell completions
    #[command(
        after_help = "Examples:\n  crawl completions bash > ~/.local/share/bash-completion/completions/crawl\n  crawl completions zsh > ~/.zfunc/_crawl"
    )]
    Completions {
        /// The shell: bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(after_help = "Example:\n  crawl man > ~/.cargo/share/man/man1/crawl.1")]
    Man,
}

/// Commands about stores to compare with.
#[derive(Subcommand, Debug)]
pub(crate) enum Reference {
    /// Add the documents of files to a store: each text or HTML file, each line of a JSONL file
    #[command(
        after_help = "A line is {\"id\"?, \"url\"?, \"title\"?, and \"text\" or \"html\" or \"path\"}. Parquet is not read.\n\nExamples:\n  crawl reference build test-set.jsonl answers/*.txt --data test-sets\n  crawl --seeds seeds.txt --against test-sets"
    )]
    Build {
        /// Text, HTML and JSONL files, also gzipped; - reads JSONL from stdin
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Folder below which "path" of a line may name files [default: none, "path" is an error]
        #[arg(long, value_name = "DIR", env = "HAPAX_ROOT")]
        root: Option<PathBuf>,
        /// Recipe of the fingerprints; jobs that use the store need the same [default: content-words-tf]
        #[arg(long, value_name = "NAME", env = "HAPAX_RECIPE")]
        recipe: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: Data,
    },
}

/// Whom `duplicates advise` advises.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advised {
    /// A file of rules for `--rules`
    Crawl,
    /// Redirects, lines of robots.txt, canonical addresses
    Site,
}

/// Commands about discarded duplicates.
#[derive(Subcommand, Debug)]
pub(crate) enum Duplicates {
    /// List discarded pages, newest last
    #[command(
        after_help = "Examples:\n  crawl duplicates list --kind near --similarity 0.5..0.6 --sort similarity\n  crawl duplicates list --host a.example --csv > a.csv\n  crawl duplicates list --match 'long river' --json --limit 10"
    )]
    List(ListArgs),
    /// Show a discarded page beside the kept page: why it was discarded, and how they differ
    #[command(
        after_help = "Examples:\n  crawl duplicates show 812\n  crawl duplicates show http://a.example/print/7 --json"
    )]
    Show {
        /// The page's id in the list, or its URL
        page: String,
        /// Print one JSON object with both texts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: DataDirs,
    },
    /// List kept pages that have duplicates, largest clusters first; --sort uses each page's first duplicate
    #[command(
        after_help = "Examples:\n  crawl duplicates clusters --limit 10\n  crawl duplicates clusters --sort bytes --reverse --csv\n  crawl duplicates clusters --host a.example --json"
    )]
    Clusters(ListArgs),
    /// List runs of text that several kept pages contain, and pages that are a part of another page
    #[command(
        after_help = "Examples:\n  crawl duplicates passages --limit 20\n  crawl duplicates passages --kind copied --min-words 60 --json\n  crawl duplicates passages --kind part --csv"
    )]
    Passages(PassagesArgs),
    /// List the closest page of each kept page, thin pages, and pages of a site with the same title or description
    #[command(
        after_help = "Examples:\n  crawl duplicates closest --min-similarity 0.4\n  crawl duplicates closest --kind title --csv\n  crawl duplicates closest --json"
    )]
    Closest(ClosestArgs),
    /// Count discarded pages by kind, distance, similarity, language and host
    #[command(after_help = "Examples:\n  crawl duplicates stats\n  crawl duplicates stats --json")]
    Stats {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: DataDirs,
    },
    /// Count discarded pages by the cause of their address: print pages, session ids, parameters, mirrors
    #[command(
        after_help = "Examples:\n  crawl duplicates causes\n  crawl duplicates causes --json --data crawl-data"
    )]
    Causes {
        /// Print one JSON object a line: each cause, then each rule by which addresses were not requested
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: Data,
    },
    /// Print rules for the next crawl (`--rules`), or lines for the owner of the site; each rule loses no unique page
    #[command(
        after_help = "Examples:\n  crawl duplicates advise > rules.txt\n  crawl --seeds seeds.txt --rules rules.txt --data again\n  crawl duplicates advise --for site"
    )]
    Advise {
        /// Whom to advise: the next crawl, or the owner of the site
        #[arg(long = "for", value_enum, value_name = "WHOM", default_value_t = Advised::Crawl)]
        audience: Advised,
        #[command(flatten)]
        data: Data,
    },
    /// Add discarded pages to the index; they are never again duplicates of the same page
    #[command(
        after_help = "Examples:\n  crawl duplicates restore 812\n  crawl duplicates restore --host a.example --similarity 0.5..0.6 --dry-run --json\n  crawl duplicates restore 812 --undo"
    )]
    #[command(mut_arg("dirs", |arg| arg.help("The data directory")))]
    Restore(RestoreArgs),
    /// Keep a discarded page in place of the page that was kept
    #[command(
        after_help = "Examples:\n  crawl duplicates keep 812\n  crawl duplicates keep http://a.example/print/7"
    )]
    Keep {
        /// The page's id in the list, or its URL
        page: String,
        #[command(flatten)]
        data: Data,
    },
    /// Show what other thresholds would change, from stored data; --apply changes it without fetching
    #[command(after_help = "Example:\n  crawl duplicates recheck --distance 2 --similarity 0.7")]
    Recheck(RecheckArgs),
    /// Write the log as JSONL or CSV, or with --feed as a file that saves other crawls the same downloads
    #[command(
        after_help = "Examples:\n  crawl duplicates export -o log.jsonl\n  crawl duplicates export --format csv -o log.csv\n  crawl duplicates export --feed a.feed.gz"
    )]
    Export {
        /// Write a feed for `crawl duplicates import` to FILE, and its filter to FILE.filter
        #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "format", "csv"])]
        feed: Option<PathBuf>,
        /// Write to this file [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The format of the log
        #[arg(long, value_enum, default_value_t = LogFormat::Jsonl)]
        format: LogFormat,
        /// The name of `--format csv` in the version before
        #[arg(long, hide = true, conflicts_with = "format")]
        csv: bool,
        #[command(flatten)]
        data: Data,
    },
    /// Import duplicates that another crawl found: this crawl skips them, except for samples that verify the feed
    #[command(after_help = "Example:\n  crawl duplicates import a.feed.gz --data crawl-data")]
    Import {
        /// A file written by `crawl duplicates export --feed`
        feed: PathBuf,
        #[command(flatten)]
        data: Data,
    },
    /// Write the log as one HTML file that you can send to others
    #[command(
        after_help = "Examples:\n  crawl duplicates report pairs.html\n  crawl duplicates report pairs.html --pairs 500"
    )]
    Report {
        /// The HTML file to write
        file: PathBuf,
        /// Show at most N pairs side by side
        #[arg(long, value_name = "N", default_value_t = 100)]
        pairs: usize,
        #[command(flatten)]
        data: Data,
    },
}

/// Selection, order and format of log rows.
#[derive(ClapArgs, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Sort by this value
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<Order>,
    /// Reverse the sort order
    #[arg(long)]
    pub(crate) reverse: bool,
    /// At most N rows [default: list 1000, clusters 100; all with --json, --csv or restore]
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Skip the first N rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV for spreadsheets
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) data: DataDirs,
}

impl ListArgs {
    /// Returns the filter, the order, and whether to reverse it.
    pub(crate) const fn select(&self) -> (&Filter, Option<Order>, bool) {
        (&self.filter, self.sort, self.reverse)
    }
}

/// Arguments of `search`.
#[derive(ClapArgs, Debug)]
pub(crate) struct SearchArgs {
    /// Words that a page must contain; quote operators for the shell: '"a phrase" -without', 'one OR other'.
    /// title:WORD, text:WORD and other:WORD search one field: title, main text, other visible text
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// Only pages of this host, such as www.a.example or a.example:8080
    #[arg(long, help_heading = "Filter")]
    pub(crate) host: Option<String>,
    /// Only pages of this site and its hosts, such as a.example
    #[arg(long, help_heading = "Filter")]
    pub(crate) site: Option<String>,
    /// Only this language, such as zh
    #[arg(long, value_name = "CODE", help_heading = "Filter")]
    pub(crate) language: Option<String>,
    /// Only pages fetched from this time on, such as 2026-11-20 or 2026-11-20T19:00:00Z
    #[arg(long, value_name = "TIME", help_heading = "Filter")]
    pub(crate) after: Option<String>,
    /// Show at most N results [default: 10, with --json all]
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Skip the first N results
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: usize,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: DataDirs,
}

/// Arguments of `restore`.
#[derive(ClapArgs, Debug)]
pub(crate) struct RestoreArgs {
    /// Ids in the list, or URLs; without any, the pages that the filter selects
    pub(crate) pages: Vec<String>,
    /// Restore all discarded pages
    #[arg(long)]
    pub(crate) all: bool,
    /// Print what would be restored, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Discard restored pages again
    #[arg(long)]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// Arguments of `recheck`.
#[derive(ClapArgs, Debug)]
pub(crate) struct RecheckArgs {
    /// Largest Hamming distance of near-duplicates, 0 to 7
    #[arg(long, value_name = "K")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity of near-duplicates on different hosts, 0 to 1
    #[arg(long, value_name = "S")]
    pub(crate) similarity: Option<f64>,
    /// Smallest similarity of near-duplicates on one host, 0 to 1
    #[arg(long, value_name = "S")]
    pub(crate) similarity_same_host: Option<f64>,
    /// Apply the changes, and use these thresholds from now on
    #[arg(long)]
    pub(crate) apply: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// The format of exported pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line
    Jsonl,
    /// A CSV table for spreadsheets
    Csv,
}

//! `crawl --seeds FILE`.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use url::Url;

use super::explain_url;
use crate::args::{Common, CrawlArgs};
use crate::cluster;
use crate::exit::{USAGE, code_of, coded};
use crate::metrics;
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::summary::{code_of as code_of_summary, print_summary};
use hapax_crawl::{Crawl, Event, LatestFigures, Summary};
use hapax_data::inputs::{parse_seeds, read_seeds};
use hapax_data::{DataDir, SkipReason};
use hapax_url::UrlLimits;

pub(super) fn with_file(flags: Settings, common: &Common) -> Result<Settings> {
    match &common.config {
        Some(path) => flags.over(Settings::read(path)?),
        None => Ok(flags),
    }
}

/// Checks the arguments, opens the data directory and calls `runs`: [`once`], or the runs of a watch.
pub(super) fn run(
    args: &CrawlArgs,
    common: &Common,
    runs: fn(&Job<'_>, DataDir) -> Result<u8>,
) -> Result<u8> {
    let settings = with_file(args.settings.clone(), common)?;
    let kept = match args.fresh || args.forget_flags {
        true => Settings::default(),
        false => crate::data::saved(&args.data.data)?.unwrap_or_default().settings,
    };
    let held = settings.held_from(&kept)?;
    let limits = settings.clone().over(kept.clone())?.url_limits()?;
    let seeds = seeds(args, &limits)?;
    if seeds.is_none() && !args.data.data.join("crawl.toml").exists() {
        return Err(coded(
            USAGE,
            "no seeds: give --seeds FILE, a file with one URL a line, or a URL: crawl https://example.org/",
        ));
    }
    if args.fresh && seeds.is_none() {
        return Err(coded(USAGE, "--fresh starts a new crawl and needs seeds: add --seeds FILE"));
    }
    // Report invalid arguments before touching the disk.
    settings.check(seeds.as_deref().unwrap_or_default())?;
    let merged = settings.clone().over(kept.clone())?;
    let min = merged.revisits()?.min;
    let is_shared = merged.cluster.cluster.is_some_and(|address| !address.is_empty());
    if args.watch && is_shared {
        return Err(coded(
            USAGE,
            "--watch does not work with --cluster: no worker has the schedule of all pages",
        ));
    }
    if args.dry_run {
        let known = (!args.fresh).then_some(args.data.data.as_path());
        let saved = known.map(crate::data::saved).transpose()?.flatten().unwrap_or_default();
        let seeds = seeds.unwrap_or_else(|| {
            saved.seeds.iter().filter_map(|seed| Url::parse(seed).ok()).collect()
        });
        return explain_url::dry_run(&seeds, settings.over(kept)?, known, args.recrawl);
    }
    let data = DataDir::open(&args.data.data)?;
    if args.fresh {
        if !data.is_empty()? && !args.yes {
            return Err(coded(
                USAGE,
                format!(
                    "--fresh would delete the crawl in {}. Add --yes to confirm",
                    data.root().display()
                ),
            ));
        }
        data.clear()?;
    }
    let run = Run {
        recrawl: args.recrawl,
        due: args.due,
        retry: args.retry.clone(),
        metrics: args.metrics,
        forget_flags: args.forget_flags,
    };
    let held = held
        .map(|held| format!("flags of earlier runs that hold: {held} (--forget-flags drops them)"));
    if !common.quiet
        && let Some(held) = &held
    {
        output::unless_closed(writeln!(std::io::stderr(), "{held}"))?;
    }
    let seeds = seeds.unwrap_or_default();
    runs(&Job { seeds, flags: settings, run, common, held, min }, data)
}

/// Runs the crawl once, and prints its summary.
pub(super) fn once(job: &Job<'_>, data: DataDir) -> Result<u8> {
    let session = Session::new()?;
    let summary = job.resume(data, job.run.clone(), &session);
    session.close();
    let summary = summary?;
    job.print(&summary)?;
    Ok(code_of_summary(&summary))
}

/// A crawl that may have several runs.
pub(super) struct Job<'a> {
    seeds: Vec<Url>,
    flags: Settings,
    pub(super) run: Run,
    pub(super) common: &'a Common,
    /// Flags of earlier runs, in words.
    held: Option<String>,
    /// Shortest time between two visits of a page.
    pub(super) min: Duration,
}

impl Job<'_> {
    /// Runs once.
    pub(super) fn resume(&self, data: DataDir, run: Run, session: &Session) -> Result<Summary> {
        resume_in(session, data, self.seeds.clone(), self.flags.clone(), run, self.common)
    }

    /// Prints the summary, unless --quiet.
    pub(super) fn print(&self, summary: &Summary) -> Result<()> {
        if !self.common.quiet {
            output::unless_closed(print_summary(summary, false))?;
            if let Some(held) = &self.held {
                output::unless_closed(writeln!(std::io::stdout(), "\n  {held}"))?;
            }
        }
        Ok(())
    }
}

/// The runtime and the signals of all runs of a process: a signal between two runs must not be lost.
pub(super) struct Session {
    runtime: tokio::runtime::Runtime,
    /// Number of signals.
    signals: tokio::sync::watch::Receiver<u32>,
    /// What `--metrics` shows.
    figures: LatestFigures,
}

impl Session {
    pub(super) fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let mut signals = runtime.block_on(async { Signals::new() })?;
        let (sender, receiver) = tokio::sync::watch::channel(0);
        runtime.spawn(async move {
            loop {
                signals.recv().await;
                sender.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { runtime, signals: receiver, figures: LatestFigures::default() })
    }

    /// Ends the runtime. Look-ups of names may not end by themselves.
    pub(super) fn close(self) {
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }

    /// Waits. Returns whether a signal has arrived.
    pub(super) fn sleep(&self, time: Duration) -> bool {
        let mut signals = self.signals.clone();
        self.runtime.block_on(async move {
            let signalled = signals.wait_for(|count| *count > 0);
            tokio::time::timeout(time, signalled).await.is_ok()
        })
    }
}

/// The seeds of the command line: of the file, and URLs. `None` if there are none.
fn seeds(args: &CrawlArgs, limits: &UrlLimits) -> Result<Option<Vec<Url>>> {
    let mut seeds = None;
    let mut lines = args.seed_url.join("\n");
    match args.seeds.as_deref() {
        Some(path)
            if path.to_str().is_some_and(|text| {
                text.starts_with("http://") || text.starts_with("https://")
            }) =>
        {
            lines = format!("{}\n{lines}", path.display());
        }
        Some(path) => seeds = Some(read_seeds(path, limits)?),
        None => {}
    }
    if !lines.is_empty() {
        seeds.get_or_insert_default().extend(parse_seeds(&lines, "command line", limits)?);
    }
    Ok(seeds)
}

/// Options of one run, which are not saved.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) recrawl: bool,
    /// Whether a recrawl requests only due pages.
    pub(super) due: bool,
    /// Reasons for which skipped URLs are requested again.
    pub(super) retry: Vec<SkipReason>,
    /// The address of the metrics server.
    pub(super) metrics: Option<std::net::SocketAddr>,
    /// Whether to ignore the settings of earlier runs.
    pub(super) forget_flags: bool,
}

/// Crawls in an open data directory, with the settings and seeds of earlier runs.
pub(super) fn resume(
    data: DataDir,
    seeds: Vec<Url>,
    flags: Settings,
    run: Run,
    common: &Common,
) -> Result<Summary> {
    let session = Session::new()?;
    let summary = resume_in(&session, data, seeds, flags, run, common);
    session.close();
    summary
}

fn resume_in(
    session: &Session,
    data: DataDir,
    seeds: Vec<Url>,
    flags: Settings,
    run: Run,
    common: &Common,
) -> Result<Summary> {
    let root = data.root().to_owned();
    let saved = crate::data::saved(&root)?;
    let is_first = saved.is_none();
    let saved = saved.unwrap_or_default();
    let kept = if run.forget_flags { Settings::default() } else { saved.settings };
    let mut settings = flags.over(kept)?;
    // An empty address resets the saved one.
    settings.cluster.cluster = settings.cluster.cluster.filter(|address| !address.is_empty());
    crate::data::protect(&data, &settings)?;
    let mut all: Vec<Url> = saved.seeds.iter().filter_map(|seed| Url::parse(seed).ok()).collect();
    let mut known: HashSet<String> = all.iter().map(Url::to_string).collect();
    all.extend(seeds.into_iter().filter(|seed| known.insert(seed.as_str().to_owned())));
    ask_for_contact(&all, &mut settings, common.quiet);
    let names: Vec<String> = all.iter().map(Url::to_string).collect();
    if is_first {
        // Later settings are saved when the stores have accepted them; a kill before that leaves these.
        crate::data::save(&root, names.clone(), &settings)?;
    }
    let progress = !common.quiet && !common.no_progress && std::io::stderr().is_terminal();
    let done = crawl(session, (data, all), &settings, run, progress, move |root, settings| {
        // Settings that the stores refuse are not saved.
        crate::data::save(root, names.clone(), settings)
    });
    let begun = root.join("summary.json").exists();
    if is_first && !begun && done.as_ref().is_err_and(|error| code_of(error) == USAGE) {
        crate::data::forget_settings(&root)?;
    }
    done
}

/// Builds the crawl and runs it until it ends or a signal arrives.
fn crawl(
    session: &Session,
    (data, seeds): (DataDir, Vec<Url>),
    settings: &Settings,
    run: Run,
    progress: bool,
    begun: impl Fn(&Path, &Settings) -> Result<()> + Send + 'static,
) -> Result<Summary> {
    let runtime = &session.runtime;
    let root = data.root().to_owned();
    let config = settings.config()?;
    let joined = cluster::join(&data, settings, &config.politeness)?;
    if (run.recrawl || !run.retry.is_empty()) && joined.is_some() {
        return Err(coded(USAGE, "--recrawl and --retry do not work with --cluster yet"));
    }
    tracing::info!("crawling {} into {}", counted(seeds.len() as u64, "seed"), root.display());
    let own = settings.clone();
    let builder = Crawl::builder(&root).data(data).seeds(seeds).config(config).recrawl(run.recrawl);
    let builder = builder.due(run.due);
    let mut builder = builder.retry(run.retry).observer(move |event| match event {
        Event::Begun => begun(&root, &own),
        _ => Ok(()),
    });
    if let Some((frontier, verdicts)) = joined {
        builder = builder.shared(frontier, verdicts);
    }
    let crawl = builder.build()?;
    if let Some(address) = run.metrics
        && session.figures.begin(crawl.figures())
    {
        metrics::serve(runtime, address, session.figures.clone())?;
    }
    let progress = Progress::start(progress, crawl.figures());
    let handle = crawl.stop_handle();
    let done = runtime.block_on(async {
        let mut signals = session.signals.clone();
        let shutdown = async move {
            // An error means that the process ends.
            let _ = signals.wait_for(|count| *count > 0).await;
            // A second signal stops at once.
            tokio::spawn(async move {
                if signals.wait_for(|count| *count > 1).await.is_ok() {
                    handle.stop_now();
                }
            });
        };
        Ok(crawl.run_until(shutdown).await?)
    });
    progress.finish();
    session.figures.end();
    done
}

/// Asks once for the contact address that hosts see, if seeds are public.
fn ask_for_contact(seeds: &[Url], settings: &mut Settings, quiet: bool) {
    let public = seeds.iter().any(|seed| {
        let host = seed.host_str().unwrap_or_default();
        matches!(seed.host(), Some(url::Host::Domain(_)))
            && host.contains('.')
            && !host.ends_with(".localhost")
    });
    if !public || settings.politeness.contact.is_some() || settings.politeness.user_agent.is_some()
    {
        return;
    }
    if quiet || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        tracing::warn!(
            "no --contact: webmasters cannot ask about this crawl; give a URL or a mail address"
        );
        return;
    }
    let mut answer = String::new();
    eprint!(
        "Whom may webmasters ask about this crawl? A URL or mail address for the User-Agent, or Enter for none: "
    );
    if std::io::stdin().read_line(&mut answer).is_ok() {
        // An empty answer is saved too, so the question is asked once.
        let answer: String = answer.trim().chars().filter(|c| !c.is_control()).collect();
        settings.politeness.contact = Some(answer);
    }
}

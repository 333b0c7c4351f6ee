//! The scheduler: leases to tasks, answers to the commit thread, until nothing is left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hapax_fetch::Fetcher;
use hapax_frontier::{DiskFrontier, Frontier, Next};
use hapax_url::normalize;
use tokio::sync::{Notify, Semaphore, mpsc};
use url::Url;

use super::commit::{Committer, Parts};
use super::dropped::Dropped;
use super::feeds::{Feeds, OpenClaims};
use super::fetch::{Message, Shared, work_or_say};
use super::lanes::Lanes;
use super::missing::MissingPages;
use super::patterns::Patterns;
use super::progress::Progress;
use super::received::Received;
use super::robots::HostRules;
use super::rules::{Rules, RunLimits};
use super::shared::join;
use super::signals::Signals;
use super::stats::Stats;
use super::summary::{Stop, Summary};
use super::writer::Writer;
use crate::exit::{USAGE, WRITE, coded};
use crate::output::counted;
use crate::settings::Settings;
use hapax_data::DataDir;
use hapax_data::is_looking;

/// One crawl.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) seeds: Vec<Url>,
    pub(crate) settings: Settings,
    pub(crate) progress: bool,
    /// Look at every known page again.
    pub(crate) recrawl: bool,
    /// Where Prometheus asks.
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Scope, depth and patterns, and the seeds they hold for: where these are not those of the run
    /// before, what it refused may be admitted now.
    pub(crate) rules: String,
}

/// After a stop, requests in flight get this long to end.
const GRACE: Duration = Duration::from_secs(5);
/// Answers that wait for the commit thread, and KiB of pages and sitemaps among them: extraction goes on
/// while a group is made durable.
const QUEUE: usize = 1024;
/// While all hosts wait, limits of time and disk are looked at so often.
const LOOK_AROUND: Duration = Duration::from_secs(1);
pub(super) const QUEUE_KIB: u32 = 16 << 10;
/// KiB of large pages that are read at a time, for a tree takes ten times as much: at least, and for each
/// core. A page of more is the only large one.
const TREES_KIB: u32 = 4 << 10;
/// The same for others: the largest of them is read alone, on two cores.
const SMALL_TREES_KIB: u32 = 1 << 10;
const CORE_KIB: u32 = 512;

/// Whether a crawl by these settings can begin.
///
/// # Errors
/// The first setting that cannot be used, with what to write instead.
pub(crate) fn check_settings(settings: &Settings, seeds: &[Url]) -> Result<()> {
    #[cfg(not(feature = "cluster"))]
    if settings.cluster.as_deref().is_some_and(|address| !address.is_empty()) {
        return Err(coded(USAGE, super::shared::WITHOUT));
    }
    settings.policy()?;
    settings.recipe()?;
    settings.page_limits()?;
    settings.sitemap_limits()?;
    settings.politeness()?;
    if settings.cluster.as_deref().is_some_and(|address| !address.is_empty())
        && (settings.max_queued_per_host.is_some() || settings.max_queue.is_some())
    {
        let what = "--max-queued-per-host and --max-queue bound the queues of one data directory: leave them out with --cluster";
        return Err(coded(USAGE, what));
    }
    settings.patience()?;
    settings.dust()?;
    settings.redirects()?;
    Rules::new(settings, &[])?;
    RunLimits::new(settings, Path::new("."), &Arc::default(), None)?;
    Fetcher::new(settings.fetcher(settings.guard(seeds)?, seeds)?)
        .map_err(|error| coded(USAGE, error.to_string()))?;
    Ok(())
}

/// Crawls until nothing is left or something stops it. The summary is written in any case.
pub(crate) fn crawl(data: &DataDir, job: &Job) -> Result<Summary> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let settings = &job.settings;
    let politeness = settings.politeness()?;
    let reach = settings.fetcher(settings.guard(&job.seeds)?, &job.seeds)?;
    let received =
        |may_come: &dyn Fn(&str) -> bool| Received::open(data.received(), &reach, may_come);
    let mut begins_again = job.recrawl;
    let (frontier, verdicts, received): (Arc<dyn Frontier>, _, _) =
        match join(data, settings, &politeness)? {
            Some(shared) => {
                // After a kill its leases are others'.
                drop(received(&|_| false));
                (shared.frontier, Some(shared.verdicts), None)
            }
            None => {
                let disk = open_frontier(&data.frontier(), &politeness)?;
                // The same command goes on with what it began.
                begins_again &= !is_looking(&disk.payload()?, &job.rules)?;
                // What is not known yet was met in the group that the kill undid.
                let may_come = |url: &str| {
                    let known = disk.knows(url).unwrap_or(true);
                    !begins_again && (!known || disk.is_queued(url).unwrap_or(false))
                };
                let received = received(&may_come);
                (Arc::new(disk), None, Some(Arc::new(received)))
            }
        };
    if job.recrawl && verdicts.is_some() {
        return Err(coded(USAGE, "--recrawl and --cluster do not go together yet"));
    }
    let stats = Arc::new(Stats::default());
    let parts = Parts {
        recipe: settings.recipe()?,
        policy: settings.policy()?,
        warc: settings.warc(),
        index: settings.index(),
        skips: false,
        keep_duplicates: false,
        shared: settings.cluster.is_some(),
    };
    let mut committer =
        Committer::open(data, &parts, Some(Arc::clone(&frontier)), Arc::clone(&stats))?;
    // What the stores refuse is not what the next run should take up.
    crate::data::save(data, job.seeds.iter().map(Url::to_string).collect(), settings)?;
    if let Some(verdicts) = verdicts {
        committer.share(verdicts)?;
    }
    committer.received.clone_from(&received);
    committer.looking &= !begins_again;
    let fetcher = Fetcher::new(reach).map_err(|error| coded(USAGE, error.to_string()))?;
    if let Some(address) = job.metrics {
        super::metrics::serve(&runtime, address, Arc::clone(&stats), Arc::clone(&frontier))?;
    }
    let feeds = Arc::new(Feeds::read(&*frontier, committer.secret())?);
    feeds.follows_none.store(job.recrawl || committer.recrawl, Relaxed);
    let links_only = settings.links_only == Some(true);
    let rules = Rules::new(settings, &job.seeds)?;
    let mut seeds: BTreeSet<Url> = job.seeds.iter().cloned().collect();
    for moved in committer.moved_seeds.iter().filter_map(|url| Url::parse(url).ok()) {
        rules.seed_moved(&moved);
        seeds.extend(normalize(&moved, &settings.url_limits()?));
    }
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    let trees_kib = TREES_KIB.max(cores.saturating_mul(CORE_KIB));
    let small_trees_kib = SMALL_TREES_KIB.max(cores.saturating_mul(CORE_KIB));
    let shared = Arc::new(Shared {
        fetcher,
        frontier: Arc::clone(&frontier),
        stats: Arc::clone(&stats),
        agent: settings.agent().1,
        page_limits: settings.page_limits()?,
        sitemap_limits: settings.sitemap_limits()?,
        url_limits: settings.url_limits()?,
        recipe: settings.recipe()?,
        ignore_robots: settings.ignore_robots(),
        delay: settings.delay()?,
        patience: settings.patience()?,
        retry_wait: settings.delay()?.clamp(Duration::from_millis(100), Duration::from_secs(10)),
        rules: HostRules::default(),
        taken: rules.clone(),
        feeds: Arc::clone(&feeds),
        forgotten: committer.decisions().all_forgotten(),
        received: received.clone(),
        sitemaps: settings.no_sitemaps != Some(true),
        cookies: settings.cookies == Some(true),
        links_only,
        recrawl: job.recrawl || committer.recrawl,
        max_pages_per_host: settings.max_pages_per_host.unwrap_or(u64::MAX),
        extractors: Arc::new(Semaphore::new(cores as usize)),
        large: Arc::new(Semaphore::new((cores as usize - 1).max(1))),
        room: Arc::new(Semaphore::new(QUEUE_KIB as usize)),
        trees: Arc::new(Semaphore::new(trees_kib as usize)),
        trees_kib,
        small_trees: Arc::new(Semaphore::new(small_trees_kib as usize)),
        small_trees_kib,
    });
    let control = Arc::new(Control::default());
    let (answers, inbox) = mpsc::channel(QUEUE);
    let progress = Progress::start(job.progress, Arc::clone(&stats), Arc::clone(&frontier));

    let summary_root = data.root().to_owned();
    let many = counted(job.seeds.len() as u64, "seed");
    tracing::info!("crawling {many} into {}", summary_root.display());
    let mut writer = Writer {
        committer,
        rules,
        control: Arc::clone(&control),
        frontier: Arc::clone(&frontier),
        stats: Arc::clone(&stats),
        root: summary_root.clone(),
        seeds,
        links_only,
        max_redirects: settings.redirects()?,
        patterns: Patterns::new(settings.dust()?),
        missing: MissingPages::default(),
        feeds: Arc::clone(&feeds),
        claims: OpenClaims::default(),
        dropped: Dropped::default(),
        archive: settings.warc(),
        page_limits: settings.page_limits()?,
        runtime: runtime.handle().clone(),
        looked: Instant::now(),
        told: Instant::now(),
    };
    writer.seed(&job.seeds)?;
    writer.remember_claims()?;
    writer.remember_dropped()?;
    writer.reconsider(&job.rules)?;
    let mut looks_again = 0;
    if job.recrawl {
        writer.renew_damaged()?;
    }
    if begins_again {
        // First: once the recrawl is committed as begun, they are not looked for again.
        writer.request_spared()?;
        writer.request_dropped()?;
        looks_again = writer.again()?;
    } else if job.recrawl {
        writer.committer.looked_at_before = writer.stats.looked_at();
        tracing::info!("going on with the recrawl that was stopped");
    }
    let before = writer.committer.recrawl.then_some(writer.committer.looked_at_before);
    let limits = RunLimits::new(settings, data.root(), &stats, before)?;
    let commit_thread = std::thread::Builder::new()
        .name("commit".into())
        .spawn(move || writer.run(inbox))
        .context("the commit thread")?;
    let stop = runtime.block_on(schedule(&shared, &control, &limits, answers, settings));
    let joined = commit_thread.join();
    progress.finish();
    runtime.shutdown_timeout(Duration::from_secs(1));
    let defect = "the commit thread panicked: a defect of this program, please report it";
    let elapsed = joined.map_err(|_| coded(WRITE, defect))?;
    let (elapsed, seed_fetched, failure) = match elapsed {
        Ok((elapsed, seed_fetched)) => (elapsed, seed_fetched, None),
        Err(error) => (Duration::ZERO, None, Some(error)),
    };
    let stop = match (stop, &failure) {
        (stop, None) => stop?,
        (_, Some(_)) => Stop::Write,
    };
    let stop = match stop {
        Stop::Complete if stats.dropped_hosts.load(Relaxed) > 0 => Stop::Queue,
        Stop::Complete if stats.full_hosts.load(Relaxed) > 0 => Stop::QueueFull,
        stop => stop,
    };
    let mut summary = Summary::new(&stats, frontier.counts(), stop, elapsed, &summary_root);
    summary.shared = settings.cluster.is_some();
    summary.unreached =
        looks_again > 0 && stats.reached.load(Relaxed) == 0 && stop == Stop::Complete;
    if !summary.shared {
        summary.name_hosts(&stats, &*frontier);
        // Unless the job failed: then it says why.
        if let Some(seed_fetched) = seed_fetched {
            summary.seed_missed = !seed_fetched && stop == Stop::Complete;
        }
    }
    tracing::info!(
        "{}: {} fetched, {} indexed, {} discarded",
        summary.stopped.as_deref().unwrap_or("complete"),
        summary.pages.fetched,
        summary.pages.indexed,
        summary.pages.discarded()
    );
    match failure {
        // On a full disk the summary may not fit either; the error itself is what matters.
        Some(error) => {
            let _ = data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?);
            Err(error)
        }
        None => {
            if let Some(received) = received.filter(|_| frontier.counts().queued == 0) {
                received.clear();
            }
            data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?;
            Ok(summary)
        }
    }
}

/// What scheduler and commit thread tell each other.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// Leases handed out and not yet finished by the commit thread.
    pub(super) active: AtomicU64,
    /// New links, finished leases or a commit: look again.
    pub(super) wake: Notify,
    /// The run ends: what takes long breaks off.
    pub(super) stops: AtomicBool,
    /// Hosts of which links were dropped, and can be found again in this run.
    pub(super) rereads: AtomicU64,
    /// The commit thread has failed.
    pub(super) failed: AtomicBool,
}

/// Looks at a frontier that somebody else has open, and how long the next one waits.
const LOOKS: u32 = 40;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Opens the queues. This process holds the data directory: who has them open only looks at them, for a moment
/// (`explain`, `inspect`).
fn open_frontier(folder: &Path, options: &hapax_frontier::Options) -> Result<DiskFrontier> {
    for _ in 1..LOOKS {
        match DiskFrontier::open(folder, options.clone()) {
            Err(hapax_frontier::Error::Locked(_)) => std::thread::sleep(LOOK_AGAIN),
            opened => return Ok(opened?),
        }
    }
    Ok(DiskFrontier::open(folder, options.clone())?)
}

/// Whether nothing is left that this run could fetch.
fn is_complete(shared: &Shared, control: &Control) -> bool {
    let counts = shared.frontier.counts();
    control.active.load(Relaxed) == 0
        && counts.queued <= counts.deferred
        && shared.feeds.open.load(Relaxed) == 0
        && control.rereads.load(Relaxed) == 0
}

async fn schedule(
    shared: &Arc<Shared>,
    control: &Arc<Control>,
    limits: &RunLimits,
    answers: mpsc::Sender<Message>,
    settings: &Settings,
) -> Result<Stop> {
    let lanes = Lanes::new(settings.concurrency.unwrap_or(64), &shared.patience, control);
    let mut signals = Signals::new()?;
    let mut tasks = tokio::task::JoinSet::new();
    let stop = loop {
        if control.failed.load(Relaxed) {
            break Stop::Write;
        }
        while tasks.try_join_next().is_some() {}
        let active = control.active.load(Relaxed);
        if let Some(stop) = limits.reached(active) {
            // Pages in flight may turn out to be no pages: only when none is left it is certain.
            if active == 0 || !matches!(stop, Stop::MaxPages) {
                let all = matches!(stop, Stop::MaxPages) && is_complete(shared, control);
                break if all { Stop::Complete } else { stop };
            }
        } else if let Some(place) = lanes.enter() {
            match shared.frontier.next(Instant::now())? {
                Next::Lease(lease) => {
                    control.active.fetch_add(1, Relaxed);
                    shared.stats.in_flight.fetch_add(1, Relaxed);
                    let (shared, answers) = (Arc::clone(shared), answers.clone());
                    tasks.spawn(async move {
                        let stats = Arc::clone(&shared.stats);
                        work_or_say(shared, *lease, answers, place).await;
                        stats.in_flight.fetch_sub(1, Relaxed);
                    });
                    continue;
                }
                Next::At(at) => {
                    // Not longer than the limits of time and disk are left alone.
                    let at = at.min(Instant::now() + LOOK_AROUND);
                    tokio::select! {
                        () = tokio::time::sleep_until(at.into()) => {}
                        () = control.wake.notified() => {}
                        () = signals.recv() => break Stop::Signal,
                    }
                    continue;
                }
                Next::Idle if active == 0 && is_complete(shared, control) => break Stop::Complete,
                Next::Idle => {}
            }
        }
        tokio::select! {
            () = control.wake.notified() => {}
            Some(_) = tasks.join_next() => {}
            // The commit thread commits by age; nothing else needs this tick.
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
            () = signals.recv() => break Stop::Signal,
        }
    };
    control.stops.store(true, Relaxed);
    drop(answers);
    if stop != Stop::Complete && stop != Stop::Write {
        let ended = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(GRACE) => {}
            () = signals.recv() => {}
        }
    }
    // What is still under way goes back to its queue: it was never finished.
    tasks.abort_all();
    while tasks.join_next().await.is_some() {}
    Ok(stop)
}

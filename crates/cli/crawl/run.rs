//! The scheduler: leases to tasks, answers to the commit thread, until nothing is left.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hapax_fetch::{AddressGuard, Fetcher, Limits, Options};
use hapax_frontier::{Entry, Frontier, Next, Rejected, Scope, ScopeKind, UrlLimits, normalize};
use regex::RegexSet;
use tokio::sync::{Notify, Semaphore, mpsc};
use url::Url;

use super::commit::{Committer, Parts};
use super::fetch::{Message, Shared, work};
use super::progress::Progress;
use super::stats::Stats;
use super::summary::{Stop, Summary};
use crate::data::DataDir;
use crate::exit::{USAGE, coded};
use crate::settings::{ScopeName, Settings, parse_duration, parse_size};

/// One crawl.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) seeds: Vec<Url>,
    pub(crate) settings: Settings,
    pub(crate) progress: bool,
}

/// Redirects in a row.
const MAX_REDIRECTS: u8 = 5;
/// After a stop, requests in flight get this long to end.
const GRACE: Duration = Duration::from_secs(5);
/// Answers that wait for the commit thread.
const QUEUE: usize = 64;

/// Crawls until nothing is left or something stops it. The summary is written in any case.
pub(crate) fn crawl(data: &DataDir, job: &Job) -> Result<Summary> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let settings = &job.settings;
    let frontier = Arc::new(Frontier::open(
        &data.frontier(),
        hapax_frontier::Options {
            delay: settings.delay()?,
            per_host: settings.per_host.unwrap_or(1).max(1),
            ..hapax_frontier::Options::default()
        },
    )?);
    let stats = Arc::new(Stats::default());
    let parts = Parts {
        recipe: settings.recipe()?,
        policy: settings.policy()?,
        warc: !settings.no_warc,
        index: !settings.no_index,
        keep_duplicates: false,
    };
    let committer = Committer::open(data, &parts, Some(Arc::clone(&frontier)), Arc::clone(&stats))?;
    let mut guard = AddressGuard::default();
    for cidr in &settings.allow_private {
        let net = cidr.parse().map_err(|_| {
            coded(
                USAGE,
                format!("--allow-private {cidr:?} is no network: write it like 10.0.0.0/8"),
            )
        })?;
        guard.allow.push(net);
    }
    job.seeds.iter().for_each(|seed| guard.allow_seed(seed));
    let (user_agent, agent) = settings.agent();
    let fetcher = Fetcher::new(Options { user_agent, limits: Limits::default(), guard })
        .map_err(|error| coded(USAGE, error.to_string()))?;
    let shared = Arc::new(Shared {
        fetcher,
        frontier: Arc::clone(&frontier),
        stats: Arc::clone(&stats),
        agent,
        recipe: settings.recipe()?,
        ignore_robots: settings.ignore_robots.clone(),
        retry_wait: settings.delay()?.clamp(Duration::from_millis(100), Duration::from_secs(10)),
        robots: std::sync::Mutex::default(),
        extractors: Arc::new(Semaphore::new(
            std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
        )),
    });
    let control = Arc::new(Control::default());
    let mut rules = Rules::new(job)?;
    for moved in committer.moved_seeds.iter().filter_map(|url| Url::parse(url).ok()) {
        rules.scope.add(&moved);
    }
    let limits = RunLimits::new(settings, &stats)?;
    let (answers, inbox) = mpsc::channel(QUEUE);
    let progress = Progress::start(job.progress, Arc::clone(&stats), Arc::clone(&frontier));

    let summary_root = data.root().to_owned();
    let mut writer = Writer {
        committer,
        rules,
        control: Arc::clone(&control),
        frontier: Arc::clone(&frontier),
        stats: Arc::clone(&stats),
        root: summary_root.clone(),
    };
    writer.seed(&job.seeds)?;
    let commit_thread = std::thread::Builder::new()
        .name("commit".into())
        .spawn(move || writer.run(inbox))
        .context("the commit thread")?;
    let stop = runtime.block_on(schedule(&shared, &control, &limits, answers, settings));
    let joined = commit_thread.join();
    progress.finish();
    runtime.shutdown_timeout(Duration::from_secs(1));
    let elapsed = joined.map_err(|_| anyhow::anyhow!("the commit thread panicked"))?;
    let (elapsed, failure) = match elapsed {
        Ok(elapsed) => (elapsed, None),
        Err(error) => (Duration::ZERO, Some(error)),
    };
    let stop = match (stop, &failure) {
        (stop, None) => stop?,
        (_, Some(_)) => Stop::Write,
    };
    let summary = Summary::new(&stats, frontier.counts(), stop, elapsed, &summary_root);
    match failure {
        // On a full disk the summary may not fit either; the error itself is what matters.
        Some(error) => {
            let _ = data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?);
            Err(error)
        }
        None => {
            data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?;
            Ok(summary)
        }
    }
}

/// What scheduler and commit thread tell each other.
#[derive(Debug, Default)]
struct Control {
    /// Leases handed out and not yet finished by the commit thread.
    active: AtomicU64,
    /// New links, finished leases or a commit: look again.
    wake: Notify,
    /// The commit thread has failed.
    failed: AtomicBool,
}

/// Which URLs are taken.
#[derive(Debug)]
struct Rules {
    scope: Scope,
    include: Option<RegexSet>,
    exclude: RegexSet,
    max_depth: u16,
    limits: UrlLimits,
}

impl Rules {
    fn new(job: &Job) -> Result<Self> {
        let settings = &job.settings;
        let kind = match settings.scope.unwrap_or(ScopeName::Host) {
            ScopeName::Host => ScopeKind::Host,
            ScopeName::Domain => ScopeKind::Domain,
            ScopeName::Prefix => ScopeKind::Prefix,
            ScopeName::Any => ScopeKind::Any,
        };
        let set = |name: &str, list: &[String]| {
            RegexSet::new(list).map_err(|error| coded(USAGE, format!("--{name}: {error}")))
        };
        let include = set("include", &settings.include)?;
        Ok(Self {
            scope: Scope::new(kind, &job.seeds),
            include: (!settings.include.is_empty()).then_some(include),
            exclude: set("exclude", &settings.exclude)?,
            max_depth: settings.max_depth.unwrap_or(u16::MAX),
            limits: UrlLimits::default(),
        })
    }

    /// The normal form of a URL that belongs to the crawl, or the reason why it does not. `None`
    /// for what is no web address at all.
    fn admit(&self, url: &Url, depth: u16) -> Option<Result<Url, (Url, &'static str, String)>> {
        let normal = match normalize(url, &self.limits) {
            Ok(normal) => normal,
            Err(Rejected::Scheme) => return None,
            Err(Rejected::Trap(what)) => return Some(Err((url.clone(), "trap", what.to_owned()))),
        };
        let reason = if !self.scope.contains(&normal) {
            "scope"
        } else if depth > self.max_depth {
            "depth"
        } else if self.include.as_ref().is_some_and(|set| !set.is_match(normal.as_str())) {
            "include"
        } else if self.exclude.is_match(normal.as_str()) {
            "exclude"
        } else {
            return Some(Ok(normal));
        };
        Some(Err((normal, reason, String::new())))
    }
}

/// The commit thread.
#[derive(Debug)]
struct Writer {
    committer: Committer,
    rules: Rules,
    control: Arc<Control>,
    frontier: Arc<Frontier>,
    stats: Arc<Stats>,
    root: PathBuf,
}

impl Writer {
    /// Queues the seeds and makes them durable, so that a crash at once can be resumed.
    fn seed(&mut self, seeds: &[Url]) -> Result<()> {
        for seed in seeds {
            self.frontier.push(Entry { url: seed.clone(), depth: 0, hops: 0 });
        }
        self.committer.commit(false)?;
        self.save_summary()
    }

    /// What a reader finds while the crawl runs, or after it was killed.
    fn save_summary(&self) -> Result<()> {
        let (counts, elapsed) = (self.frontier.counts(), self.committer.elapsed());
        let summary = Summary::new(&self.stats, counts, Stop::Running, elapsed, &self.root);
        crate::data::replace(&self.root, "summary.json", &serde_json::to_vec_pretty(&summary)?)
    }

    /// Works until all senders are gone; returns the time spent on the data directory.
    fn run(mut self, mut inbox: mpsc::Receiver<Message>) -> Result<Duration> {
        let control = Arc::clone(&self.control);
        let result = self.receive(&mut inbox).and_then(|()| {
            let counts = self.frontier.counts();
            self.committer.commit(counts.queued == counts.deferred)?;
            let elapsed = self.committer.elapsed();
            self.committer.close()?;
            Ok(elapsed)
        });
        if result.is_err() {
            control.failed.store(true, Relaxed);
            inbox.close();
        }
        control.wake.notify_one();
        result
    }

    fn receive(&mut self, inbox: &mut mpsc::Receiver<Message>) -> Result<()> {
        loop {
            let message = match inbox.try_recv() {
                Ok(message) => message,
                Err(mpsc::error::TryRecvError::Disconnected) => return Ok(()),
                Err(mpsc::error::TryRecvError::Empty) => {
                    // A quiet moment: what is old enough becomes durable.
                    if self.committer.maybe_commit()? || self.idle_commit()? {
                        self.save_summary()?;
                        self.control.wake.notify_one();
                        continue;
                    }
                    match inbox.blocking_recv() {
                        Some(message) => message,
                        None => return Ok(()),
                    }
                }
            };
            self.take(message)?;
            self.control.active.fetch_sub(1, Relaxed);
            if self.committer.maybe_commit()? {
                self.save_summary()?;
            }
            self.control.wake.notify_one();
        }
    }

    /// Queues that went to disk can be read back only after a commit.
    fn idle_commit(&mut self) -> Result<bool> {
        let idle = self.control.active.load(Relaxed) == 0 && self.frontier.is_dirty();
        if idle {
            self.committer.commit(false)?;
        }
        Ok(idle)
    }

    fn take(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Again => Ok(()),
            Message::Skip { lease, reason, detail } => {
                self.committer.skip(lease.entry.url.as_str(), reason, &detail)?;
                self.committer.finish(Some(&lease));
                Ok(())
            }
            Message::Defer { lease, reason, detail } => {
                self.frontier.defer(&lease, Instant::now());
                self.committer.skip(lease.entry.url.as_str(), reason, &detail)
            }
            Message::Redirect { lease, target } => {
                let entry = lease.entry.clone();
                self.follow(&entry, &target)?;
                self.committer.alias(&lease, &target)
            }
            Message::Page(page) => self.page(*page),
        }
    }

    fn page(&mut self, page: super::page::PageWork) -> Result<()> {
        let Some(lease) = page.lease.as_ref() else { return Ok(()) };
        let entry = lease.entry.clone();
        if let Some(target) = page.document.refresh.clone().filter(|target| {
            normalize(target, &self.rules.limits).is_ok_and(|target| target != page.url)
        }) {
            // A stub that leads on at once is a redirect, whatever its status.
            self.follow(&entry, &target)?;
            return self.committer.alias(lease, &target);
        }
        if !page.document.robots.nofollow {
            let depth = entry.depth.saturating_add(1);
            for link in page.document.links.iter().filter(|link| !link.nofollow) {
                self.push(&link.url, depth, 0)?;
            }
        }
        if let Some(canonical) = &page.document.canonical {
            // The page that is named comes into the crawl, but only from within the scope.
            if let Some(Ok(url)) = self.rules.admit(canonical, entry.depth) {
                self.frontier.push(Entry { url, depth: entry.depth, hops: 0 });
            }
        }
        if page.document.robots.noindex {
            self.committer.skip(page.url.as_str(), "noindex", "the page asks not to be indexed")?;
            self.committer.unused(&page);
            return Ok(());
        }
        self.committer.page(&page).map(|_| ())
    }

    fn follow(&mut self, from: &Entry, target: &Url) -> Result<()> {
        let hops = from.hops.saturating_add(1);
        if hops > MAX_REDIRECTS {
            return self.committer.skip(
                target.as_str(),
                "redirects",
                &format!("more than {MAX_REDIRECTS} in a row"),
            );
        }
        if from.depth == 0 {
            // A seed that moved takes its scope along: http://x to https://www.x.
            self.rules.scope.add(target);
            let target = target.to_string();
            if !self.committer.moved_seeds.contains(&target) {
                self.committer.moved_seeds.push(target);
            }
        }
        self.push(target, from.depth, hops)
    }

    fn push(&mut self, url: &Url, depth: u16, hops: u8) -> Result<()> {
        match self.rules.admit(url, depth) {
            None => Ok(()),
            Some(Ok(url)) => {
                self.frontier.push(Entry { url, depth, hops });
                Ok(())
            }
            Some(Err((url, reason, detail))) => {
                // Each refused URL is logged once, however often it is linked.
                if self.frontier.mark(&url) {
                    self.committer.skip(url.as_str(), reason, &detail)?;
                }
                Ok(())
            }
        }
    }
}

/// Limits of the whole run.
#[derive(Debug)]
struct RunLimits {
    max_pages: u64,
    max_bytes: u64,
    deadline: Option<Instant>,
    stats: Arc<Stats>,
}

impl RunLimits {
    fn new(settings: &Settings, stats: &Arc<Stats>) -> Result<Self> {
        let time = settings.time_limit.as_deref().map(parse_duration).transpose()?;
        Ok(Self {
            max_pages: settings.max_pages.unwrap_or(u64::MAX),
            max_bytes: settings.max_bytes.as_deref().map_or(Ok(u64::MAX), parse_size)?,
            deadline: time.map(|time| Instant::now() + time),
            stats: Arc::clone(stats),
        })
    }

    fn reached(&self, active: u64) -> Option<Stop> {
        if self.stats.pages().fetched.saturating_add(active) >= self.max_pages {
            Some(Stop::MaxPages)
        } else if self.stats.received.load(Relaxed) >= self.max_bytes {
            Some(Stop::MaxBytes)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Stop::TimeLimit)
        } else {
            None
        }
    }
}

async fn schedule(
    shared: &Arc<Shared>,
    control: &Control,
    limits: &RunLimits,
    answers: mpsc::Sender<Message>,
    settings: &Settings,
) -> Result<Stop> {
    let permits = Arc::new(Semaphore::new(settings.concurrency.unwrap_or(64).max(1)));
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
                break stop;
            }
        } else if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            match shared.frontier.next(Instant::now())? {
                Next::Lease(lease) => {
                    control.active.fetch_add(1, Relaxed);
                    shared.stats.in_flight.fetch_add(1, Relaxed);
                    let (shared, answers) = (Arc::clone(shared), answers.clone());
                    tasks.spawn(async move {
                        let stats = Arc::clone(&shared.stats);
                        work(shared, *lease, answers).await;
                        stats.in_flight.fetch_sub(1, Relaxed);
                        drop(permit);
                    });
                    continue;
                }
                Next::At(at) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(at.into()) => {}
                        () = control.wake.notified() => {}
                        () = signals.recv() => break Stop::Signal,
                    }
                    continue;
                }
                Next::Idle => {
                    let counts = shared.frontier.counts();
                    if active == 0
                        && control.active.load(Relaxed) == 0
                        && counts.queued == counts.deferred
                    {
                        break Stop::Complete;
                    }
                }
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

/// Ctrl-C and SIGTERM.
struct Signals {
    #[cfg(unix)]
    term: tokio::signal::unix::Signal,
    #[cfg(unix)]
    int: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    #[cfg(unix)]
    async fn recv(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn new() -> Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn recv(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

//! [`Crawl`]: builds a crawl from its parts, and runs it.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};

use hapax_data::{DataDir, References, Rows, Runs, SkipReason};
use hapax_fetch::Fetcher;
use hapax_frontier::Frontier;
use hapax_url::normalize;
use hapax_warc::format_time;
use tokio::sync::{Semaphore, mpsc};
use url::Url;

use crate::ahead::Ahead;
use crate::blank::BlankPages;
use crate::commit::{Committer, Parts};
use crate::config::{Against, Config, Revisits};
use crate::context::{Room, Shared};
use crate::control::{Control, StopHandle};
use crate::dropped_links::Dropped;
use crate::error::{Error, Result};
use crate::event::{Event, Observed, Observer};
use crate::feeds::{Feeds, OpenClaims};
use crate::figures::Figures;
use crate::given::{Untried, lost_pages};
use crate::host_rules::HostRules;
use crate::identity::RulesIdentity;
use crate::message::Message;
use crate::origins::Origins;
use crate::patterns::Patterns;
use crate::reach::Fetch;
use crate::received::Received;
use crate::removed::RemovedParameters;
use crate::rules::Rules;
use crate::run_limits::RunLimits;
use crate::scheduler::schedule;
use crate::seeds::Seeds;
use crate::sink::{Sink, Sinks};
use crate::stats::Stats;
use crate::summary::{Stop, Summary};
use crate::url_rules::UrlRules;
use crate::verdicts::Verdicts;
use crate::visits::unix_now;
use crate::weight::ROOM_KIB;
use crate::writer::{CookieWalls, Ended, Writer, is_daily};

/// Capacity of the channel from tasks to the commit thread, in messages.
const QUEUE: usize = 1024;
/// KiB of large pages that are parsed at a time: this, or [`CORE_KIB`] for each core if that is more. A tree takes
/// about ten times the memory of its page. A page beyond the limit is parsed while no other large page is.
const TREES_KIB: u32 = 4 << 10;
/// The same limit for other pages. With two cores, the largest of them is parsed alone.
const SMALL_TREES_KIB: u32 = 1 << 10;
const CORE_KIB: u32 = 512;

/// Builds a [`Crawl`].
#[derive(Debug)]
pub struct CrawlBuilder {
    root: PathBuf,
    data: Option<DataDir>,
    seeds: Vec<Url>,
    config: Config,
    recrawl: bool,
    due: bool,
    retry: Vec<SkipReason>,
    observer: Observer,
    sinks: Sinks,
    fetch: Option<Arc<dyn Fetch>>,
    cluster: Option<(Arc<dyn Frontier>, Box<dyn Verdicts>)>,
}

impl CrawlBuilder {
    /// Adds a seed URL.
    #[must_use]
    pub fn seed(mut self, seed: Url) -> Self {
        self.seeds.push(seed);
        self
    }

    /// Adds seed URLs.
    #[must_use]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = Url>) -> Self {
        self.seeds.extend(seeds);
        self
    }

    /// Sets the URL or mail address that is sent with each request. It replaces the one of
    /// [`config`](Self::config), so call that first.
    #[must_use]
    pub fn contact(mut self, contact: impl Into<String>) -> Self {
        self.config.requests.contact = Some(contact.into());
        self
    }

    /// Sets the configuration.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        let contact = self.config.requests.contact.take();
        self.config = config;
        self.config.requests.contact = self.config.requests.contact.take().or(contact);
        self
    }

    /// Requests URLs again that were skipped for these reasons.
    #[must_use]
    pub fn retry(mut self, reasons: impl IntoIterator<Item = SkipReason>) -> Self {
        self.retry.extend(reasons);
        self
    }

    /// Requests every known page again, and URLs that were skipped for a reason that may be temporary. Continues an
    /// interrupted recrawl.
    #[must_use]
    pub const fn recrawl(mut self, recrawl: bool) -> Self {
        self.recrawl = recrawl;
        self
    }

    /// Limits a recrawl to the pages whose next visit is due, by [`Config::revisits`]. A page is removed when it is gone at
    /// two visits. The summary has the time of the next visit.
    #[must_use]
    pub const fn due(mut self, due: bool) -> Self {
        self.due = due;
        self.recrawl |= due;
        self
    }

    /// Sets the observer: the commit thread calls it with each [`Event`], in order, and decides nothing meanwhile.
    /// It returns `()` or a `Result`. An error or a panic stops the crawl, which can be resumed.
    #[must_use]
    pub fn observer<O: Observed>(
        mut self,
        observer: impl FnMut(&Event<'_>) -> O + Send + 'static,
    ) -> Self {
        self.observer = Observer::new(observer);
        self
    }

    /// Adds a sink for kept pages, beside the index.
    #[must_use]
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        self.sinks.add(Box::new(sink));
        self
    }

    /// Replaces the HTTP client that is configured by [`Requests`](crate::Requests).
    #[must_use]
    pub fn fetch(mut self, fetch: impl Fetch + 'static) -> Self {
        self.fetch = Some(Arc::new(fetch));
        self
    }

    /// Uses a data directory that this process has locked already.
    #[must_use]
    pub fn data(mut self, data: DataDir) -> Self {
        self.data = Some(data);
        self
    }

    /// Shares the crawl with other workers, through a common frontier and common verdicts.
    #[must_use]
    pub fn shared(mut self, frontier: Arc<dyn Frontier>, verdicts: Box<dyn Verdicts>) -> Self {
        self.cluster = Some((frontier, verdicts));
        self
    }

    /// Opens the data directory. An earlier crawl in it is resumed.
    ///
    /// # Errors
    /// [`Error::Config`] names the bad field. [`Error::Data`] says which file of the directory is locked, damaged or
    /// of another version.
    pub fn build(self) -> Result<Crawl> {
        self.config.validate()?;
        if self.recrawl && self.cluster.is_some() {
            return Err(Error::config("recrawl", "a crawl with a cluster cannot start a recrawl"));
        }
        if self.config.discard_parts && self.cluster.is_some() {
            let why =
                "it does not work with a cluster: a worker has only its own pages. Leave it out";
            return Err(Error::config("discard_parts", why));
        }
        if !self.config.against.stores.is_empty() && self.cluster.is_some() {
            return Err(Error::config("against", "it does not work with a cluster. Leave it out"));
        }
        let mut parts = self;
        let data = match parts.data.take() {
            Some(data) => data,
            None => DataDir::open(&parts.root)?,
        };
        if parts.config.is_personal() {
            data.protect()?;
        }
        Crawl::open(data, parts)
    }
}

/// A crawl, open and ready to run.
#[derive(Debug)]
pub struct Crawl {
    data: DataDir,
    config: Config,
    frontier: Arc<dyn Frontier>,
    stats: Arc<Stats>,
    shared: Arc<Shared>,
    control: Arc<Control>,
    writer: Writer,
    received: Option<Arc<Received>>,
    limits: RunLimits,
    handle: StopHandle,
    /// Number of pages that a recrawl queued when it began; 0 if none began in this run.
    looks_again: u64,
}

impl Crawl {
    /// Starts a builder for a crawl into the data directory `root`, which is created if it does not exist.
    pub fn builder(root: impl AsRef<Path>) -> CrawlBuilder {
        CrawlBuilder {
            root: root.as_ref().to_owned(),
            data: None,
            seeds: Vec::new(),
            config: Config::default(),
            recrawl: false,
            due: false,
            retry: Vec::new(),
            observer: Observer::default(),
            sinks: Sinks::default(),
            fetch: None,
            cluster: None,
        }
    }

    /// Returns a handle that stops the crawl from any thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.handle.clone()
    }

    /// Returns the counters of the crawl, for progress and metrics.
    pub fn figures(&self) -> Figures {
        Figures { stats: Arc::clone(&self.stats), frontier: Arc::clone(&self.frontier) }
    }

    fn open(data: DataDir, parts: CrawlBuilder) -> Result<Self> {
        let CrawlBuilder {
            seeds,
            config,
            recrawl,
            due,
            retry,
            observer,
            sinks,
            fetch,
            cluster,
            ..
        } = parts;
        let Against { stores, mark } = &config.against;
        let against = Arc::new(References::open(stores, config.decision.policy, *mark)?);
        let identity = RulesIdentity::of(&config, seeds.len());
        let client = client_of(&config, &seeds);
        let origins = Origins::open(&data, cluster, &config, &client, &identity, recrawl)?;
        let Origins { frontier, verdicts, received, begins_recrawl: begins_again } = origins;
        // Responses of a custom `Fetch` are not stored on disk.
        let received = received.filter(|_| fetch.is_none());
        let stats = Arc::new(Stats::default());
        let parts =
            Parts { shared: verdicts.is_some(), ..parts_of(&config, &against, !seeds.is_empty()) };
        let mut committer =
            Committer::open(&data, &parts, Some(Arc::clone(&frontier)), Arc::clone(&stats))?;
        (committer.observer, committer.sinks) = (observer, sinks);
        lose_no_page(&config, &identity, &committer, &seeds, data.root())?;
        // Not earlier: after an error of the stores there is no event.
        committer.observer.tell(&Event::Begun)?;
        verdicts.map_or(Ok(()), |verdicts| committer.share(verdicts))?;
        committer.received.clone_from(&received);
        committer.look.under_way &= !begins_again;
        let (fetch, http) = way(fetch, client)?;
        let feeds = feeds_of(&*frontier, &committer, recrawl)?;
        let rules = Rules::new(&config.scope, &seeds)?;
        let starts = starts(&seeds, &committer.run.moved_seeds, &rules, &config);
        committer.seeds = Seeds::read(&*frontier, &starts)?;
        let url_rules = Arc::new(UrlRules::read(&*frontier)?);
        let looks = recrawl || committer.look.on;
        committer.look.prepare(due, &config.revisits);
        // A recrawl of due pages reads sitemaps once a day.
        let all = !committer.look.due || is_daily(&*frontier, unix_now())?;
        let shared = shared_by_tasks(
            &config,
            (fetch, http),
            (&frontier, &stats, &feeds),
            (&rules, &url_rules),
            &committer,
            (looks, committer.look.due, looks && all),
        );
        let was_finished = committer.run.finished;
        let parts = (rules, url_rules, starts, feeds);
        let mut writer = writer_of(committer, parts, (&frontier, &stats), &config, data.root())?;
        let handle = StopHandle::default();
        writer.parts = config.discard_parts.then(|| handle.flag());
        writer.begin(&seeds, &identity, &retry)?;
        begin_run(&writer, recrawl, if recrawl { begins_again } else { was_finished })?;
        let due = due.then_some(&config.revisits);
        let looks_again = if recrawl { look_again(&mut writer, begins_again, due)? } else { 0 };
        let before = writer.committer.look.on.then_some(writer.committer.look.fetched_before);
        let limits = RunLimits::new(&config, data.root(), &stats, before);
        Ok(Self {
            limits,
            data,
            config,
            frontier,
            stats,
            shared,
            control: Arc::clone(&writer.control),
            writer,
            received,
            handle,
            looks_again,
        })
    }

    /// Crawls until nothing is left, a limit is reached or `shutdown` resolves. The crawl can be resumed later.
    /// Writes the summary in any case. Requests run on the runtime of the caller, everything else on separate
    /// threads.
    ///
    /// # Errors
    /// An error of the observer or of the data directory. Committed pages are safe.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<Summary> {
        let Self { data, config, frontier, stats, shared, control, writer, .. } = self;
        let (answers, inbox) = mpsc::channel::<Message>(QUEUE);
        let is_shared = writer.committer.is_shared();
        let commit_thread =
            std::thread::Builder::new().name("commit".into()).spawn(move || writer.run(inbox))?;
        let mut scheduled = std::pin::pin!(schedule(
            &shared,
            &control,
            &self.limits,
            answers,
            config.concurrency,
            &self.handle,
        ));
        let mut shutdown = std::pin::pin!(shutdown);
        let mut asked = false;
        let stop = self.handle.stopped_by(&mut scheduled, &mut shutdown, &mut asked).await;
        let mut joining = tokio::task::spawn_blocking(move || commit_thread.join());
        // The search for parts of pages may take minutes.
        let joined = self.handle.stopped_by(&mut joining, &mut shutdown, &mut asked).await;
        let ended = joined.map_err(|_| Error::Panicked)?.map_err(|_| Error::Panicked)?;
        let (ended, failure) = match ended {
            Ok(ended) => (ended, None),
            Err(error) => (Ended::default(), Some(error)),
        };
        let stop = match (stop, &failure) {
            (stop, None) => stop?,
            (_, Some(_)) => Stop::Write,
        };
        let stop = match stop {
            Stop::Complete if ended.parts_stopped => Stop::Signal,
            Stop::Complete if stats.dropped_hosts.load(Relaxed) > 0 => Stop::Queue,
            Stop::Complete if stats.full_hosts.load(Relaxed) > 0 => Stop::QueueFull,
            stop => stop,
        };
        let mut summary = Summary::new(&stats, frontier.counts(), stop, ended.elapsed, data.root());
        summary.shared = is_shared;
        summary.name_seeds(ended.seeds);
        summary.unreached =
            self.looks_again > 0 && stats.reached.load(Relaxed) == 0 && stop == Stop::Complete;
        if !summary.shared {
            summary.name_hosts(&stats, &*frontier);
            // `None` after a failure, which is returned instead.
            if let Some(seed_fetched) = ended.seed_fetched {
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
        let text = serde_json::to_vec_pretty(&summary)?;
        match failure {
            // On a full disk the summary may not fit either: ignore this second error.
            Some(error) => {
                let _ = data.replace("summary.json", &text);
                Err(error)
            }
            None => {
                if let Some(received) = self.received.filter(|_| frontier.counts().queued == 0) {
                    received.clear();
                }
                data.replace("summary.json", &text)?;
                Ok(summary)
            }
        }
    }
}

type WriterParts = (Rules, Arc<UrlRules>, BTreeSet<Url>, Arc<Feeds>);

fn writer_of(
    committer: Committer,
    (rules, url_rules, seeds, feeds): WriterParts,
    (frontier, stats): (&Arc<dyn Frontier>, &Arc<Stats>),
    config: &Config,
    root: &Path,
) -> Result<Writer> {
    let given_up_rules = url_rules.left_over(&**frontier)?;
    let given_up = (given_up_rules.len() as u64).into();
    Ok(Writer {
        committer,
        rules,
        control: Arc::new(Control { given_up, ..Control::default() }),
        frontier: Arc::clone(frontier),
        stats: Arc::clone(stats),
        root: root.to_owned(),
        seeds,
        links_only: config.storage.links_only,
        parts: None,
        max_redirects: config.max_redirects,
        cookie_walls: CookieWalls::new(config.requests.cookies),
        patterns: Patterns::new(config.dust.clone()),
        given_up_rules,
        url_rules,
        removed: RemovedParameters::default(),
        missing: Default::default(),
        calendars: Default::default(),
        blank: BlankPages::default(),
        feeds,
        claims: OpenClaims::default(),
        dropped: Dropped::default(),
        archive: config.storage.archive && !config.storage.links_only,
        page_limits: page_limits(config),
        looked: Instant::now(),
        told: Instant::now(),
    })
}

fn parts_of(config: &Config, against: &Arc<References>, has_seeds: bool) -> Parts {
    let storage = config.storage;
    Parts {
        recipe: config.decision.recipe,
        policy: config.decision.policy,
        warc: storage.archive && !storage.links_only,
        index: storage.index && !storage.links_only,
        skips: false,
        keep_duplicates: false,
        sites: storage.site_lines,
        against: Arc::clone(against),
        shared: false,
        has_seeds,
    }
}

fn feeds_of(frontier: &dyn Frontier, committer: &Committer, recrawl: bool) -> Result<Arc<Feeds>> {
    let feeds = Feeds::read(frontier, committer.secret())?;
    feeds.follows_none.store(recrawl || committer.look.on, Relaxed);
    Ok(Arc::new(feeds))
}

fn client_of(config: &Config, seeds: &[Url]) -> hapax_fetch::Options {
    let mut client = config.requests.client(seeds);
    client.limits.max_sitemap = config.sitemaps.clone().unwrap_or_default().max_bytes;
    client
}

/// Fails if new rules of a person would lose pages that are kept.
fn lose_no_page(
    config: &Config,
    identity: &RulesIdentity,
    committer: &Committer,
    seeds: &[Url],
    root: &Path,
) -> Result<()> {
    if !identity.has_other_given_rules(&committer.run.rules) {
        return Ok(());
    }
    let is_seed = |url: &str| seeds.iter().any(|seed| seed.as_str() == url);
    let rows = Rows::open(root)?;
    let given = &config.scope.given;
    let lost = lost_pages(given, &rows, committer.store(), Untried::Allowed, is_seed)?;
    if lost.count > 0 {
        return Err(Error::config("rules", lost.describe()));
    }
    Ok(())
}

/// Records that a run begins, unless it goes on with an interrupted one.
fn begin_run(writer: &Writer, recrawl: bool, is_new: bool) -> Result<()> {
    let root = &writer.root;
    if is_new || Runs::read(root).unwrap_or_default().runs.is_empty() {
        let position = writer.committer.logs.events.position();
        Runs::begin(root, format_time(SystemTime::now()), recrawl, position)?;
    }
    Ok(())
}

/// Begins a recrawl, or continues an interrupted one. Returns how many pages are queued again.
fn look_again(writer: &mut Writer, begins: bool, due: Option<&Revisits>) -> Result<u64> {
    writer.renew_damaged()?;
    if begins {
        // First: a resumed recrawl does not search for these URLs again.
        writer.request_spared()?;
        writer.request_dropped()?;
        return match due {
            Some(revisits) => writer.again_due(revisits),
            None => writer.again(),
        };
    }
    writer.committer.look.fetched_before = writer.stats.looked_at();
    tracing::info!("continuing the interrupted recrawl");
    Ok(0)
}

/// The implementation of [`Fetch`], and the built-in client if that is the implementation.
type FetchParts = (Arc<dyn Fetch>, Option<Arc<Fetcher>>);

fn way(own: Option<Arc<dyn Fetch>>, client: hapax_fetch::Options) -> Result<FetchParts> {
    if let Some(own) = own {
        return Ok((own, None));
    }
    let http = Fetcher::new(client).map_err(|error| Error::config("requests", error.detail()))?;
    let http = Arc::new(http);
    Ok((Arc::clone(&http) as Arc<dyn Fetch>, Some(http)))
}

pub(crate) fn page_limits(config: &Config) -> hapax_extract::Limits {
    hapax_extract::Limits {
        // Twice the limit of the frontier, so that the frontier sees URLs that are too long and logs them.
        max_url_bytes: config.scope.urls.max_length.saturating_mul(2),
        agent: config.requests.agent().1,
        ..config.pages.clone()
    }
}

/// Returns the seeds and the targets of their redirects in earlier runs, which extend the scope.
fn starts(seeds: &[Url], moved: &[String], rules: &Rules, config: &Config) -> BTreeSet<Url> {
    let mut starts: BTreeSet<Url> = seeds.iter().cloned().collect();
    for moved in moved.iter().filter_map(|url| Url::parse(url).ok()) {
        rules.seed_moved(&moved);
        starts.extend(normalize(&moved, &config.scope.urls));
    }
    starts
}

fn shared_by_tasks(
    config: &Config,
    (fetch, http): FetchParts,
    (frontier, stats, feeds): (&Arc<dyn Frontier>, &Arc<Stats>, &Arc<Feeds>),
    (rules, url_rules): (&Rules, &Arc<UrlRules>),
    committer: &Committer,
    (recrawl, due, sitemaps_again): (bool, bool, bool),
) -> Arc<Shared> {
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    let trees_kib = TREES_KIB.max(cores.saturating_mul(CORE_KIB));
    let small_trees_kib = SMALL_TREES_KIB.max(cores.saturating_mul(CORE_KIB));
    let delay = config.politeness.delay;
    Arc::new(Shared {
        fetch,
        http,
        frontier: Arc::clone(frontier),
        stats: Arc::clone(stats),
        agent: config.requests.agent().1,
        page_limits: page_limits(config),
        sitemap_limits: config.sitemaps.clone().unwrap_or_default(),
        max_body: config.requests.limits.max_body,
        url_limits: config.scope.urls.clone(),
        recipe: committer.recipe(),
        packer: committer.packer().filter(|_| !config.storage.links_only),
        ahead: committer.ahead().map(|ahead| Ahead { looks: recrawl, ..ahead }),
        ignore_robots: config.requests.ignore_robots.clone(),
        delay,
        patience: config.patience.clone(),
        retry_wait: delay.clamp(Duration::from_millis(100), Duration::from_secs(10)),
        rules: HostRules::default(),
        taken: rules.clone(),
        feeds: Arc::clone(feeds),
        forgotten: committer.decisions().all_forgotten(),
        received: committer.received.clone(),
        sitemaps: config.sitemaps.is_some(),
        cookies: config.requests.cookies,
        links_only: config.storage.links_only,
        recrawl,
        due,
        sitemaps_again,
        url_rules: Arc::clone(url_rules),
        max_pages_per_host: config.max_pages_per_host.unwrap_or(u64::MAX),
        room: Room {
            extractors: Arc::new(Semaphore::new(cores as usize)),
            large: Arc::new(Semaphore::new((cores as usize - 1).max(1))),
            waiting: Arc::new(Semaphore::new(ROOM_KIB as usize)),
            trees: Arc::new(Semaphore::new(trees_kib as usize)),
            trees_kib,
            small_trees: Arc::new(Semaphore::new(small_trees_kib as usize)),
            small_trees_kib,
        },
    })
}

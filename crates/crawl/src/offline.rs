//! Stored pages through the same decisions as fetched ones: no requests, no frontier.
//!
//! Workers read pages ahead while the calling thread decides about those before, in the order in which they were
//! added. What waits is bounded in number and bytes.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use hapax_data::{DataDir, PageCounts, SkipReason};
use hapax_dedup::{Neighbour, Record};
use hapax_extract::{Limits, Recipe};
use hapax_fetch::Response;
use url::Url;

use crate::commit::{Committer, Outcome, Parts};
use crate::config::Config;
use crate::error::Result;
use crate::event::{Event, Observed, Observer};
use crate::page::{PageWork, Unread, read_response};
use crate::rules::{Rules, RunLimits};
use crate::stats::Stats;
use crate::summary::{Stop, Summary};

/// Pages that are read ahead at most.
const AHEAD: usize = 256;
/// Bytes of their bodies, as stored and decoded, and one page more.
const AHEAD_BYTES: usize = 64 << 20;
/// A tree takes ten times its page: larger ones are read one after the other.
const LARGE_PAGE: usize = 1 << 20;

/// A page that somebody else has fetched.
#[derive(Clone, Debug)]
pub struct StoredPage {
    /// Its URL.
    pub url: Url,
    /// What was answered.
    pub response: Response,
    /// When.
    pub time: SystemTime,
    /// What the input calls it, in the place of the page's own title.
    pub title: Option<String>,
}

/// What became of a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is kept.
    Kept,
    /// It was here before.
    Known,
    /// It is a duplicate of another one, by this evidence.
    Duplicate(Neighbour),
    /// It is kept in the place of the one that it duplicates.
    Better,
}

/// Which stores take part.
#[derive(Clone, Copy, Debug)]
pub struct OfflineParts {
    /// Archive what comes.
    pub archive: bool,
    /// Index what is kept.
    pub index: bool,
    /// Store duplicates too, so that later documents can match them.
    pub keep_duplicates: bool,
}

/// Counts of this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfflineCounts {
    /// Pages about which was decided.
    pub decided: u64,
    /// Of these, known before.
    pub known: u64,
    /// What was no page, or not wanted.
    pub skipped: u64,
}

/// Takes stored pages through the decisions of a data directory.
#[derive(Debug)]
pub struct Offline {
    data: DataDir,
    committer: Committer,
    stats: Arc<Stats>,
    rules: Rules,
    ends: RunLimits,
    readers: Readers,
    counts: OfflineCounts,
    stopped: Option<Stop>,
    interrupted: Arc<AtomicBool>,
}

impl Offline {
    /// Opens the data directory's stores. `has_seeds`: a crawl was made there, whose frontier knows how far
    /// its log of skipped URLs is committed.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) and [`Error::Data`](crate::Error::Data).
    pub fn open(
        data: DataDir,
        config: &Config,
        parts: OfflineParts,
        has_seeds: bool,
    ) -> Result<Self> {
        config.validate()?;
        let parts = Parts {
            recipe: config.decision.recipe,
            policy: config.decision.policy,
            warc: parts.archive,
            index: parts.index,
            skips: true,
            shared: false,
            keep_duplicates: parts.keep_duplicates,
            has_seeds,
        };
        let stats = Arc::new(Stats::default());
        let committer = Committer::open(&data, &parts, None, Arc::clone(&stats))?;
        Ok(Self {
            rules: Rules::new(&config.scope, std::iter::empty())?,
            ends: RunLimits::new(config, data.root(), &stats, None),
            readers: Readers::start(crate::crawl::page_limits(config), parts.recipe),
            data,
            committer,
            stats,
            counts: OfflineCounts::default(),
            stopped: None,
            interrupted: Arc::default(),
        })
    }

    /// Is told of each [`Event`], as a crawl's is.
    pub fn observe<O: Observed>(&mut self, observer: impl FnMut(&Event<'_>) -> O + Send + 'static) {
        self.committer.observer = Observer::new(observer);
    }

    /// Once this is true, nothing further is taken.
    pub fn stops_at(&mut self, interrupted: Arc<AtomicBool>) {
        self.interrupted = interrupted;
    }

    /// What the configuration asks of this data directory.
    pub fn root(&self) -> &Path {
        self.data.root()
    }

    /// Does what lies in the spool.
    ///
    /// # Errors
    /// The stores'.
    pub fn apply_spool(&mut self) -> Result<()> {
        self.committer.apply_spool().map(drop)
    }

    /// Takes a page in, unless the configuration leaves it out or a limit of the run is reached. About pages
    /// that were added before may be decided meanwhile.
    ///
    /// # Errors
    /// The stores' and the observer's.
    pub fn add(&mut self, page: StoredPage) -> Result<()> {
        if let Some(reason) = self.rules.leaves_out(&page.url) {
            return self.skip(page.url.as_str(), reason, "of stored pages");
        }
        if self.is_full_but_for(&page.url)? {
            return Ok(());
        }
        if !self.knows(&page.url)? {
            self.stats.read(page.response.raw.len());
        }
        self.readers.add(page);
        // What is read already, in its order; and so much that the rest is within the limits.
        while let Some(read) = self.readers.next(false) {
            self.decide(read)?;
        }
        Ok(())
    }

    /// Decides about everything that was added.
    ///
    /// # Errors
    /// The stores' and the observer's.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(read) = self.readers.next(true) {
            self.decide(read)?;
        }
        Ok(())
    }

    fn decide(&mut self, (url, page): (Url, Result<PageWork, Unread>)) -> Result<()> {
        match page {
            Ok(page) => {
                if let Outcome::Known = self.committer.page(&page)? {
                    self.counts.known += 1;
                }
                self.counts.decided += 1;
                if self.committer.maybe_commit()? {
                    self.committer.apply_spool()?;
                }
                Ok(())
            }
            Err(unread) => self.skip(url.as_str(), unread.reason, &unread.detail),
        }
    }

    /// Decides at once about a document that was read elsewhere; `key` is the caller's name for it.
    ///
    /// # Errors
    /// The stores' and the observer's.
    pub fn offer(&mut self, document: &StoredDocument) -> Result<Verdict> {
        Ok(match self.committer.page(&document.work)? {
            Outcome::New => Verdict::Kept,
            Outcome::Known => Verdict::Known,
            Outcome::Duplicate(of) => Verdict::Duplicate(of),
            Outcome::Better => Verdict::Better,
        })
    }

    /// All documents that this one duplicates, best first.
    ///
    /// # Errors
    /// The store's.
    pub fn matches(&self, document: &StoredDocument) -> Result<Vec<Neighbour>> {
        let work = &document.work;
        let key = work.key.as_deref().unwrap_or(work.url.as_str());
        self.committer.matches(work, &work.stored(key.as_bytes()), hapax_data::Extent::All)
    }

    /// The number of a document.
    ///
    /// # Errors
    /// The store's.
    pub fn id_of(&self, key: &str) -> Result<Option<u64>> {
        Ok(self.committer.store().id_of(key.as_bytes())?)
    }

    /// The stored document of a number.
    ///
    /// # Errors
    /// The store's.
    pub fn record(&self, id: u64) -> Result<Option<Record>> {
        Ok(self.committer.store().record(id)?)
    }

    /// The number that the next document gets.
    pub fn next_id(&self) -> u64 {
        self.committer.store().next_id()
    }

    /// How fingerprints are made here.
    pub const fn recipe(&self) -> Recipe {
        self.committer.recipe()
    }

    /// Logs why something is not used.
    ///
    /// # Errors
    /// The log's and the observer's.
    pub fn skip(&mut self, url: &str, reason: SkipReason, detail: &str) -> Result<()> {
        self.counts.skipped += 1;
        self.committer.skip(url, reason, detail)
    }

    /// Counts a record that is one with a page.
    pub const fn count_known(&mut self) {
        self.counts.known += 1;
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// The stores'.
    pub fn commit(&mut self) -> Result<()> {
        self.committer.commit(true)
    }

    /// Whether a limit of the run is reached, for a page that may be known.
    fn is_full_but_for(&mut self, url: &Url) -> Result<bool> {
        if self.stopped.is_none() && self.ends.reached(self.readers.len() as u64).is_some() {
            // What waits may be known, or no page.
            self.flush()?;
            self.stopped = match self.ends.reached(0) {
                // To look at it again costs no page.
                Some(stop) if stop.is_of_pages() && self.knows(url)? => None,
                stop => stop,
            };
        }
        Ok(self.stopped.is_some())
    }

    fn knows(&self, url: &Url) -> Result<bool> {
        Ok(self.committer.store().id_of(url.as_str().as_bytes())?.is_some())
    }

    /// Whether something has ended the run, or a limit of time or disk or a signal does so now.
    pub fn is_stopped(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.ends.reached(0).filter(|stop| !stop.is_of_pages());
        }
        if self.stopped.is_none() && self.interrupted.load(Relaxed) {
            self.stop();
        }
        self.stopped.is_some()
    }

    /// Takes nothing further.
    pub const fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Stop::Signal);
        }
    }

    /// Decides about what waits, makes it durable and writes the summary.
    ///
    /// # Errors
    /// The stores' and the observer's.
    pub fn finish(mut self) -> Result<(OfflineCounts, PageCounts, Option<Stop>)> {
        self.flush()?;
        self.committer.apply_spool()?;
        self.committer.commit(true)?;
        self.committer.save_counts(&self.data)?;
        let elapsed: Duration = self.committer.elapsed();
        self.committer.close()?;
        // That of a crawl knows of queues too: its counts alone are brought up to date, above.
        if !self.data.frontier().exists() {
            let summary = Summary::of_pages(&self.stats, self.stopped, elapsed, self.data.root());
            self.data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?;
        }
        Ok((self.counts, self.stats.pages(), self.stopped))
    }

    /// Ends without a summary.
    ///
    /// # Errors
    /// The stores'.
    pub fn close(self) -> Result<()> {
        self.committer.close()
    }
}

/// A document that was read and fingerprinted.
#[derive(Debug)]
pub struct StoredDocument {
    work: PageWork,
}

impl StoredDocument {
    /// Of a page, under the caller's name for it.
    pub fn new(
        key: impl Into<String>,
        page: StoredPage,
        document: hapax_extract::Document,
        recipe: Recipe,
    ) -> Self {
        let StoredPage { url, response, time, .. } = page;
        let mut work = PageWork::from_document(None, url, response, document, time, recipe);
        work.key = Some(key.into());
        Self { work }
    }

    /// Its fingerprint.
    pub const fn fingerprint(&self) -> hapax_dedup::Fingerprint {
        self.work.evidence.fingerprint
    }

    /// Its content tokens.
    pub const fn tokens(&self) -> u32 {
        self.work.evidence.basis.features.tokens
    }
}

type Job = (StoredPage, Sender<Result<PageWork, Unread>>);

/// A page that a worker reads: its URL, its weight, and where the result comes.
#[derive(Debug)]
struct Waiting {
    url: Url,
    bytes: usize,
    result: Receiver<Result<PageWork, Unread>>,
}

/// Threads that read pages ahead; results are taken in the order of the pages.
#[derive(Debug)]
struct Readers {
    jobs: Option<Sender<Job>>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    fn start(limits: Limits, recipe: Recipe) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let large = Arc::new(Mutex::new(()));
        let limits = Arc::new(limits);
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let threads = (0..workers).filter_map(|number| {
            let (queue, large, limits) =
                (Arc::clone(&queue), Arc::clone(&large), Arc::clone(&limits));
            let work = move || {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok((page, result)) = next() {
                    let _ = result.send(read(page, &limits, recipe, &large));
                }
            };
            std::thread::Builder::new().name(format!("read-{number}")).spawn(work).ok()
        });
        Self { threads: threads.collect(), jobs: Some(jobs), waiting: VecDeque::new(), bytes: 0 }
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn add(&mut self, page: StoredPage) {
        let bytes = page.response.body.len() + page.response.raw.len();
        let (result, receiver) = channel();
        self.waiting.push_back(Waiting { url: page.url.clone(), bytes, result: receiver });
        self.bytes += bytes;
        if let Some(jobs) = &self.jobs {
            // Without a thread the result never comes, which is told as a page that cannot be read.
            let _ = jobs.send((page, result));
        }
    }

    /// The result of the first page that waits: at once if it is there, and waited for if `all` are wanted or
    /// too much waits.
    fn next(&mut self, all: bool) -> Option<(Url, Result<PageWork, Unread>)> {
        let too_much = self.waiting.len() > AHEAD || self.bytes > AHEAD_BYTES;
        let first = self.waiting.front()?;
        let result = match all || too_much {
            true => first.result.recv().unwrap_or_else(|_| Err(defect())),
            false => match first.result.try_recv() {
                Ok(result) => result,
                Err(std::sync::mpsc::TryRecvError::Empty) => return None,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => Err(defect()),
            },
        };
        let Waiting { url, bytes, .. } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        Some((url, result))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn defect() -> Unread {
    Unread { reason: SkipReason::Extraction, detail: "the page makes it fail".into() }
}

fn read(
    page: StoredPage,
    limits: &Limits,
    recipe: Recipe,
    large: &Mutex<()>,
) -> Result<PageWork, Unread> {
    let _alone = (page.response.body.len() > LARGE_PAGE)
        .then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
    let read = || {
        let StoredPage { url, response, time, title } = page;
        let mut document = read_response(&url, &response, limits, true)?;
        if let Some(title) = title {
            document.title = title;
        }
        Ok(PageWork::from_document(None, url, response, document, time, recipe))
    };
    // One page's failure is not the job's.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| Err(defect()))
}

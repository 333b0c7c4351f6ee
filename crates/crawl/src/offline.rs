//! Decides about stored pages as about fetched ones, without requests and frontier.
//!
//! Workers read pages ahead. The calling thread decides about them in the order in which they were added. The number
//! and the bytes of waiting pages are limited.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use hapax_data::{DataDir, InReference, PageCounts, References, SkipReason};
use hapax_dedup::{Neighbour, Record};
use hapax_extract::{Limits, Recipe};
use hapax_fetch::Response;
use hapax_warc::Packer;
use url::Url;

use crate::ahead::Ahead;
use crate::commit::{Committer, Outcome, Parts};
use crate::config::{Against, Config};
use crate::error::Result;
use crate::event::{Event, Observed, Observer};
use crate::page::{PageWork, Unread, read_response};
use crate::rules::Rules;
use crate::run_limits::RunLimits;
use crate::stats::Stats;
use crate::summary::{Stop, Summary};

/// Maximum number of pages that workers read ahead.
const AHEAD: usize = 256;
/// Maximum bytes of their bodies, stored and decoded together; one more page may exceed it.
const AHEAD_BYTES: usize = 64 << 20;
/// Pages with more bytes are parsed one at a time: a tree takes about ten times the memory of its page.
const LARGE_PAGE: usize = 1 << 20;

/// A page that another program fetched.
#[derive(Clone, Debug)]
pub struct StoredPage {
    /// The URL.
    pub url: Url,
    /// The stored response.
    pub response: Response,
    /// When it was fetched.
    pub time: SystemTime,
    /// A title from the input, which replaces the title of the page.
    pub title: Option<String>,
}

/// The verdict about a document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// It is kept as a new document.
    Kept,
    /// Its key was offered before.
    Known,
    /// It is a duplicate of this document.
    Duplicate(Neighbour),
    /// It is kept and replaces the document that it duplicates.
    Better,
    /// It is a duplicate of a document in a store of [`Config::against`].
    Against(Box<InReference>),
}

/// Which stores to write.
#[derive(Clone, Copy, Debug)]
pub struct OfflineParts {
    /// Archive pages as WARC.
    pub archive: bool,
    /// Index kept pages.
    pub index: bool,
    /// Store duplicates too, so that later documents can match them.
    pub keep_duplicates: bool,
}

/// Counts of this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfflineCounts {
    /// Pages that were decided about.
    pub decided: u64,
    /// Pages among them whose URL was known before.
    pub known: u64,
    /// Records that are not pages, or are excluded.
    pub skipped: u64,
}

/// Decides about stored pages, in the stores of a data directory.
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
    discards_parts: bool,
}

impl Offline {
    /// Opens the data directory's stores. `has_seeds` says whether a crawl was made there, whose frontier records how
    /// much of its log of skipped URLs is committed.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) or [`Error::Data`](crate::Error::Data).
    pub fn open(
        data: DataDir,
        config: &Config,
        parts: OfflineParts,
        has_seeds: bool,
    ) -> Result<Self> {
        config.validate()?;
        let Against { stores, mark } = &config.against;
        let against = References::open(stores, config.decision.policy, *mark)?;
        let parts = Parts {
            recipe: config.decision.recipe,
            policy: config.decision.policy,
            warc: parts.archive,
            index: parts.index,
            skips: true,
            shared: false,
            keep_duplicates: parts.keep_duplicates,
            against: Arc::new(against),
            has_seeds,
        };
        let stats = Arc::new(Stats::default());
        let committer = Committer::open(&data, &parts, None, Arc::clone(&stats))?;
        Ok(Self {
            rules: Rules::new(&config.scope, std::iter::empty())?,
            ends: RunLimits::new(config, data.root(), &stats, None),
            readers: Readers::start(
                crate::crawl::page_limits(config),
                committer.recipe(),
                committer.packer(),
                committer.ahead(),
            ),
            data,
            committer,
            stats,
            counts: OfflineCounts::default(),
            stopped: None,
            interrupted: Arc::default(),
            discards_parts: config.discard_parts,
        })
    }

    /// Sets the observer, as [`CrawlBuilder::observer`](crate::CrawlBuilder::observer) does.
    pub fn observe<O: Observed>(&mut self, observer: impl FnMut(&Event<'_>) -> O + Send + 'static) {
        self.committer.observer = Observer::new(observer);
    }

    /// Sets a flag: while it is true, no further page is taken.
    pub fn stops_at(&mut self, interrupted: Arc<AtomicBool>) {
        self.interrupted = interrupted;
    }

    /// The data directory.
    pub fn root(&self) -> &Path {
        self.data.root()
    }

    /// Applies the requests in the spool.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn apply_spool(&mut self) -> Result<()> {
        self.committer.apply_spool().map(drop)
    }

    /// Adds a page, unless the configuration excludes it or a limit of the run is reached. May decide about pages
    /// that were added before.
    ///
    /// # Errors
    /// An error of the stores or the observer.
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
        // Take finished results in order, and wait for more while the limits are exceeded.
        while let Some(read) = self.readers.next(false) {
            self.decide(read)?;
        }
        Ok(())
    }

    /// Decides about all pages that were added.
    ///
    /// # Errors
    /// An error of the stores or the observer.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(read) = self.readers.next(true) {
            self.decide(read)?;
        }
        Ok(())
    }

    fn decide(&mut self, (url, page): (Url, ReadPage)) -> Result<()> {
        match page {
            Ok(mut page) => {
                if let Outcome::Known = self.committer.page(&mut page)? {
                    self.counts.known += 1;
                }
                self.readers.free(page);
                self.committer.count_in_group();
                self.counts.decided += 1;
                if self.committer.maybe_commit()? {
                    self.save_summary(Some(Stop::Running))?;
                    self.committer.apply_spool()?;
                }
                Ok(())
            }
            Err(unread) => self.skip(url.as_str(), unread.reason, &unread.detail),
        }
    }

    /// Decides immediately about a document that the caller has read. `key` is its name in the store.
    ///
    /// # Errors
    /// An error of the stores or the observer.
    pub fn offer(&mut self, document: &mut StoredDocument) -> Result<Verdict> {
        let outcome = self.committer.page(&mut document.work)?;
        self.committer.count_in_group();
        Ok(match outcome {
            Outcome::New => Verdict::Kept,
            Outcome::Known => Verdict::Known,
            Outcome::Duplicate(of) => Verdict::Duplicate(of),
            Outcome::Better(_) => Verdict::Better,
            Outcome::Against(found) => Verdict::Against(found),
        })
    }

    /// Returns all documents that this one duplicates, best first.
    ///
    /// # Errors
    /// An error of the store.
    pub fn matches(&self, document: &StoredDocument) -> Result<Vec<Neighbour>> {
        let work = &document.work;
        let key = work.key.as_deref().unwrap_or(work.url.as_str());
        self.committer.matches(work, &work.stored(key.as_bytes()), hapax_data::Extent::All)
    }

    /// Returns the number of the document with this key.
    ///
    /// # Errors
    /// An error of the store.
    pub fn id_of(&self, key: &str) -> Result<Option<u64>> {
        Ok(self.committer.store().id_of(key.as_bytes())?)
    }

    /// Returns the stored document with this number.
    ///
    /// # Errors
    /// An error of the store.
    pub fn record(&self, id: u64) -> Result<Option<Record>> {
        Ok(self.committer.store().record(id)?)
    }

    /// Returns the number that the next document gets.
    pub fn next_id(&self) -> u64 {
        self.committer.store().next_id()
    }

    /// Returns how fingerprints in this store are made.
    pub const fn recipe(&self) -> Recipe {
        self.committer.recipe()
    }

    /// Logs in skipped.jsonl why a record is not used.
    ///
    /// # Errors
    /// An error of the log or the observer.
    pub fn skip(&mut self, url: &str, reason: SkipReason, detail: &str) -> Result<()> {
        self.counts.skipped += 1;
        self.committer.skip(url, reason, detail)
    }

    /// Counts a record of a page that was counted before.
    pub const fn count_known(&mut self) {
        self.counts.known += 1;
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn commit(&mut self) -> Result<()> {
        self.committer.commit(true)
    }

    /// Returns whether a limit of the run is reached. A known page may exceed the limit of pages.
    fn is_full_but_for(&mut self, url: &Url) -> Result<bool> {
        if self.stopped.is_none() && self.ends.reached(self.readers.len() as u64).is_some() {
            // Waiting records may be known pages, or not pages.
            self.flush()?;
            self.stopped = match self.ends.reached(0) {
                // A known page does not count.
                Some(stop) if stop.is_of_pages() && self.knows(url)? => None,
                stop => stop,
            };
        }
        Ok(self.stopped.is_some())
    }

    fn knows(&self, url: &Url) -> Result<bool> {
        Ok(self.committer.store().id_of(url.as_str().as_bytes())?.is_some())
    }

    /// Returns whether the run has ended. Ends it if a limit of time or disk is reached, or if the flag is set.
    pub fn is_stopped(&mut self) -> bool {
        if self.stopped.is_none() {
            self.stopped = self.ends.reached(0).filter(|stop| !stop.is_of_pages());
        }
        if self.stopped.is_none() && self.interrupted.load(Relaxed) {
            self.stop();
        }
        self.stopped.is_some()
    }

    /// Takes no further page.
    pub const fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Stop::Signal);
        }
    }

    /// Decides about pages in the queue, commits, and writes summary.json.
    ///
    /// # Errors
    /// An error of the stores or the observer.
    pub fn finish(mut self) -> Result<(OfflineCounts, PageCounts, Option<Stop>)> {
        self.flush()?;
        self.committer.apply_spool()?;
        self.committer.commit(true)?;
        self.discard_parts()?;
        self.committer.save_counts(&self.data)?;
        self.save_summary(self.stopped)?;
        self.committer.close()?;
        Ok((self.counts, self.stats.pages(), self.stopped))
    }

    /// With [`Config::discard_parts`], discards pages that are a part of another page. [`finish`](Self::finish) calls
    /// it too.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn discard_parts(&mut self) -> Result<()> {
        if self.discards_parts && !self.committer.discard_parts(&self.interrupted)? {
            self.stop();
        }
        Ok(())
    }

    /// Writes summary.json, also after commits, so that `status` can read it after a kill. Does not replace the
    /// summary of a crawl, which includes queues.
    fn save_summary(&self, stopped: Option<Stop>) -> Result<()> {
        if self.data.frontier().exists() {
            return Ok(());
        }
        let (elapsed, root) = (self.committer.elapsed(), self.data.root());
        let summary = Summary::of_pages(&self.stats, stopped, elapsed, root);
        Ok(self.data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?)
    }

    /// Merges the segments of the store into one.
    pub(crate) fn compact(&self) -> Result<()> {
        Ok(self.committer.store().compact()?)
    }

    /// Closes the stores without a summary.
    ///
    /// # Errors
    /// An error of the stores.
    pub fn close(self) -> Result<()> {
        self.committer.close()
    }
}

/// A document with its fingerprint.
#[derive(Debug)]
pub struct StoredDocument {
    work: PageWork,
}

impl StoredDocument {
    /// Computes the features of a document. `key` is its name in the store.
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

    /// Changes its name in the store.
    pub(crate) fn named(mut self, key: &str) -> Self {
        self.work.key = Some(key.to_owned());
        self
    }

    /// Its name in the store.
    pub(crate) fn key(&self) -> &str {
        self.work.key.as_deref().unwrap_or(self.work.url.as_str())
    }

    /// Returns whether a stored document has the same text.
    pub(crate) fn is_text_of(&self, record: &Record) -> bool {
        hapax_data::is_of_text(record, &self.work.evidence.comparison_text.features)
    }

    /// The fingerprint.
    pub const fn fingerprint(&self) -> hapax_dedup::Fingerprint {
        self.work.evidence.fingerprint
    }

    /// After its verdict: the stores of [`Config::against`] that have it. Empty if it duplicates another document.
    pub fn against(&self) -> Vec<String> {
        self.work.against.as_deref().map(hapax_data::InReference::stores).unwrap_or_default()
    }

    /// The number of content tokens.
    pub const fn tokens(&self) -> u32 {
        self.work.evidence.comparison_text.features.tokens
    }
}

#[derive(Debug)]
enum Job {
    Read(Box<StoredPage>, Sender<ReadPage>),
    /// Frees a page: its thousands of links take longer than some verdicts.
    Free(Box<PageWork>),
}

/// A page that a worker reads: URL, bytes, and the channel of the result.
#[derive(Debug)]
struct Waiting {
    url: Url,
    bytes: usize,
    result: Receiver<ReadPage>,
    /// The result, if it was received before its turn.
    received: Option<ReadPage>,
}

type ReadPage = Result<Box<PageWork>, Unread>;

/// Worker threads that read pages ahead. Results are taken in the order of the pages.
#[derive(Debug)]
struct Readers {
    jobs: Option<Sender<Job>>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    fn start(limits: Limits, recipe: Recipe, packer: Option<Packer>, ahead: Option<Ahead>) -> Self {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let large = Arc::new(Mutex::new(()));
        let (limits, packer) = (Arc::new(limits), Arc::new(packer));
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let threads = (0..workers).filter_map(|number| {
            let (queue, large) = (Arc::clone(&queue), Arc::clone(&large));
            let (limits, packer) = (Arc::clone(&limits), Arc::clone(&packer));
            let ahead = ahead.clone();
            let work = move || {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(job) = next() {
                    let (page, result) = match job {
                        Job::Read(page, result) => (*page, result),
                        Job::Free(page) => {
                            drop(page);
                            continue;
                        }
                    };
                    let mut read = read(page, &limits, recipe, &large).map(Box::new);
                    if let Ok(page) = &mut read {
                        page.pack(Option::as_ref(&packer));
                        if let Some(ahead) = &ahead {
                            ahead.compare(page);
                        }
                    }
                    let _ = result.send(read);
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
        let url = page.url.clone();
        self.waiting.push_back(Waiting { url, bytes, result: receiver, received: None });
        self.bytes += bytes;
        if let Some(jobs) = &self.jobs {
            // Without a thread the result never comes, and the page counts as unreadable.
            let _ = jobs.send(Job::Read(Box::new(page), result));
        }
    }

    fn free(&self, page: Box<PageWork>) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Job::Free(page));
        }
    }

    /// Returns the result of the first waiting page. Waits for it if `all` is set or a limit is exceeded; otherwise
    /// returns `None` if it is not ready.
    fn next(&mut self, all: bool) -> Option<(Url, ReadPage)> {
        let too_much = self.waiting.len() > AHEAD || self.bytes > AHEAD_BYTES;
        if !self.waiting.front_mut()?.is_ready() {
            if !all && !too_much {
                return None;
            }
            self.wait();
        }
        let Waiting { url, bytes, received, .. } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        Some((url, received.unwrap_or_else(|| Err(defect()))))
    }

    /// Waits for the first page, and for a quarter of those behind it: one wait for many pages costs this thread less
    /// than one for each. The workers read the others meanwhile.
    fn wait(&mut self) {
        let last = self.waiting.len() / 4;
        // The last one first: the others are mostly ready by then.
        for place in [last, 0] {
            if let Some(page) = self.waiting.get_mut(place).filter(|page| page.received.is_none()) {
                page.received = page.result.recv().ok();
            }
        }
    }
}

impl Waiting {
    /// Returns whether the result is known. Without a worker there never is one.
    fn is_ready(&mut self) -> bool {
        if self.received.is_none() {
            match self.result.try_recv() {
                Ok(result) => self.received = Some(result),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => {}
            }
        }
        true
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
    Unread {
        reason: SkipReason::Extraction,
        detail: "this page crashes the parser. This is a bug: please report it".into(),
    }
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
    // The failure of one page must not end the job.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| Err(defect()))
}

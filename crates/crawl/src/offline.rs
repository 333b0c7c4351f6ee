//! Decides about stored pages as about fetched ones, without requests and frontier.
//!
//! Workers read pages ahead. The calling thread decides about them in the order in which they were added. The number
//! and the bytes of waiting pages are limited.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hapax_data::{DataDir, InReference, PageCounts, References, SkipCause};
use hapax_dedup::{Neighbour, Record};
use hapax_extract::Recipe;
use url::Url;

use crate::commit::{Committer, Outcome, Parts};
use crate::config::{Against, Config};
use crate::error::Result;
use crate::event::{Event, Observed, Observer};
use crate::page::PageWork;
use crate::readers::{ReadPage, Readers, StoredPage};
use crate::rules::Rules;
use crate::run_limits::RunLimits;
use crate::stats::Stats;
use crate::summary::{Stop, Summary};

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
            sites: config.storage.site_lines,
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
            Outcome::New { .. } => Verdict::Kept,
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
    pub fn skip(&mut self, url: &str, cause: impl Into<SkipCause>, detail: &str) -> Result<()> {
        self.counts.skipped += 1;
        self.committer.skip(url, cause, detail)
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

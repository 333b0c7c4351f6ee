//! `crawl pages`: stored pages through the same line.

mod archive;
mod inputs;
mod revisits;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use hapax_data::SkipReason;
use hapax_fetch::Response;
use url::Url;

use self::archive::{Refused, Source, holds_payload, page_of};
use self::revisits::{MAX_WAITING, Revisit, Revisits};
use super::named::{is_stop, root_of};
use crate::args::Common;
use crate::crawl::{
    Committer, Outcome, PageWork, Parts, Rules, RunLimits, Stats, Stop, Summary, Unread,
    check_settings, interrupted, read_response, way_on,
};
use crate::exit::{BAD_INPUT, COMPLETE, STOPPED};
use crate::output::{duration, escape, number, shortened};
use crate::settings::Settings;
use hapax_data::files::Root;

/// Bytes of archives from pipes that are held, so that they can be read again.
const MAX_PIPED: usize = 256 << 20;

/// Pages that are extracted at a time, on all cores; committed in their order.
const CHUNK: usize = 128;
/// So many bytes of them wait at most, and one page more.
const CHUNK_BYTES: usize = 64 << 20;
/// A tree takes ten times its page: larger ones are read one after the other.
const LARGE_PAGE: usize = 1 << 20;

pub(super) fn run(
    files: &[PathBuf],
    root: Option<&Path>,
    data: &Path,
    settings: Settings,
    common: &Common,
) -> Result<u8> {
    let root = root.map(root_of).transpose()?;
    let saved = crate::data::saved(data)?.unwrap_or_default();
    let settings = settings.or(saved.settings);
    check_settings(&settings, &[])?;
    let data = crate::data::open(data)?;
    crate::data::protect(&data, &settings)?;
    let interrupted = interrupted()?;
    // Text work is all that is done here, whatever a crawl beside it was told.
    let kept = Settings { links_only: None, ..settings.clone() };
    let parts = Parts {
        recipe: settings.recipe()?,
        policy: settings.policy()?,
        warc: kept.warc(),
        index: kept.index(),
        skips: true,
        shared: false,
        keep_duplicates: false,
    };
    let stats = Arc::new(Stats::default());
    let committer = Committer::open(&data, &parts, None, Arc::clone(&stats))?;
    crate::data::save(&data, saved.seeds, &settings)?;
    let ends = RunLimits::new(&settings, data.root(), &stats, None)?;
    let started = Instant::now();
    let limits = settings.page_limits()?;
    let mut line = Line {
        committer,
        limits,
        fetched: settings.limits()?,
        rules: Rules::new(&settings, &[])?,
        ends,
        root,
        interrupted,
        stats: Arc::clone(&stats),
        stopped: None,
        archives: Vec::new(),
        piped: 0,
        revisits: Revisits::new(MAX_WAITING),
        chunk: Vec::new(),
        waiting: 0,
        bad: 0,
        told: 0,
        skipped: 0,
        left_out: 0,
        links: 0,
        done: 0,
        known: 0,
    };
    line.committer.apply_spool()?;
    for path in files {
        if line.is_full()? {
            break;
        }
        line.path(path)?;
    }
    line.revisits()?;
    line.flush()?;
    line.committer.apply_spool()?;
    line.committer.commit(true)?;
    line.committer.save_counts(&data)?;
    let elapsed = line.committer.elapsed();
    let Line { committer, bad, skipped, left_out, links, done, known, stopped, .. } = line;
    committer.close()?;
    // That of a crawl knows of queues too: its counts alone are brought up to date, above.
    if !data.frontier().exists() {
        let summary = Summary::of_pages(&stats, stopped, elapsed, data.root());
        data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?;
    }
    if !common.quiet {
        let pages = stats.pages();
        let took = started.elapsed().max(Duration::from_millis(1));
        let told = println(&format!(
            "{} pages in {}, {:.0} pages/s\n  indexed in all   {:>9}\n  discarded in all {:>9}   exact {}, near {}, canonical {}\n  known before     {:>9}\n  no pages         {:>9}   see skipped.jsonl\n  bad inputs       {:>9}",
            number(done),
            duration(took),
            done as f64 / took.as_secs_f64(),
            number(pages.indexed),
            number(pages.discarded()),
            pages.exact,
            pages.near,
            pages.canonical,
            number(known),
            number(skipped),
            number(bad),
        ));
        crate::output::unless_closed(told)?;
        if left_out > 0 {
            crate::output::unless_closed(println(&format!(
                "  left out         {:>9}   in folders, neither HTML, .txt nor WARC: name a file to have it read",
                number(left_out)
            )))?;
        }
        if links > 0 {
            crate::output::unless_closed(println(&format!(
                "  left out         {:>9}   in folders, symbolic links, pipes and devices: name one to have it read",
                number(links)
            )))?;
        }
    }
    if let Some(stop) = stopped {
        let why = stop.words();
        let (told, way) = (why.unwrap_or_default(), way_on(why));
        crate::output::error(&anyhow::anyhow!("{told}: the rest was not read. {way}"));
        return Ok(STOPPED);
    }
    Ok(if bad > 0 { BAD_INPUT } else { COMPLETE })
}

fn println(text: &str) -> io::Result<()> {
    use std::io::Write;
    writeln!(io::stdout(), "{text}")
}

/// A page that waits for its turn.
#[derive(Debug)]
struct Stored {
    url: Url,
    response: Response,
    time: SystemTime,
    /// What the input calls it.
    title: Option<String>,
}

struct Line {
    committer: Committer,
    limits: hapax_extract::Limits,
    fetched: hapax_fetch::Limits,
    rules: Rules,
    ends: RunLimits,
    /// Below it JSON lines may name files; without it, below the folder of their own file.
    root: Option<Root>,
    interrupted: Arc<AtomicBool>,
    stats: Arc<Stats>,
    /// A limit of the run is reached, or somebody asked it to end.
    stopped: Option<Stop>,
    /// What was read and can be read again.
    archives: Vec<Source>,
    /// Bytes of those that came through pipes.
    piped: usize,
    revisits: Revisits,
    chunk: Vec<Stored>,
    /// Bytes of the chunk.
    waiting: usize,
    bad: u64,
    /// Messages about those.
    told: u64,
    skipped: u64,
    /// Files of folders that are no pages.
    left_out: u64,
    /// Links, pipes and devices of folders.
    links: u64,
    done: u64,
    known: u64,
}

impl Line {
    /// An archive is one input, however much of it is damaged.
    fn warc(&mut self, path: &Path, source: Source) -> Result<()> {
        let records = match source.records(&self.fetched) {
            Ok(records) => records,
            Err(error) => return self.unreadable(path, &error),
        };
        let again = self.can_be_read_again(&source);
        let mut damage: Option<String> = None;
        for record in records {
            let record = match record {
                Ok(record) => record,
                // What lies before the damage is used, and what lies behind it.
                Err(error) => {
                    let what = error.to_string();
                    match &damage {
                        None => self.report(path, &what)?,
                        Some(told) if *told != what => self.tell(path, &what),
                        Some(_) => {}
                    }
                    damage = Some(what);
                    continue;
                }
            };
            if self.is_full()? {
                break;
            }
            match Revisit::of(&record) {
                Some(Ok(revisit)) if again => self.revisits.wait(revisit),
                Some(Ok(revisit)) => self.lost(&revisit.url)?,
                Some(Err(refused)) => self.refuse(&refused)?,
                None if holds_payload(&record) => match page_of(record, &self.fetched) {
                    Ok(page) => self.add(page)?,
                    Err(refused) => self.refuse(&refused)?,
                },
                None => {}
            }
        }
        if again {
            self.archives.push(source);
        }
        Ok(())
    }

    /// Whether there is room to keep what came through a pipe until all is read.
    fn can_be_read_again(&mut self, source: &Source) -> bool {
        let Source::Piped(bytes) = source else { return true };
        let fits = self.piped + bytes.len() <= MAX_PIPED;
        self.piped += if fits { bytes.len() } else { 0 };
        fits
    }

    /// Gives those that have no payload of their own the one that they refer to.
    fn revisits(&mut self) -> Result<()> {
        let archives = std::mem::take(&mut self.archives);
        let records = |line: &Self, source: &Source| {
            // What is damaged was told when it was read first.
            source.records(&line.fetched).ok().into_iter().flatten().flatten()
        };
        loop {
            for source in &archives {
                for record in records(self, source) {
                    if self.revisits.is_empty() || self.is_full()? {
                        break;
                    }
                    let waited = self.revisits.take(&record);
                    if waited.is_empty() {
                        continue;
                    }
                    let original = page_of(record, &self.fetched);
                    for revisit in waited {
                        match &original {
                            Ok(original) => match revisit.page(original) {
                                Ok(Some(page)) => self.add(page)?,
                                Ok(None) => self.known += 1,
                                Err(refused) => self.refuse(&refused)?,
                            },
                            Err(of) => self.skip(revisit.url.as_str(), of.reason, &of.detail)?,
                        }
                    }
                }
            }
            if self.stopped.is_some() {
                return Ok(());
            }
            let (lost, again) = self.revisits.next_look();
            for url in lost {
                self.lost(&url)?;
            }
            if !again {
                return Ok(());
            }
            for source in &archives {
                let waiting = records(self, source).filter_map(|record| Revisit::of(&record)?.ok());
                for revisit in waiting {
                    self.revisits.wait(revisit);
                }
            }
        }
    }

    fn lost(&mut self, url: &Url) -> Result<()> {
        self.skip(
            url.as_str(),
            SkipReason::Revisit,
            "the record that it refers to is nowhere in what was read",
        )
    }

    /// Takes a page in, unless the settings say that it is left out.
    fn add(&mut self, page: Stored) -> Result<()> {
        if let Some(reason) = self.rules.leaves_out(&page.url) {
            return self.skip(page.url.as_str(), reason, "of stored pages");
        }
        if self.is_full_but_for(&page.url)? {
            return Ok(());
        }
        if !self.knows(&page.url)? {
            self.stats.read(page.response.raw.len());
        }
        self.waiting += page.response.body.len() + page.response.raw.len();
        self.chunk.push(page);
        if self.chunk.len() >= CHUNK || self.waiting >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Whether a limit of the run is reached, for a page that may be known.
    fn is_full_but_for(&mut self, url: &Url) -> Result<bool> {
        if self.stopped.is_none() && self.ends.reached(self.chunk.len() as u64).is_some() {
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
    fn is_full(&mut self) -> Result<bool> {
        if self.stopped.is_none() {
            self.stopped = self.ends.reached(0).filter(|stop| !stop.is_of_pages());
        }
        if self.stopped.is_none() && self.interrupted.load(Relaxed) {
            self.stopped = Some(Stop::Signal);
        }
        Ok(self.stopped.is_some())
    }

    fn flush(&mut self) -> Result<()> {
        self.committer.apply_spool()?;
        let chunk = std::mem::take(&mut self.chunk);
        self.waiting = 0;
        let large = Mutex::new(());
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let (recipe, limits) = (self.committer.recipe(), &self.limits);
        let read = |Stored { url, response, time, title }: &Stored| {
            let _alone = (response.body.len() > LARGE_PAGE)
                .then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            let page = || {
                let (url, response) = (url.clone(), response.clone());
                let mut document = read_response(&url, &response, limits, true)?;
                if let Some(title) = title {
                    document.title.clone_from(title);
                }
                Ok(PageWork::from_document(None, url, response, document, *time, recipe))
            };
            // One page's failure is not the job's.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(page)).unwrap_or_else(|_| {
                Err(Unread {
                    reason: SkipReason::Extraction,
                    detail: "the page makes it fail".into(),
                })
            })
        };
        let work = |results: &mut Vec<(usize, Result<PageWork, Unread>)>| loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(page) = chunk.get(index) else { return };
            results.push((index, read(page)));
        };
        let mut all: Vec<(usize, Result<PageWork, Unread>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| {
                        let mut results = Vec::new();
                        work(&mut results);
                        results
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        });
        all.sort_by_key(|(index, _)| *index);
        for (index, page) in all {
            match page {
                Ok(page) => {
                    if let Outcome::Known = self.committer.page(&page)? {
                        self.known += 1;
                    }
                    self.done += 1;
                    self.committer.maybe_commit()?;
                }
                Err(unread) => {
                    let Some(Stored { url, .. }) = chunk.get(index) else { continue };
                    self.skip(url.as_str(), unread.reason, &unread.detail)?;
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, refused: &Refused) -> Result<()> {
        self.skip(&refused.url, refused.reason, &refused.detail)
    }

    fn skip(&mut self, url: &str, reason: SkipReason, detail: &str) -> Result<()> {
        self.skipped += 1;
        self.committer.skip(url, reason, detail)
    }

    /// An input that cannot be read, or for which nobody waits any more.
    fn unreadable(&mut self, path: &Path, error: &io::Error) -> Result<()> {
        if is_stop(error) {
            self.stopped.get_or_insert(Stop::Signal);
            return Ok(());
        }
        self.report(path, &error.to_string())
    }

    fn report(&mut self, path: &Path, what: &str) -> Result<()> {
        self.bad += 1;
        self.tell(path, what);
        Ok(())
    }

    fn tell(&mut self, path: &Path, what: &str) {
        self.told += 1;
        let message = format!("{}: {}", path.display(), shortened(what));
        if io::stderr().is_terminal() || self.told <= 100 {
            crate::output::error(&anyhow::anyhow!(escape(&message)));
        }
    }
}

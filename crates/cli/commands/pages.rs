//! `crawl pages`: stored pages through the same pipeline.

mod inputs;
mod line;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use hapax_data::{PageCounts, SkipCause, SkipReason};
use url::Url;

use self::line::Line;
use crate::args::Common;
use crate::exit::{BAD_INPUT, COMPLETE, STOPPED};
use crate::output::{duration, escape, number, shortened};
use crate::settings::Settings;
use crate::signals::interrupted;
use crate::summary::{by_kind, way_on};
use hapax_crawl::import::Source;
use hapax_crawl::import::{MAX_WAITING, Refused, Revisit, Revisits, holds_payload, page_of};
use hapax_crawl::{Offline, OfflineCounts, OfflineParts, StoredPage};
use hapax_data::inputs::{is_stop, root_of};

/// The most bytes of archives from pipes that are kept to be read again.
const MAX_PIPED: usize = 256 << 20;

pub(super) fn run(
    files: &[PathBuf],
    root: Option<&Path>,
    data: &Path,
    settings: Settings,
    common: &Common,
) -> Result<u8> {
    let root = root.map(root_of).transpose()?;
    let saved = crate::data::saved(data)?.unwrap_or_default();
    let settings = settings.over(saved.settings)?;
    settings.check(&[])?;
    let config = settings.config()?;
    let data = crate::data::open(data)?;
    crate::data::protect(&data, &settings)?;
    let interrupted = interrupted()?;
    // Texts are always extracted, even if the settings of the directory have --links-only.
    let storage = config.storage;
    let parts =
        OfflineParts { archive: storage.archive, index: storage.index, keep_duplicates: false };
    let path = data.root().to_owned();
    let mut offline = Offline::open(data, &config, parts, !saved.seeds.is_empty())?;
    offline.stops_at(Arc::clone(&interrupted));
    crate::data::save(&path, saved.seeds, &settings)?;
    let started = Instant::now();
    let mut line = Line {
        offline,
        fetched: config.requests.limits,
        root,
        interrupted,
        archives: Vec::new(),
        piped: 0,
        revisits: Revisits::new(MAX_WAITING),
        bad: 0,
        told: 0,
        left_out: 0,
        links: 0,
    };
    line.offline.apply_spool()?;
    for path in files {
        if line.offline.is_stopped() {
            break;
        }
        line.path(path)?;
    }
    line.revisits()?;
    let Line { offline, bad, left_out, links, .. } = line;
    let (counts, pages, stopped) = offline.finish()?;
    if !common.quiet {
        let told = report(counts, &pages, [bad, left_out, links], started.elapsed());
        crate::output::unless_closed(told)?;
    }
    if let Some(stop) = stopped {
        let why = stop.words();
        let (told, way) = (why.unwrap_or_default(), way_on(stopped));
        crate::output::error(&anyhow::anyhow!("{told}: the rest was not read. {way}"));
        return Ok(STOPPED);
    }
    Ok(if bad > 0 { BAD_INPUT } else { COMPLETE })
}

/// Prints the result. `inputs`: numbers of bad inputs, of ignored files, and of ignored links.
fn report(
    counts: OfflineCounts,
    pages: &PageCounts,
    inputs: [u64; 3],
    took: Duration,
) -> io::Result<()> {
    let [bad, left_out, links] = inputs;
    let took = took.max(Duration::from_millis(1));
    println(&format!(
        "{} pages in {}, {:.0} pages/s\n  indexed in all   {:>9}\n  discarded in all {:>9}   {}\n  known before     {:>9}\n  no pages         {:>9}   see skipped.jsonl\n  bad inputs       {:>9}",
        number(counts.decided),
        duration(took),
        counts.decided as f64 / took.as_secs_f64(),
        number(pages.indexed),
        number(pages.discarded()),
        by_kind(pages),
        number(counts.known),
        number(counts.skipped),
        number(bad),
    ))?;
    if left_out > 0 {
        println(&format!(
            "  not read         {:>9}   files in folders that are not HTML, .txt or WARC: give a file by \
             name to read it",
            number(left_out)
        ))?;
    }
    if links > 0 {
        println(&format!(
            "  not read         {:>9}   symbolic links, pipes and devices in folders: give one by name to read it",
            number(links)
        ))?;
    }
    Ok(())
}

fn println(text: &str) -> io::Result<()> {
    use std::io::Write;
    writeln!(io::stdout(), "{text}")
}

impl Line {
    /// Reads an archive. It counts as one input, even with several damaged records.
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
                // Records before and after the damage are used.
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
            if self.offline.is_stopped() {
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

    /// Whether data from a pipe can be kept until the end.
    fn can_be_read_again(&mut self, source: &Source) -> bool {
        let Source::Piped(bytes) = source else { return true };
        let fits = self.piped + bytes.len() <= MAX_PIPED;
        self.piped += if fits { bytes.len() } else { 0 };
        fits
    }

    /// Gives revisit records the payloads that they refer to.
    fn revisits(&mut self) -> Result<()> {
        let archives = std::mem::take(&mut self.archives);
        let records = |line: &Self, source: &Source| {
            // Damage was reported at the first reading.
            source.records(&line.fetched).ok().into_iter().flatten().flatten()
        };
        loop {
            for source in &archives {
                for record in records(self, source) {
                    if self.revisits.is_empty() || self.offline.is_stopped() {
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
                                Ok(None) => self.offline.count_known(),
                                Err(refused) => self.refuse(&refused)?,
                            },
                            Err(of) => self.skip(revisit.url.as_str(), of.cause, &of.detail)?,
                        }
                    }
                }
            }
            if self.offline.is_stopped() {
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
            "the record that it refers to is in none of the archives of this run",
        )
    }

    fn add(&mut self, page: StoredPage) -> Result<()> {
        Ok(self.offline.add(page)?)
    }

    fn refuse(&mut self, refused: &Refused) -> Result<()> {
        self.skip(&refused.url, refused.cause, &refused.detail)
    }

    fn skip(&mut self, url: &str, cause: impl Into<SkipCause>, detail: &str) -> Result<()> {
        Ok(self.offline.skip(url, cause, detail)?)
    }

    /// Handles an unreadable input, or an interrupt while waiting for it.
    fn unreadable(&mut self, path: &Path, error: &io::Error) -> Result<()> {
        if is_stop(error) {
            self.offline.stop();
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

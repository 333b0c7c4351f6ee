//! Reads the archive again for links.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use hapax_data::Context;
use hapax_extract::Document;
use hapax_fetch::Response;
use hapax_url::host_key;
use hapax_warc::{NEAR_DUPLICATE_PROFILE, Reader, Record, http_parts};
use url::Url;

use crate::dropped_links::{Source, Sources};
use crate::page::read_response;
use crate::writer::Writer;
use hapax_data::MAX_RECORD;
use hapax_data::files::open_stored;

/// How the reading of an archive ended; the worst result is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ended {
    Whole,
    /// Some pages cannot be read, or there were too many copies to remember.
    Partly,
    Stopped,
}

/// URLs of pages whose body is in the record of another page, by the URL of that page.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub(crate) wanted: HashMap<String, Vec<Url>>,
    pub(crate) count: usize,
    pub(crate) found: HashSet<String>,
}
/// Maximum number of copies in memory while the archive is read.
const MAX_COPIES: usize = 100_000;

/// A page of the archive. The depth is in the record that follows it.
pub(crate) struct Archived {
    url: Url,
    document: Document,
    depth: Option<u16>,
}

impl Writer {
    /// Returns the files of the archive, in the order in which they were written.
    pub(crate) fn archives(&self) -> Result<Vec<PathBuf>> {
        if !self.archive {
            return Ok(Vec::new());
        }
        let folder = self.root.join("pages");
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
        files.sort();
        Ok(files)
    }

    pub(crate) fn read_archive(
        &mut self,
        path: &Path,
        sources: &Sources,
        copies: &mut Copies,
    ) -> Result<Ended> {
        let Some(mut records) = open(path) else { return Ok(Ended::Partly) };
        let mut page: Option<Archived> = None;
        let mut ended = Ended::Whole;
        while let Some(record) = next_record(path, &mut records, &mut ended) {
            if self.control.stops.load(Relaxed) {
                return Ok(Ended::Stopped);
            }
            let target = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
            let Some(url) = target else { continue };
            if let Some(page) = page.as_mut().filter(|page| page.url == url)
                && record.header("warc-type") == Some("metadata")
            {
                page.depth = depth_of(&record);
                continue;
            }
            if record.header("warc-type") == Some("request") {
                continue;
            }
            if let Some(page) = page.take() {
                self.follow_archived(page)?;
            }
            let wanted = sources.all || sources.hosts.contains(&host_key(&url));
            if wanted && holds_page(&record) {
                page = self.archived_page(&record, url, &mut ended);
            } else if wanted && let Some(other) = holder_of(&record) {
                if copies.count < MAX_COPIES {
                    copies.count += 1;
                    copies.wanted.entry(other.to_owned()).or_default().push(url);
                } else {
                    ended = Ended::Partly;
                }
            }
        }
        page.map_or(Ok(()), |page| self.follow_archived(page)).map(|()| ended)
    }

    /// Follows the links of pages whose body is that of another page: relative links have another base.
    pub(crate) fn read_copies(&mut self, path: &Path, copies: &mut Copies) -> Result<Ended> {
        let Some(mut records) = open(path) else { return Ok(Ended::Partly) };
        let mut ended = Ended::Whole;
        while let Some(record) = next_record(path, &mut records, &mut ended) {
            if self.control.stops.load(Relaxed) {
                return Ok(Ended::Stopped);
            }
            let target = record.header("warc-target-uri").unwrap_or_default();
            let Some(urls) = copies.wanted.get(target).filter(|_| holds_page(&record)) else {
                continue;
            };
            copies.found.insert(target.to_owned());
            for url in urls {
                if self.control.stops.load(Relaxed) {
                    return Ok(Ended::Stopped);
                }
                if let Some(page) = self.archived_page(&record, url.clone(), &mut ended) {
                    self.follow_archived(page)?;
                }
            }
        }
        Ok(ended)
    }

    /// Returns the page of a record. If it cannot be read, the reading ended partly.
    fn archived_page(&self, record: &Record, url: Url, ended: &mut Ended) -> Option<Archived> {
        let page = self.read_page(record, url);
        let is_page = http_parts(&record.block).is_none_or(|(status, ..)| status / 100 == 2);
        if page.is_none() && is_page {
            *ended = Ended::Partly;
        }
        page
    }

    pub(crate) fn read_page(&self, record: &Record, url: Url) -> Option<Archived> {
        let (status, headers, raw) = http_parts(&record.block)?;
        let encoding = headers.iter().find(|(name, _)| name == "content-encoding");
        let encoding = encoding.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        // The page was within the limits of its crawl.
        let limits = hapax_fetch::Limits {
            max_body: MAX_RECORD as usize,
            max_ratio: usize::MAX,
            ..hapax_fetch::Limits::default()
        };
        let encoding = encoding.unwrap_or_default();
        let body = hapax_fetch::decode_body_within(raw, &encoding, &limits).ok()?;
        let response = Response::stored(url.clone(), status, headers, body.into());
        let document = read_response(&url, &response, &self.page_limits, false).ok()?;
        Some(Archived { url, document, depth: None })
    }

    /// Queues the links of a page, as when it was fetched.
    fn follow_archived(&mut self, page: Archived) -> Result<()> {
        if page.document.robots.nofollow {
            return Ok(());
        }
        self.dropped.source = Some(Source { page: page.url.clone(), archived: true });
        let depth = match page.depth {
            Some(depth) => depth,
            None => self.committer.depth_of(page.url.as_str())?,
        };
        for link in page.document.links.iter().filter(|link| !link.nofollow) {
            self.push(&link.url, depth.saturating_add(1), 0)?;
        }
        if let Some(next) = &page.document.refresh {
            self.push(next, depth.saturating_add(1), 0)?;
        }
        Ok(())
    }
}

/// Opens a file of the archive. `None`, with a warning, if it cannot be read or is a pipe.
pub(crate) fn open(path: &Path) -> Option<Reader<File>> {
    let opened = open_stored(path).and_then(|file| Reader::new(file, MAX_RECORD));
    opened
        .inspect_err(|error| {
            tracing::warn!("{}: {error}. Run `crawl check` for details", path.display())
        })
        .ok()
}

/// Returns the next readable record, also after damage.
pub(crate) fn next_record(
    path: &Path,
    records: &mut Reader<File>,
    ended: &mut Ended,
) -> Option<Record> {
    loop {
        match records.next_record() {
            Ok(record) => return record,
            Err(error) => {
                if *ended == Ended::Whole {
                    tracing::warn!("{}: {error}. Run `crawl check` for details", path.display());
                }
                *ended = Ended::Partly;
                if !records.resync().is_ok_and(|found| found) {
                    return None;
                }
            }
        }
    }
}

/// Returns whether a record of our archive contains a complete page.
pub(crate) fn holds_page(record: &Record) -> bool {
    match record.header("warc-type") {
        Some("response") => true,
        Some("revisit") => record.header("warc-profile") == Some(NEAR_DUPLICATE_PROFILE),
        _ => false,
    }
}

/// Returns the URL of the page whose record has the body of this one.
pub(crate) fn holder_of(record: &Record) -> Option<&str> {
    let same = record.header("warc-type") == Some("revisit")
        && record
            .header("warc-profile")
            .is_some_and(|profile| profile.ends_with("identical-payload-digest"));
    record.header("warc-refers-to-target-uri").filter(|_| same)
}

/// Returns the depth of a page from the record that follows it.
fn depth_of(record: &Record) -> Option<u16> {
    let block = String::from_utf8_lossy(&record.block);
    block.lines().find_map(|line| line.strip_prefix("depth: ")?.trim().parse().ok())
}

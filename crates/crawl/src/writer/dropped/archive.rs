//! Reads the archive again for links.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use hapax_extract::Document;
use hapax_url::host_key;
use hapax_warc::{Record, http_parts};
use url::Url;

use crate::archived::{Ended, archives_in, holder_of, holds_page, next_record, open, read_record};
use crate::dropped_links::{Source, Sources};
use crate::writer::Writer;

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
        archives_in(&self.root.join("pages"))
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
        let document = read_record(record, &url, &self.page_limits)?;
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

/// Returns the depth of a page from the record that follows it.
fn depth_of(record: &Record) -> Option<u16> {
    let block = String::from_utf8_lossy(&record.block);
    block.lines().find_map(|line| line.strip_prefix("depth: ")?.trim().parse().ok())
}

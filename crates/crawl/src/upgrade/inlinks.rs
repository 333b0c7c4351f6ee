//! Adds the inlinks that earlier versions did not keep, from the links of archived pages.
//!
//! A page whose body is in the record of another page is not read: its links are those of that page. Links of pages
//! outside the archive are unknown.

use std::collections::HashSet;

use hapax_data::DataDir;
use hapax_extract::Limits;
use hapax_frontier::{DiskFrontier, Frontier, Options};
use hapax_url::{UrlLimits, normalize, url_key};
use url::Url;

use crate::archived::{Ended, archives_in, holds_page, next_record, open, read_record};
use crate::error::Result;

/// Pages between two commits.
const PAGES_AT_A_TIME: u64 = 1000;

/// Adds the inlinks of known URLs if they are not complete. Returns how many URLs have some.
///
/// # Complexity
/// Reads the archive once; takes about 40 bytes of memory for each URL with an inlink.
pub(super) fn complete(data: &DataDir) -> Result<u64> {
    let folder = data.frontier();
    if !DiskFrontier::is_there(&folder) {
        return Ok(0);
    }
    let frontier = DiskFrontier::open(&folder, Options::default())?;
    if frontier.has_all_inlinks()? {
        return Ok(0);
    }
    let (mut urls, mut pages) = (HashSet::new(), 0u64);
    let archives = if data.pages().is_dir() { archives_in(&data.pages())? } else { Vec::new() };
    let (links, limits) = (Limits::default(), UrlLimits::default());
    for path in &archives {
        let Some(mut records) = open(path) else { continue };
        let mut ended = Ended::Whole;
        while let Some(record) = next_record(path, &mut records, &mut ended) {
            let target = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
            let Some(page) = target.filter(|_| holds_page(&record)) else { continue };
            let Some(document) = read_record(&record, &page, &links) else { continue };
            if document.robots.nofollow {
                continue;
            }
            for link in document.links.iter().filter(|link| !link.nofollow) {
                let Ok(url) = normalize(&link.url, &limits) else { continue };
                if frontier.knows(url.as_str())? {
                    frontier.linked(&url, &page);
                    urls.insert(url_key(url.as_str()));
                }
            }
            pages += 1;
            if pages.is_multiple_of(PAGES_AT_A_TIME) {
                frontier.complete_inlinks(false)?;
            }
        }
    }
    frontier.complete_inlinks(true)?;
    Ok(urls.len() as u64)
}

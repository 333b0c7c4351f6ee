//! Adds the inlinks that earlier versions did not keep, from the links of archived pages.
//!
//! A page whose body is in the record of another page is not read: its links are those of that page. Links of pages
//! outside the archive are unknown.

use hapax_data::DataDir;
use hapax_extract::Limits;
use hapax_frontier::{DiskFrontier, FoundInlinks, Frontier, Options};
use hapax_url::{UrlLimits, normalize};
use url::Url;

use crate::archived::{Ended, archives_in, holds_page, next_record, open, read_record};
use crate::error::Result;

/// Adds the inlinks of known URLs if they are not complete. Returns how many URLs have some.
///
/// # Complexity
/// Reads the archive once; takes about 60 bytes of memory for each URL with an inlink, and the URLs of their referrers.
pub(super) fn complete(data: &DataDir) -> Result<u64> {
    let folder = data.frontier();
    if !DiskFrontier::is_there(&folder) {
        return Ok(0);
    }
    let frontier = DiskFrontier::open(&folder, Options::default())?;
    if frontier.has_all_inlinks()? {
        return Ok(0);
    }
    let mut found = FoundInlinks::default();
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
                    found.add(&url, &page);
                }
            }
        }
    }
    frontier.add_inlinks(&found, true)?;
    Ok(found.len() as u64)
}

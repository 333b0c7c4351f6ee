//! The links of a crawl, from its archive.

use std::collections::HashMap;
use std::path::Path;

use hapax_extract::{Document, Limits};
use hapax_url::{UrlLimits, normalize};
use url::Url;

use super::known::Known;
use crate::archived::{Ended, archives_in, holder_of, holds_page, next_record, open, read_record};
use crate::error::Result;

/// Maximum number of links between known addresses, of eight bytes each. With more there is no advice.
const MAX_LINKS: usize = 40_000_000;
/// Maximum number of pages whose body is that of another page.
const MAX_COPIES: usize = 1_000_000;

/// Links between known addresses, by the address that has them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Sorted by the first number.
    pairs: Vec<(u32, u32)>,
}

impl Links {
    #[cfg(test)]
    pub(super) fn of_test(mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        Self { pairs }
    }

    /// Reads the links of all pages of an archive; `None` if it is missing or damaged, or has too many links.
    pub(super) fn read(
        pages: &Path,
        known: &Known,
        (urls, documents): (&UrlLimits, &Limits),
    ) -> Result<Option<Self>> {
        let mut links = Self { pairs: known.redirects.clone() };
        let mut copies: HashMap<String, Vec<Url>> = HashMap::new();
        let (mut count, files) = (0, archives_in(pages)?);
        if files.is_empty() {
            return Ok(None);
        }
        for path in &files {
            let is_whole = each_page(path, |record, url| {
                if holds_page(record) {
                    links.add((known, urls), &url, read_record(record, &url, documents))
                } else if let Some(holder) = holder_of(record)
                    && known.find(url.as_str()).is_some()
                {
                    count += 1;
                    copies.entry(holder.to_owned()).or_default().push(url);
                    count <= MAX_COPIES
                } else {
                    true
                }
            });
            if !is_whole {
                return Ok(None);
            }
        }
        if !copies.is_empty() {
            for path in &files {
                // Relative links of a copy have another base.
                let is_whole = each_page(path, |record, url| {
                    let own = copies.get(url.as_str()).filter(|_| holds_page(record));
                    own.into_iter().flatten().all(|copy| {
                        links.add((known, urls), copy, read_record(record, copy, documents))
                    })
                });
                if !is_whole {
                    return Ok(None);
                }
            }
        }
        links.pairs.sort_unstable();
        links.pairs.dedup();
        Ok(Some(links))
    }

    /// Adds the links of a page. Returns false if there are too many.
    fn add(
        &mut self,
        (known, limits): (&Known, &UrlLimits),
        url: &Url,
        document: Option<Document>,
    ) -> bool {
        let (Some(from), Some(document)) = (known.find(url.as_str()), document) else {
            return true;
        };
        if document.robots.nofollow {
            return true;
        }
        let targets = document.links.iter().filter(|link| !link.nofollow).map(|link| &link.url);
        for target in targets.chain(&document.refresh).chain(&document.canonical) {
            if let Ok(target) = normalize(target, limits)
                && let Some(to) = known.find(target.as_str())
                && to != from
            {
                self.pairs.push((from, to));
            }
        }
        self.pairs.len() <= MAX_LINKS
    }

    /// Returns the addresses to which a page links.
    pub(super) fn of(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        let begin = self.pairs.partition_point(|(own, _)| *own < from);
        let links = self.pairs.get(begin..).unwrap_or_default().iter();
        links.take_while(move |(own, _)| *own == from).map(|(_, to)| *to)
    }
}

/// Calls `visit` with each record of a file that has a URL, until it returns false. Returns whether all were visited.
fn each_page(path: &Path, mut visit: impl FnMut(&hapax_warc::Record, Url) -> bool) -> bool {
    let Some(mut records) = open(path) else { return false };
    let mut ended = Ended::Whole;
    while let Some(record) = next_record(path, &mut records, &mut ended) {
        let url = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
        let is_page = matches!(record.header("warc-type"), Some("response" | "revisit"));
        if let Some(url) = url.filter(|_| is_page)
            && !visit(&record, url)
        {
            return false;
        }
    }
    ended == Ended::Whole
}

//! The links of a crawl, from its archive.

use std::collections::HashMap;
use std::path::Path;

use hapax_data::{ArchiveFile, files_to};
use hapax_extract::{Document, Limits};
use hapax_url::{UrlLimits, normalize};
use hapax_warc::{Member, Record};
use url::Url;

use super::known::Known;
use crate::archived::{holder_of, holds_page, read_record};
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

    /// Reads the links of all pages of an archive up to its committed end, the number of a file and its length: a crawl
    /// may be at work. `None` if the archive is missing or damaged, or has too many links.
    pub(super) fn read(
        pages: &Path,
        end: (u32, u64),
        known: &Known,
        (urls, documents): (&UrlLimits, &Limits),
    ) -> Result<Option<Self>> {
        let mut links = Self { pairs: known.redirects.clone() };
        let mut copies: HashMap<String, Vec<Url>> = HashMap::new();
        let Some(files) = whole_archive(pages, end) else { return Ok(None) };
        let mut count = 0;
        for file in &files {
            let is_whole = each_page(file, |record, url| {
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
            for file in &files {
                // Relative links of a copy have another base.
                let is_whole = each_page(file, |record, url| {
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

/// Returns all files up to the committed end. Without one of them, links would be missing.
fn whole_archive(pages: &Path, end: (u32, u64)) -> Option<Vec<ArchiveFile>> {
    let files = files_to(pages, Some(end))
        .inspect_err(|error| tracing::warn!("{error}. Run `crawl check` for details"))
        .ok()?;
    (!files.is_empty() && files.len() == end.0 as usize).then_some(files)
}

/// Calls `visit` with each record of a file that has a URL, until it returns false. Returns whether all were visited.
fn each_page(file: &ArchiveFile, mut visit: impl FnMut(&Record, Url) -> bool) -> bool {
    let visited = file.each_member(|Member { record, .. }| {
        let url = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
        let is_page = matches!(record.header("warc-type"), Some("response" | "revisit"));
        Ok(url.filter(|_| is_page).is_none_or(|url| visit(&record, url)))
    });
    visited.unwrap_or_else(|error| {
        tracing::warn!("{error}. Run `crawl check` for details");
        false
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_archive_is_read_to_its_committed_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number| folder.path().join(hapax_warc::file_name(number));
        let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        write!(
            member,
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n\
             Content-Length: 0\r\n\r\n\r\n\r\n"
        )
        .unwrap();
        let member = member.finish().unwrap();
        // A crawl writes a second record, and a third file.
        std::fs::write(path(1), &member).unwrap();
        std::fs::write(path(2), [&member, &member[..member.len() / 2]].concat()).unwrap();
        std::fs::write(path(3), &member[..9]).unwrap();
        let length = member.len() as u64;
        let count = |end| {
            let mut count = 0;
            let files = whole_archive(folder.path(), end)?;
            let each = |file: &_| {
                each_page(file, |_, _| {
                    count += 1;
                    true
                })
            };
            Some((files.iter().all(each), count))
        };
        assert_eq!(count((2, length)), Some((true, 2)));
        assert_eq!(count((1, length)), Some((true, 1)));
        assert_eq!(count((0, 0)), None);
        assert_eq!(count((2, length + 9)), Some((false, 2)), "a record is cut");
        assert_eq!(count((2, 9999)), None, "less than was committed");
        std::fs::remove_file(path(2)).unwrap();
        assert_eq!(count((3, 9)), None, "a file is missing");
    }
}

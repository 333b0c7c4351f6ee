//! The links of a crawl, from its archive.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hapax_data::MAX_RECORD;
use hapax_data::files::open_stored;
use hapax_extract::{Document, Limits};
use hapax_url::{UrlLimits, normalize};
use hapax_warc::{Members, Record, file_name};
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
        let (mut count, files) = (0, committed_files(archives_in(pages)?, end));
        if files.is_empty() {
            return Ok(None);
        }
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

/// Returns the files up to the committed end, the last one with its length.
fn committed_files(files: Vec<PathBuf>, (last, length): (u32, u64)) -> Vec<(PathBuf, Option<u64>)> {
    let last = file_name(last);
    let name = |path: &PathBuf| path.file_name().is_some_and(|name| name == last.as_str());
    let before = files.iter().position(name).map_or(0, |at| at + 1);
    let length = |path: &PathBuf| name(path).then_some(length);
    files
        .into_iter()
        .take(before)
        .map(|path| (length(&path), path))
        .map(|(length, path)| (path, length))
        .collect()
}

/// Calls `visit` with each record of a file that has a URL, until it returns false. Returns whether all were visited.
fn each_page(
    (path, length): &(PathBuf, Option<u64>),
    mut visit: impl FnMut(&Record, Url) -> bool,
) -> bool {
    let mut visit = |record: &Record| {
        let url = record.header("warc-target-uri").and_then(|url| Url::parse(url).ok());
        let is_page = matches!(record.header("warc-type"), Some("response" | "revisit"));
        url.filter(|_| is_page).is_none_or(|url| visit(record, url))
    };
    if let Some(length) = length {
        let members = open_stored(path).and_then(|file| Members::new(file, *length, MAX_RECORD));
        return members
            .and_then(|mut members| {
                while let Some(member) = members.next_member()? {
                    if !visit(&member.record) {
                        return Ok(false);
                    }
                }
                Ok(true)
            })
            .unwrap_or_else(|error| {
                tracing::warn!("{}: {error}. Run `crawl check` for details", path.display());
                false
            });
    }
    let Some(mut records) = open(path) else { return false };
    let mut ended = Ended::Whole;
    while let Some(record) = next_record(path, &mut records, &mut ended) {
        if !visit(&record) {
            return false;
        }
    }
    ended == Ended::Whole
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_archive_is_read_to_its_committed_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number| folder.path().join(file_name(number));
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
        let count = |end| {
            let mut count = 0;
            let files = committed_files(archives_in(folder.path()).unwrap(), end);
            let each = |file: &_| {
                each_page(file, |_, _| {
                    count += 1;
                    true
                })
            };
            (files.iter().all(each), count)
        };
        assert_eq!(count((2, member.len() as u64)), (true, 2));
        assert_eq!(count((1, member.len() as u64)), (true, 1));
        assert_eq!(count((0, 0)), (true, 0));
        assert_eq!(count((2, member.len() as u64 + 9)), (false, 2), "less than was committed");
    }
}

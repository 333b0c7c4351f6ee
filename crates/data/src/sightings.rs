//! How often, where and when the text of each kept page was seen: counted from the log, the decisions and the tables,
//! which stay correct after a crash, a restore, a recheck and a recrawl.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use hapax_url::{host_key, registrable_site};
use hapax_warc::{format_time, parse_time};
use serde::Serialize;
use url::Url;

use crate::corpus::Corpus;
use crate::error::Result;
use crate::last_visits::LastVisits;
use crate::rows::{Row, hash_of_url};
use crate::standing::Heads;

/// The sightings of one kept page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sighted {
    /// Number of discarded pages that it represents now, without redirects and parts.
    pub copies: u64,
    /// Number of distinct hosts (with their ports) of the page and these copies.
    pub hosts: u64,
    /// Number of distinct [sites](registrable_site) of the page and these copies.
    pub sites: u64,
    /// Time of the first sighting (RFC 3339): the fetch of the page or of a copy that was once kept, or the log line of any
    /// other copy; of a page that a recrawl found changed, its fetch before.
    pub first_seen: String,
    /// Time of the last one. A visit that finds the page or the copy unchanged is one.
    pub last_seen: String,
}

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Copy {
    /// Number of the kept page; with several directories the hash of its URL. See [`Corpus::representative`].
    of: u64,
    host: u32,
    /// Hash of its URL, to count it once in several directories; 0 with one directory.
    key: u64,
    time: u64,
    /// The last visit that found it.
    visited: u64,
}

/// The copies of all kept pages: 40 bytes for each copy. The visits of a recrawl: about 40 bytes for each URL.
#[derive(Debug)]
pub struct Sightings {
    hosts: Vec<String>,
    /// Sorted.
    copies: Vec<Copy>,
    visits: LastVisits,
    is_joined: bool,
}

impl Sightings {
    /// Reads all rows of all directories, and the visits of `dirs`.
    ///
    /// # Errors
    /// If a log or the tables cannot be read.
    ///
    /// # Complexity
    /// n log n for n rows. Each kept page is looked up in the tables once.
    pub fn of<'d>(corpus: &Corpus<'_>, dirs: impl Iterator<Item = &'d Path>) -> Result<Self> {
        let visits = LastVisits::of(corpus, dirs);
        let (mut hosts, mut numbers) = (Vec::new(), HashMap::new());
        let mut copies = Vec::new();
        for (dir, heads) in corpus.heads().iter().enumerate() {
            for row in heads.rows.discarded().filter(|row| corpus.is_copy(dir, row)) {
                let Some(of) = corpus.representative(dir, row)? else { continue };
                let name = heads.rows.host(row);
                let host = match numbers.get(name) {
                    Some(number) => *number,
                    None => {
                        let number = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
                        hosts.push(name.to_owned());
                        numbers.insert(name, number);
                        number
                    }
                };
                let key = if corpus.is_joined() { row.key() } else { 0 };
                let visited = visits.of_key(row.key()).map_or(0, |sighting| sighting.last);
                copies.push(Copy { of, host, key, time: first_time(heads, row)?, visited });
            }
        }
        copies.sort_unstable();
        if corpus.is_joined() {
            // Two workers may discard one page. Equal entries are removed here; `page` merges those of different times.
            copies.dedup();
        }
        Ok(Self { hosts, copies, visits, is_joined: corpus.is_joined() })
    }

    /// Returns the sightings of the kept page with this number, URL and time of fetch.
    ///
    /// # Complexity
    /// Logarithmic in the rows, linear in the copies of the page.
    pub fn page(&self, id: u64, url: &str, fetched: &str) -> Sighted {
        let page = if self.is_joined { hash_of_url(url) } else { id };
        let from = self.copies.partition_point(|copy| copy.of < page);
        let rest = self.copies.get(from..).unwrap_or_default();
        let copies = rest.get(..rest.partition_point(|copy| copy.of == page)).unwrap_or_default();
        let own =
            Url::parse(url).map(|url| (host_key(&url), registrable_site(&url))).unwrap_or_default();
        let mut sites = HashSet::from([own.1]);
        let mut hosts = HashSet::from([own.0.as_str()]);
        // Copies are sorted by host.
        for group in copies.chunk_by(|one, other| one.host == other.host) {
            let host = group.first().and_then(|copy| self.hosts.get(copy.host as usize));
            let host = host.map_or("", String::as_str);
            if hosts.insert(host) {
                sites.insert(site_of(host));
            }
        }
        let fetched_at = parse_time(fetched).and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let fetched_at = fetched_at.map(|since| since.as_secs());
        let known = |time: &u64| *time > 0;
        let visits = self.visits.of_key(hash_of_url(url)).unwrap_or_default();
        let first = copies.iter().map(|copy| copy.time).chain([visits.first]).filter(known);
        let last = copies.iter().map(|copy| copy.time.max(copy.visited)).chain([visits.last]);
        let written = |time: Option<u64>| match time {
            Some(time) => format_time(UNIX_EPOCH + Duration::from_secs(time)),
            None => fetched.to_owned(),
        };
        let is_one = |one: &Copy, other: &Copy| one.key != 0 && one.key == other.key;
        Sighted {
            copies: copies.chunk_by(is_one).count() as u64,
            hosts: hosts.len() as u64,
            sites: sites.len() as u64,
            first_seen: written(first.chain(fetched_at).min()),
            last_seen: written(last.filter(known).chain(fetched_at).max()),
        }
    }
}

/// Returns the time of a copy. A page that was kept and later replaced has its fetch time, which is earlier than that of its
/// log line.
fn first_time(heads: &Heads<'_>, row: &Row) -> Result<u64> {
    if !heads.rows.decisions.was_replaced(row.key()) {
        return Ok(row.time);
    }
    let fetched = heads.record(row.id)?.map_or(0, |record| record.time);
    Ok(if fetched > 0 { fetched.min(row.time) } else { row.time })
}

/// Returns the site of a host as the log names it, with its port.
fn site_of(host: &str) -> String {
    // The log includes port 443 of https hosts. Here the scheme is http, so it is removed.
    let host = host.strip_suffix(":443").unwrap_or(host);
    Url::parse(&format!("http://{host}/"))
        .map_or_else(|_| host.to_owned(), |url| registrable_site(&url))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::kind::DuplicateKind;
    use crate::lines::{Discarded, DiscardedOf};
    use crate::rows::Rows;

    const HOSTS: [&str; 5] =
        ["a.example", "www.a.example:443", "b.example:8080", "b.example", "www.b.example"];
    const SITES: [&str; 5] = ["a.example", "a.example", "b.example", "b.example", "b.example"];

    /// A line of the log: its kept page, host, second, and whether it redirects or is restored.
    type Line = (u64, usize, u64, bool, bool);

    fn rows(lines: &[Line]) -> Rows {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, mut decisions) = (String::new(), String::new());
        for (number, (of, host, second, alias, restored)) in lines.iter().enumerate() {
            let id = 1000 + number as u64;
            let url = format!("http://{}/{number}", HOSTS[*host]);
            let of =
                DiscardedOf { id: Some(*of), url: format!("http://kept.example/{of}"), warc: None };
            let kind = if *alias { DuplicateKind::Alias } else { DuplicateKind::Near };
            let time = format!("2026-03-01T00:00:{second:02}Z");
            let mut line = Discarded::new(time, id, url.as_str(), kind, of);
            line.host = HOSTS[*host].to_owned();
            writeln!(log, "{}", serde_json::to_string(&line).unwrap()).unwrap();
            if *restored {
                let time = "2026-03-02T00:00:00Z";
                writeln!(decisions, r#"{{"time":"{time}","action":"restore","id":{id},"url":"{url}","by":"person"}}"#)
                    .unwrap();
            }
        }
        std::fs::write(folder.path().join("discarded.jsonl"), log).unwrap();
        std::fs::write(folder.path().join("decisions.jsonl"), decisions).unwrap();
        Rows::open(folder.path()).unwrap()
    }

    #[test]
    fn a_page_that_another_one_replaced_was_first_seen_when_it_was_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let store = hapax_dedup::Store::in_memory(hapax_dedup::Options::default()).unwrap();
        let at = |second: u64| 1_772_323_200 + second;
        let insert = |url: &str, second, of| {
            let bits = hapax_dedup::Fingerprint::from_bits(7);
            let document = hapax_dedup::Document::new(url.as_bytes(), bits);
            store.insert(&hapax_dedup::Document { time: at(second), ..document }, of).unwrap()
        };
        let better = insert("http://a.example/better", 20, None);
        let first = insert("http://a.example/first", 5, Some(better));
        let copy = insert("http://a.example/copy", 3, Some(better));
        let mut log = String::new();
        for (id, name, second) in [(first, "first", 20), (copy, "copy", 30)] {
            let (url, of) =
                (format!("http://a.example/{name}"), "http://a.example/better".to_owned());
            let of = DiscardedOf { id: Some(better), url: of, warc: None };
            let time = format!("2026-03-01T00:00:{second:02}Z");
            let mut line = Discarded::new(time, id, url, DuplicateKind::Near, of);
            line.host = "a.example".to_owned();
            writeln!(log, "{}", serde_json::to_string(&line).unwrap()).unwrap();
        }
        std::fs::write(folder.path().join("discarded.jsonl"), log).unwrap();
        let decision = r#"{"time":"2026-03-01T00:00:20Z","action":"keep","url":"http://a.example/better","of":"http://a.example/first","new_id":0,"old_id":9,"by":"survivor"}"#;
        std::fs::write(folder.path().join("decisions.jsonl"), format!("{decision}\n")).unwrap();
        let rows = Rows::open(folder.path()).unwrap();
        let corpus = Corpus::of_heads(vec![Heads::new(&rows, Some(&store))]);
        let fetched = "2026-03-01T00:00:20Z";
        let found = Sightings::of(&corpus, std::iter::empty()).unwrap().page(
            better,
            "http://a.example/better",
            fetched,
        );
        // The time of a copy that was never kept is that of its line.
        assert_eq!((found.copies, &*found.first_seen), (2, "2026-03-01T00:00:05Z"));
        assert_eq!(found.last_seen, "2026-03-01T00:00:30Z");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn sightings_agree_with_a_count_of_the_log_line_by_line(
            lines in proptest::collection::vec((0u64..4, 0usize..5, 0u64..60, any::<bool>(), any::<bool>()), 0..40),
        ) {
            let rows = rows(&lines);
            let corpus = Corpus::of_heads(vec![Heads::new(&rows, None)]);
            let sightings = Sightings::of(&corpus, std::iter::empty()).unwrap();
            for page in 0..5 {
                let url = format!("http://www.a.example/{page}");
                let found = sightings.page(page, &url, "2026-03-01T00:00:30Z");
                let own: Vec<&Line> = lines.iter().filter(|line| line.0 == page && !line.3 && !line.4).collect();
                let hosts: BTreeSet<&str> =
                    own.iter().map(|line| HOSTS[line.1]).chain(["www.a.example"]).collect();
                let sites: BTreeSet<&str> =
                    own.iter().map(|line| SITES[line.1]).chain(["a.example"]).collect();
                let times = || own.iter().map(|line| line.2).chain([30]);
                let at = |second: Option<u64>| format!("2026-03-01T00:00:{:02}Z", second.unwrap());
                let expected = Sighted {
                    copies: own.len() as u64,
                    hosts: hosts.len() as u64,
                    sites: sites.len() as u64,
                    first_seen: at(times().min()),
                    last_seen: at(times().max()),
                };
                prop_assert_eq!(found, expected);
            }
        }
    }
}

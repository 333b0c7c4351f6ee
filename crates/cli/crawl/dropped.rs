//! Links that found no place in the queue (`--max-queued-per-host`, `--max-queue`), and how they come back:
//! once the queue of their host is empty, its archived pages are read again for links.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hapax_extract::Document;
use hapax_fetch::Response;
use hapax_fetch::warc::{NEAR_DUPLICATE_PROFILE, Reader, Record, http_parts};
use hapax_frontier::{Entry, Frontier, Pushed, host_key};
use serde::{Deserialize, Serialize};
use url::Url;

use super::fetch::VALIDATORS;
use super::page::read_response;
use super::texts::MAX_RECORD;
use super::writer::Writer;

/// Under this name the frontier remembers that links to a host were dropped, and where they stood.
const DROPPED: &str = "dropped";
/// Sitemaps that are remembered of a host.
const MAX_SITEMAPS: usize = 1_000;
/// Hosts whose pages had dropped links to one host; beyond them the whole archive is read.
const MAX_SOURCES: usize = 100;
/// Hosts with a line of their own in skipped.jsonl; those beyond are counted in one line.
const MAX_HOSTS: usize = 10_000;
/// The archive is read again at most this often while other hosts have work.
const READ_EVERY: Duration = Duration::from_secs(30);

/// Where the dropped links to a host stood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Sources {
    /// Hosts of pages that are archived.
    hosts: BTreeSet<String>,
    /// There were more of them.
    all: bool,
    sitemaps: BTreeSet<String>,
    /// Some stood on pages that are not archived: `noindex`, `--links-only`.
    unarchived: bool,
}

impl Sources {
    fn add_host(&mut self, host: &str) -> bool {
        if self.all || self.hosts.contains(host) {
            return false;
        }
        self.all = self.hosts.len() >= MAX_SOURCES;
        self.all || self.hosts.insert(host.to_owned())
    }

    fn add_sitemap(&mut self, sitemap: &Url) -> bool {
        self.sitemaps.len() < MAX_SITEMAPS && self.sitemaps.insert(sitemap.to_string())
    }
}

/// The page whose links are queued now.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) host: String,
    pub(super) archived: bool,
}

/// What was dropped of one host.
#[derive(Debug, Default)]
struct Host {
    /// In this run.
    links: u64,
    first: Option<Url>,
    /// Links wait to be found again.
    pending: bool,
    sources: Sources,
    /// They cannot be in this run: there is no archive, or the last reading found no place for any.
    stuck: bool,
    /// Links that the reading under way has queued.
    queued: u64,
}

/// The links that were dropped, by host.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    hosts: BTreeMap<String, Host>,
    /// Where the links come from that are queued now; `None` for what is no link of a page.
    pub(super) source: Option<Source>,
    read: Option<Instant>,
}

impl Dropped {
    /// What earlier runs dropped and did not find again.
    pub(super) fn read(frontier: &dyn Frontier) -> Result<Self> {
        let mut dropped = Self::default();
        frontier.notes(DROPPED, &mut |host, note| {
            // An empty note says that nothing is missing.
            if let Ok(sources) = serde_json::from_slice(note) {
                let dropped_of = Host { pending: true, sources, ..Host::default() };
                dropped.hosts.insert(host.to_owned(), dropped_of);
            }
        })?;
        Ok(dropped)
    }

    /// Hosts of which links are missing.
    fn pending(&self) -> u64 {
        self.hosts.values().filter(|host| host.pending).count() as u64
    }

    /// Those of them for which something can be done in this run.
    fn hopeful(&self) -> u64 {
        self.hosts.values().filter(|host| host.pending && !host.stuck).count() as u64
    }
}

/// How the reading of an archive ended, what is worse last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    Whole,
    /// Some records cannot be read.
    Damaged,
    /// The run was told to stop.
    Stopped,
}

/// Pages whose body another record holds: their addresses, by that of the other page.
type Copies = HashMap<String, Vec<Url>>;
/// So many of them are remembered while the archive is read.
const MAX_COPIES: usize = 100_000;

/// A page of the archive, until the record behind it says how deep it was.
struct Archived {
    url: Url,
    document: Document,
    depth: Option<u16>,
}

impl Writer {
    /// Queues a link that the rules admit, unless something else speaks against it. One that finds no place
    /// is counted and found again later.
    pub(super) fn queue_link(&mut self, entry: Entry, sitemap: Option<&Url>) -> Result<()> {
        if !self.may_queue(&entry.url, entry.depth)? {
            return Ok(());
        }
        let (url, host) = (entry.url.clone(), host_key(&entry.url));
        match self.frontier.push_link(entry)? {
            Pushed::Known => {}
            Pushed::New => {
                if let Some(host) = self.dropped.hosts.get_mut(&host) {
                    host.queued += 1;
                }
            }
            Pushed::Full => self.drop_link(url, &host, sitemap),
        }
        Ok(())
    }

    fn drop_link(&mut self, url: Url, name: &str, sitemap: Option<&Url>) {
        let host = self.dropped.hosts.entry(name.to_owned()).or_default();
        if host.links == 0 {
            tracing::warn!("{name}: its queue is full, further links wait until it is empty");
        }
        host.links += 1;
        host.first.get_or_insert(url);
        let mut fresh = !std::mem::replace(&mut host.pending, true);
        fresh |= match (sitemap, &self.dropped.source) {
            (Some(sitemap), _) => host.sources.add_sitemap(sitemap),
            (None, Some(source)) if source.archived => host.sources.add_host(&source.host),
            (None, _) => !std::mem::replace(&mut host.sources.unarchived, true),
        };
        if fresh {
            let note = serde_json::to_vec(&host.sources).unwrap_or_default();
            self.frontier.note(name, DROPPED, note);
            self.tell_dropped();
        }
    }

    fn tell_dropped(&self) {
        self.stats.dropped_hosts.store(self.dropped.pending(), Relaxed);
        self.control.rereads.store(self.dropped.hopeful(), Relaxed);
    }

    /// At the start of a run: what earlier runs dropped.
    pub(super) fn remember_dropped(&mut self) -> Result<()> {
        self.dropped = Dropped::read(&*self.frontier)?;
        self.tell_dropped();
        Ok(())
    }

    /// A recrawl requests every page, so it meets all links again. Pages whose links were dropped must
    /// come whole: the answer "not modified" has none.
    pub(super) fn request_dropped(&mut self) -> Result<()> {
        let hosts: BTreeSet<String> = std::mem::take(&mut self.dropped.hosts).into_keys().collect();
        if hosts.is_empty() {
            return Ok(());
        }
        for record in self.committer.store().snapshot().records() {
            let record = record?;
            let Ok(key) = std::str::from_utf8(&record.key) else { continue };
            if Url::parse(key).is_ok_and(|url| hosts.contains(&host_key(&url))) {
                self.frontier.note(key, VALIDATORS, Vec::new());
            }
        }
        for host in hosts {
            self.frontier.note(&host, DROPPED, Vec::new());
        }
        self.tell_dropped();
        Ok(())
    }

    /// Reads the archived pages of hosts with dropped links and an empty queue again. Whether anything was
    /// done. `idle`: nothing else is left to do.
    pub(super) fn read_again(&mut self, idle: bool) -> Result<bool> {
        let early = self.dropped.read.is_some_and(|read| read.elapsed() < READ_EVERY);
        if self.dropped.hopeful() == 0 || (early && !idle) {
            return Ok(false);
        }
        let is_empty = |name: &str| {
            // What is deferred waits for the next run.
            idle || self.frontier.host(name).is_none_or(|host| host.queued == 0)
        };
        let ready: BTreeSet<String> = self
            .dropped
            .hosts
            .iter()
            .filter(|(name, host)| host.pending && !host.stuck && is_empty(name))
            .map(|(name, _)| name.clone())
            .collect();
        if ready.is_empty() {
            return Ok(false);
        }
        self.dropped.read = Some(Instant::now());
        self.committer.commit(false)?;
        let archived = self.archives()?;
        let mut sources = Sources::default();
        for name in &ready {
            self.begin_reading(name, !archived.is_empty(), &mut sources)?;
        }
        let (mut ended, mut copies) = (Ended::Whole, Copies::new());
        for path in &archived {
            ended = ended.max(self.read_archive(path, &sources, &mut copies)?);
        }
        for path in archived.iter().filter(|_| !copies.is_empty()) {
            ended = ended.max(self.read_copies(path, &copies)?);
        }
        let whole = ended != Ended::Stopped;
        self.dropped.source = None;
        let queued = |name: &String| self.dropped.hosts.get(name).map_or(0, |host| host.queued);
        // It would not end: the same pages would be read for the same links.
        let in_vain = idle && whole && ready.iter().map(queued).sum::<u64>() == 0;
        for name in &ready {
            let Some(host) = self.dropped.hosts.get_mut(name) else { continue };
            if !whole {
                // The next run reads again.
                (host.pending, host.sources.all) = (true, true);
            }
            if ended == Ended::Damaged {
                // What stood on the damaged pages is missing until a recrawl.
                (host.pending, host.stuck, host.sources.unarchived) = (true, true, true);
            }
            if !whole || (host.pending && host.sources.unarchived) {
                let note = serde_json::to_vec(&host.sources).unwrap_or_default();
                self.frontier.note(name, DROPPED, note);
            }
            host.stuck |= in_vain && host.pending;
        }
        self.committer.commit(false)?;
        self.tell_dropped();
        Ok(true)
    }

    /// Nothing of the host is missing from here on, but what is dropped again. Its sitemaps are requested
    /// again; without an archive all else waits for a recrawl.
    fn begin_reading(
        &mut self,
        name: &str,
        has_archive: bool,
        sources: &mut Sources,
    ) -> Result<()> {
        let Some(host) = self.dropped.hosts.get_mut(name) else { return Ok(()) };
        host.queued = 0;
        if !has_archive {
            host.stuck = true;
            return Ok(());
        }
        let of = std::mem::take(&mut host.sources);
        // Those on pages that are not archived stay missing until a recrawl.
        host.sources.unarchived = of.unarchived;
        (host.pending, host.stuck) = (of.unarchived, of.unarchived);
        sources.hosts.extend(of.hosts);
        sources.all |= of.all;
        let sitemaps = of.sitemaps;
        self.frontier.note(name, DROPPED, Vec::new());
        for sitemap in sitemaps {
            if let Ok(sitemap) = Url::parse(&sitemap)
                && self.sitemap_again(&sitemap)?
                && let Some(host) = self.dropped.hosts.get_mut(name)
            {
                host.queued += 1;
            }
        }
        Ok(())
    }

    /// The files of the archive, in the order in which they were written.
    fn archives(&self) -> Result<Vec<PathBuf>> {
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

    fn read_archive(
        &mut self,
        path: &Path,
        sources: &Sources,
        copies: &mut Copies,
    ) -> Result<Ended> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut records =
            Reader::new(file, MAX_RECORD).with_context(|| path.display().to_string())?;
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
                page = self.archived_page(&record, url);
            } else if wanted && let Some(other) = holder_of(&record) {
                if copies.len() < MAX_COPIES {
                    copies.entry(other.to_owned()).or_default().push(url);
                } else {
                    tracing::warn!(
                        "{url}: its links are not read again, the archive has too many copies"
                    );
                }
            }
        }
        page.map_or(Ok(()), |page| self.follow_archived(page)).map(|()| ended)
    }

    /// Follows the links of pages whose body is that of another page: relative ones lead elsewhere.
    fn read_copies(&mut self, path: &Path, copies: &Copies) -> Result<Ended> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut records =
            Reader::new(file, MAX_RECORD).with_context(|| path.display().to_string())?;
        let mut ended = Ended::Whole;
        while let Some(record) = next_record(path, &mut records, &mut ended) {
            if self.control.stops.load(Relaxed) {
                return Ok(Ended::Stopped);
            }
            let target = record.header("warc-target-uri").unwrap_or_default();
            let Some(urls) = copies.get(target).filter(|_| holds_page(&record)) else { continue };
            for url in urls {
                if let Some(page) = self.archived_page(&record, url.clone()) {
                    self.follow_archived(page)?;
                }
            }
        }
        Ok(ended)
    }

    fn archived_page(&self, record: &Record, url: Url) -> Option<Archived> {
        let (status, headers, raw) = http_parts(&record.block)?;
        let encoding = headers.iter().find(|(name, _)| name == "content-encoding");
        let encoding = encoding.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        // By whatever limits it was fetched, it was within them.
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

    /// The links of a page, as when it was fetched.
    fn follow_archived(&mut self, page: Archived) -> Result<()> {
        if page.document.robots.nofollow {
            return Ok(());
        }
        self.dropped.source = Some(Source { host: host_key(&page.url), archived: true });
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

    /// One line a host whose links were dropped in this run.
    pub(super) fn log_dropped(&mut self) -> Result<()> {
        let further = self.dropped.hosts.len().saturating_sub(MAX_HOSTS);
        if further > 0
            && let Some(url) = self.dropped.hosts.values().find_map(|host| host.first.clone())
        {
            let detail = format!("links to {further} further hosts found a queue full");
            self.committer.skip(url.as_str(), "queue", &detail)?;
        }
        let hosts: Vec<(Url, String)> = self
            .dropped
            .hosts
            .iter()
            .take(MAX_HOSTS)
            .filter_map(|(name, host)| {
                let again = match (host.pending, host.stuck) {
                    (false, _) => "they were found again",
                    (true, false) => "they are found again once its queue is empty",
                    (true, true) => "--recrawl finds them again",
                };
                let links = host.links;
                let detail = format!(
                    "{links} links to {name} found its queue full (--max-queued-per-host, --max-queue): {again}"
                );
                Some((host.first.clone()?, detail))
            })
            .collect();
        for (url, detail) in hosts {
            self.committer.skip(url.as_str(), "queue", &detail)?;
        }
        Ok(())
    }
}

/// The next record that can be read, also behind a damage.
fn next_record(path: &Path, records: &mut Reader<File>, ended: &mut Ended) -> Option<Record> {
    loop {
        match records.next_record() {
            Ok(record) => return record,
            Err(error) => {
                if *ended == Ended::Whole {
                    tracing::warn!("{}: {error}: see `crawl check`", path.display());
                }
                *ended = Ended::Damaged;
                if !records.resync().is_ok_and(|found| found) {
                    return None;
                }
            }
        }
    }
}

/// Whether a record of our own archive holds a whole page.
fn holds_page(record: &Record) -> bool {
    match record.header("warc-type") {
        Some("response") => true,
        Some("revisit") => record.header("warc-profile") == Some(NEAR_DUPLICATE_PROFILE),
        _ => false,
    }
}

/// The address of the page whose record holds the same body as this one, which has none.
fn holder_of(record: &Record) -> Option<&str> {
    let same = record.header("warc-type") == Some("revisit")
        && record
            .header("warc-profile")
            .is_some_and(|profile| profile.ends_with("identical-payload-digest"));
    record.header("warc-refers-to-target-uri").filter(|_| same)
}

/// How far from a seed a page was, by the record behind it.
fn depth_of(record: &Record) -> Option<u16> {
    let block = String::from_utf8_lossy(&record.block);
    block.lines().find_map(|line| line.strip_prefix("depth: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_can_be_read_again_are_told_from_those_that_cannot() {
        let mut dropped = Dropped::default();
        let host = |pending, stuck| Host { pending, stuck, ..Host::default() };
        dropped.hosts.insert("a".into(), host(true, false));
        dropped.hosts.insert("b".into(), host(true, true));
        dropped.hosts.insert("c".into(), host(false, false));
        assert_eq!((dropped.pending(), dropped.hopeful()), (2, 1));
    }

    #[test]
    fn sources_are_remembered_up_to_a_limit_and_read_back() {
        let mut sources = Sources::default();
        let url = Url::parse("http://a.example/sitemap.xml").unwrap();
        assert!(sources.add_host("a.example") && !sources.add_host("a.example"));
        assert!(sources.add_sitemap(&url) && !sources.add_sitemap(&url));
        for number in 0..=MAX_SOURCES {
            sources.add_host(&number.to_string());
        }
        assert!(sources.all && sources.hosts.len() == MAX_SOURCES);
        let note = serde_json::to_vec(&sources).unwrap();
        assert_eq!(serde_json::from_slice::<Sources>(&note).unwrap(), sources);
        assert!(serde_json::from_slice::<Sources>(b"").is_err(), "nothing is missing");
    }
}

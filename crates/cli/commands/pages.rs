//! `crawl pages`: stored pages through the same line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use bytes::Bytes;
use hapax_fetch::warc::{NEAR_DUPLICATE_PROFILE, Reader, http_parts, parse_time};
use hapax_fetch::{Response, decode_bytes_within};
use url::Url;

use super::input::{as_it_lies, head_and_whole, read_file, read_line, unpacked, within};
use super::item::{Item, MAX_LINE};
use super::stored_kind::{StoredKind, stored_kind};
use crate::args::Common;
use crate::crawl::{
    Committer, Outcome, PageWork, Parts, Stats, Summary, Unread, check_settings, read_response,
};
use crate::data::DataDir;
use crate::exit::{BAD_INPUT, COMPLETE};
use crate::output::{duration, escape, number};
use crate::settings::Settings;

/// Of a larger WARC record nothing is read, whatever `--max-body` is.
const MAX_RECORD: u64 = 256 << 20;
/// What a record may have beside a body: its head, and the sizes of chunks.
const RECORD_ROOM: u64 = 1 << 20;

/// Characters that are told of an address that is none.
const MAX_TARGET: usize = 2048;

/// Pages that are extracted at a time, on all cores; committed in their order.
const CHUNK: usize = 128;
/// So many bytes of them wait at most, and one page more.
const CHUNK_BYTES: usize = 64 << 20;
/// A tree takes ten times its page: larger ones are read one after the other.
const LARGE_PAGE: usize = 1 << 20;

pub(super) fn run(
    files: &[PathBuf],
    root: &Path,
    settings: Settings,
    common: &Common,
) -> Result<u8> {
    let saved = crate::data::saved(root)?.unwrap_or_default();
    let settings = settings.or(saved.settings);
    check_settings(&settings, &[])?;
    let data = DataDir::open(root)?;
    let parts = Parts {
        recipe: settings.recipe()?,
        policy: settings.policy()?,
        warc: settings.warc(),
        index: settings.index(),
        skips: true,
        shared: false,
        keep_duplicates: false,
    };
    let stats = Arc::new(Stats::default());
    let committer = Committer::open(&data, &parts, None, Arc::clone(&stats))?;
    data.save(saved.seeds, &settings)?;
    let started = Instant::now();
    let limits = settings.page_limits()?;
    let mut line = Line {
        committer,
        limits,
        fetched: settings.limits()?,
        chunk: Vec::new(),
        waiting: 0,
        bad: 0,
        skipped: 0,
        left_out: 0,
        done: 0,
        known: 0,
    };
    line.committer.apply_spool()?;
    for path in files {
        line.path(path)?;
    }
    line.flush()?;
    line.committer.apply_spool()?;
    line.committer.commit(true)?;
    let elapsed = line.committer.elapsed();
    let Line { committer, bad, skipped, left_out, done, known, .. } = line;
    committer.close()?;
    // That of a crawl knows of queues too, and is written by the next one.
    if !data.frontier().exists() {
        let summary = Summary::of_pages(&stats, elapsed, data.root());
        data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?;
    }
    if !common.quiet {
        let pages = stats.pages();
        let took = started.elapsed().max(Duration::from_millis(1));
        let told = println(&format!(
            "{} pages in {}, {:.0} pages/s\n  indexed in all   {:>9}\n  discarded in all {:>9}   exact {}, near {}, canonical {}\n  known before     {:>9}\n  no pages         {:>9}   see skipped.jsonl\n  bad inputs       {:>9}",
            number(done),
            duration(took),
            done as f64 / took.as_secs_f64(),
            number(pages.indexed),
            number(pages.discarded()),
            pages.exact,
            pages.near,
            pages.canonical,
            number(known),
            number(skipped),
            number(bad),
        ));
        crate::output::unless_closed(told)?;
        if left_out > 0 {
            crate::output::unless_closed(println(&format!(
                "  left out         {:>9}   in folders, neither HTML, .txt nor WARC: name a file to have it read",
                number(left_out)
            )))?;
        }
    }
    Ok(if bad > 0 { BAD_INPUT } else { COMPLETE })
}

fn println(text: &str) -> io::Result<()> {
    use std::io::Write;
    writeln!(io::stdout(), "{text}")
}

/// A page that waits for its turn.
struct Stored {
    url: Url,
    response: Response,
    time: SystemTime,
    /// What the input calls it.
    title: Option<String>,
}

struct Line {
    committer: Committer,
    limits: hapax_extract::Limits,
    fetched: hapax_fetch::Limits,
    chunk: Vec<Stored>,
    /// Bytes of the chunk.
    waiting: usize,
    bad: u64,
    skipped: u64,
    /// Files of folders that are no pages.
    left_out: u64,
    done: u64,
    known: u64,
}

impl Line {
    /// What was named: it is read whatever it is called, or said to be no page.
    fn path(&mut self, path: &Path) -> Result<()> {
        if path == Path::new("-") {
            return match unpacked(BufReader::new(io::stdin())) {
                Ok(mut lines) => self.jsonl(&mut *lines, Path::new("stdin")),
                Err(error) => self.report(Path::new("stdin"), &error.to_string()),
            };
        }
        if path.is_dir() { self.folder(path) } else { self.file(path) }
    }

    /// Of what lies in a folder only pages are taken: scripts, styles and pictures lie there too.
    fn folder(&mut self, path: &Path) -> Result<()> {
        let mut entries: Vec<PathBuf> = match std::fs::read_dir(path) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) => return self.report(path, &error.to_string()),
        };
        entries.sort();
        for entry in entries {
            // A link to a folder could lead in a circle.
            if entry.is_dir() && !entry.is_symlink() {
                self.folder(&entry)?;
            } else if entry.is_file() {
                match head_and_whole(&entry) {
                    Ok((head, _)) if stored_kind(&entry, &head).is_among_pages() => {
                        self.file(&entry)?
                    }
                    Ok(_) => self.left_out += 1,
                    Err(error) => self.report(&entry, &error.to_string())?,
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        let (head, whole) = match head_and_whole(path) {
            Ok(found) => found,
            Err(error) => return self.report(path, &error.to_string()),
        };
        let content_type = match stored_kind(path, &head) {
            StoredKind::Warc if path.is_file() => return self.warc(path, File::open(path)),
            // Of a pipe nothing can be read twice.
            StoredKind::Warc => return self.warc(path, as_it_lies(whole).map(io::Cursor::new)),
            StoredKind::Lines => {
                return match unpacked(BufReader::new(whole)) {
                    Ok(mut lines) => self.jsonl(&mut *lines, path),
                    Err(error) => self.report(path, &error.to_string()),
                };
            }
            StoredKind::Nothing => return self.report(path, "neither HTML, text, JSONL nor WARC"),
            StoredKind::Page(content_type) | StoredKind::Text(content_type) => content_type,
        };
        let body = match within(whole) {
            Ok(body) => body,
            Err(error) => return self.report(path, &error.to_string()),
        };
        let url = std::path::absolute(path).ok().and_then(|path| Url::from_file_path(path).ok());
        let Some(url) = url else { return self.report(path, "no path") };
        let time = std::fs::metadata(path).and_then(|meta| meta.modified());
        let response = response(&url, content_type, body);
        self.add(url, response, time.unwrap_or_else(|_| SystemTime::now()), None)
    }

    fn warc(&mut self, path: &Path, file: io::Result<impl io::Read + io::Seek>) -> Result<()> {
        let max_body = self.fetched.max_body;
        let most = (max_body as u64).saturating_add(RECORD_ROOM).min(MAX_RECORD);
        let reader = file.and_then(|file| Reader::new(file, most));
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(error) => return self.report(path, &error.to_string()),
        };
        loop {
            let record = match reader.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                // What lies before the damage is used, and what lies behind it.
                Err(error) => {
                    self.report(path, &error.to_string())?;
                    match reader.resync() {
                        Ok(true) => continue,
                        Ok(false) => return Ok(()),
                        Err(error) => return self.report(path, &error.to_string()),
                    }
                }
            };
            // Some tools store a page without its HTTP headers, as a resource.
            let resource = match record.header("warc-type") {
                Some("response") => false,
                Some("resource") => true,
                // Our own hold the whole response of a near-duplicate.
                Some("revisit")
                    if record.header("warc-profile") == Some(NEAR_DUPLICATE_PROFILE) =>
                {
                    false
                }
                _ => continue,
            };
            let time = record.header("warc-date").and_then(parse_time);
            let time = time.unwrap_or_else(SystemTime::now);
            let target = record.header("warc-target-uri").unwrap_or_default();
            // Some writers put the address in angle brackets.
            let target = target.trim_matches(['<', '>']);
            let Ok(url) = Url::parse(target) else {
                let target: String = target.chars().take(MAX_TARGET).collect();
                self.skip(&target, "protocol", "the record names no address that can be read")?;
                continue;
            };
            if matches!(url.scheme(), "dns" | "metadata" | "whois" | "filedesc" | "warcinfo") {
                // Look-ups of names, the archiver's own logs.
                self.skip(url.as_str(), "protocol", "the record is of no page")?;
                continue;
            }
            if url.path() == "/robots.txt" {
                // Other crawlers archive it with the pages.
                self.skip(url.as_str(), "content-type", "rules for robots, no page")?;
                continue;
            }
            // Its block was not read.
            let length = record.header("content-length").and_then(|l| l.parse::<u64>().ok());
            if let Some(length) = length.filter(|length| *length > most) {
                self.skip(url.as_str(), "too-large", &format!("a record of {length} bytes"))?;
                continue;
            }
            let content_type = record.header("content-type").unwrap_or_default().to_owned();
            let block = Bytes::from(record.block);
            if resource {
                if block.len() > max_body {
                    self.skip(url.as_str(), "too-large", &format!("over {max_body} bytes"))?;
                    continue;
                }
                let response = response(&url, &content_type, block);
                self.add(url, response, time, None)?;
                continue;
            }
            let Some((status, headers, raw)) = http_parts(&block) else {
                self.skip(url.as_str(), "protocol", "the record holds no HTTP response")?;
                continue;
            };
            // A part of the block, not a copy.
            let raw = block.slice(block.len().saturating_sub(raw.len())..);
            if status != 200 {
                self.skip(url.as_str(), "http-other", &format!("status {status}"))?;
                continue;
            }
            let header = |name: &str| {
                let (_, value) = headers.iter().find(|(header, _)| header == name)?;
                Some(String::from_utf8_lossy(value).into_owned())
            };
            let raw = match header("transfer-encoding").is_some_and(|t| t.contains("chunked")) {
                true => dechunk(&raw).map_or(raw, Bytes::from),
                false => raw,
            };
            if raw.len() > max_body {
                self.skip(url.as_str(), "too-large", &format!("over {max_body} bytes"))?;
                continue;
            }
            let encoding = header("content-encoding").unwrap_or_default();
            let body = match decode_bytes_within(&raw, &encoding, &self.fetched) {
                Ok(body) => body,
                Err(error) => {
                    self.skip(url.as_str(), error.reason(), &error.to_string())?;
                    continue;
                }
            };
            let mut response = Response::stored(url.clone(), status, headers, raw);
            response.body = body;
            self.add(url, response, time, None)?;
        }
    }

    fn jsonl(&mut self, mut input: &mut dyn BufRead, name: &Path) -> Result<()> {
        let mut number = 0u64;
        loop {
            number += 1;
            let bytes = match read_line(&mut input, MAX_LINE) {
                Ok(None) => return Ok(()),
                Ok(Some(bytes)) => bytes,
                // What came before the damage is used.
                Err(error) => return self.report(name, &error.to_string()),
            };
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let item = Item::parse_page(&bytes).and_then(|item| {
                let url = item.url.clone().unwrap_or_else(|| item.id.clone());
                let url = Url::parse(&url).map_err(|_| format!("{url:?} is no URL"))?;
                let (kind, body) = item.body(read_named)?;
                Ok((url, kind, body, item.title))
            });
            match item {
                Ok((url, kind, body, title)) => {
                    let response = response(&url, &kind, body);
                    self.add(url, response, SystemTime::now(), title)?;
                }
                Err(what) => self.report(name, &format!("line {number}: {what}"))?,
            }
        }
    }

    fn add(
        &mut self,
        url: Url,
        response: Response,
        time: SystemTime,
        title: Option<String>,
    ) -> Result<()> {
        self.waiting += response.body.len() + response.raw.len();
        self.chunk.push(Stored { url, response, time, title });
        if self.chunk.len() >= CHUNK || self.waiting >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.committer.apply_spool()?;
        let chunk = std::mem::take(&mut self.chunk);
        self.waiting = 0;
        let large = Mutex::new(());
        let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let (recipe, limits) = (self.committer.recipe(), &self.limits);
        let read = |Stored { url, response, time, title }: &Stored| {
            let _alone = (response.body.len() > LARGE_PAGE)
                .then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            let page = || {
                let (url, response) = (url.clone(), response.clone());
                let mut document = read_response(&url, &response, limits, true)?;
                if let Some(title) = title {
                    document.title.clone_from(title);
                }
                Ok(PageWork::from_document(None, url, response, document, *time, recipe))
            };
            // One page's failure is not the job's.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(page)).unwrap_or_else(|_| {
                Err(Unread { reason: "extraction", detail: "the page makes it fail".into() })
            })
        };
        let work = |results: &mut Vec<(usize, Result<PageWork, Unread>)>| loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(page) = chunk.get(index) else { return };
            results.push((index, read(page)));
        };
        let mut all: Vec<(usize, Result<PageWork, Unread>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| {
                        let mut results = Vec::new();
                        work(&mut results);
                        results
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
        });
        all.sort_by_key(|(index, _)| *index);
        for (index, page) in all {
            match page {
                Ok(page) => {
                    if let Outcome::Known = self.committer.page(&page)? {
                        self.known += 1;
                    }
                    self.done += 1;
                    self.committer.maybe_commit()?;
                }
                Err(unread) => {
                    let Some(Stored { url, .. }) = chunk.get(index) else { continue };
                    self.skip(url.as_str(), unread.reason, &unread.detail)?;
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, url: &str, reason: &str, detail: &str) -> Result<()> {
        self.skipped += 1;
        self.committer.skip(url, reason, detail)
    }

    fn report(&mut self, path: &Path, what: &str) -> Result<()> {
        self.bad += 1;
        let message = format!("{}: {what}", path.display());
        if io::stderr().is_terminal() || self.bad <= 100 {
            crate::output::error(&anyhow::anyhow!(escape(&message)));
        }
        Ok(())
    }
}

/// A response for a page that never had one.
fn response(url: &Url, content_type: &str, body: impl Into<Bytes>) -> Response {
    let body = body.into();
    let headers = vec![
        ("content-type".to_owned(), content_type.as_bytes().to_vec()),
        ("content-length".to_owned(), body.len().to_string().into_bytes()),
    ];
    Response::stored(url.clone(), 200, headers, body)
}

/// Undoes chunked transfer coding, which some crawlers leave in their records.
fn dechunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.iter().position(|&b| b == b'\n')?;
        let line = std::str::from_utf8(rest.get(..end)?).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = rest.get(end + 1..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?;
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    }
}

/// Reads a file named in a JSON line.
pub(super) fn read_named(path: &str) -> Result<Vec<u8>, String> {
    read_file(Path::new(path)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{path}: no such file"),
        _ => format!("{path}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_cut_ones_refused() {
        assert_eq!(dechunk(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        assert_eq!(dechunk(b"3\r\nab"), None);
        assert_eq!(dechunk(b"zz\r\n"), None);
    }
}

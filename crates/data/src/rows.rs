//! Rows of discarded.jsonl without parsing it again: one small record a line, in a cache file next to the log. The
//! file is rebuilt from the log if it is missing or behind.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::cause::{CauseSet, WantedCause};
use crate::committed::Committed;
use crate::decisions::Decisions;
use crate::declared::{declared_by, in_normal_form};
use crate::error::{Context, Error, Result};
use crate::kind::DuplicateKind;
use crate::lines::Discarded;

/// A row of the log, without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Offset of its line in the log.
    pub offset: u64,
    /// The page's number in the store.
    pub id: u64,
    /// The number of the kept page, or [`NONE`].
    pub of: u64,
    key: u64,
    /// Hash of the URL of the kept page.
    pub of_key: u64,
    /// Hash of the declared canonical address in normal form, or 0 for none.
    declared: u64,
    /// Seconds since 1970.
    pub time: u64,
    /// Number of the host, see [`Rows::host_name`].
    pub host: u32,
    /// Size of the body in bytes.
    pub bytes: u32,
    /// Similarity in thousandths, or 65,535 for none.
    pub similarity: u16,
    /// Hamming distance in bits, or 255 for none.
    pub distance: u8,
    /// The kind of duplicate.
    pub kind: DuplicateKind,
    /// Language: two letters, or zeros.
    pub language: [u8; 2],
    /// The causes in the line; [`Rows::causes`] are those of the present representative.
    pub(crate) causes: CauseSet,
}

/// No number.
pub const NONE: u64 = u64::MAX;
/// The last byte is the version.
const MAGIC: u64 = u64::from_le_bytes(*b"HAPXROW3");
const HEAD: usize = 40;
const WIDTH: usize = 72;
/// New rows that make rewriting the cache file worthwhile.
const WORTH_WRITING: usize = 2000;

/// All rows of a data directory, in the order of the log, with the decisions about them.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    hosts: Vec<String>,
    host_numbers: HashMap<String, u32>,
    covered: u64,
    /// Hash of the first line, which identifies the log.
    first: u64,
    log: RefCell<Option<BufReader<File>>>,
    /// Number of indexed rows, and the newest row of each id. Extended on demand.
    places: RefCell<(usize, HashMap<u64, usize>)>,
    /// Whether the rows came from the cache file and are valid.
    is_cached: bool,
    path: PathBuf,
    committed: Committed,
    /// The decisions about rows.
    pub decisions: Decisions,
}

/// Returns whether a host of the log (`name:port` or `name`) matches `asked`, which without a port matches all ports.
pub fn is_of_host(known: &str, asked: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = known.rsplit_once(':').filter(|(_, port)| is_port(port)).map(|(name, _)| name);
    known.eq_ignore_ascii_case(asked) || name.is_some_and(|name| name.eq_ignore_ascii_case(asked))
}

impl Row {
    /// Returns whether the row is a redirect.
    pub fn is_alias(&self) -> bool {
        self.kind == DuplicateKind::Alias
    }

    /// Returns whether its page is a part of the other page, not a copy of it.
    pub fn is_part(&self) -> bool {
        self.kind == DuplicateKind::Part
    }

    /// Returns the hash of its URL.
    pub(crate) const fn key(&self) -> u64 {
        self.key
    }

    /// Returns the hash of the declared canonical address in normal form.
    pub(crate) fn declared(&self) -> Option<u64> {
        Some(self.declared).filter(|declared| *declared != 0)
    }

    /// Returns whether the other page is in a reference (`--against`), not in this data directory.
    pub fn is_against(&self) -> bool {
        self.of == NONE && !self.is_alias()
    }
}

impl Rows {
    /// Opens the rows of `data` and reads the log up to its committed end.
    pub fn open(data: &Path) -> Result<Self> {
        let path = data.join("discarded.jsonl");
        let log = match File::open(&path) {
            Ok(log) => Some(BufReader::with_capacity(1 << 16, log)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let committed = Committed::at_open(data);
        let decisions = Decisions::read_to(data, committed.decisions)?;
        let mut rows = Self::empty(path, log, committed, decisions);
        rows.first = rows.first_line()?;
        let cache = data.join("discarded.index");
        if let Ok(bytes) = std::fs::read(&cache) {
            rows.load(&bytes);
        }
        let before = rows.rows.len();
        rows.is_cached = before > 0;
        rows.catch_up()?;
        let cached = if rows.is_cached { before } else { 0 };
        if rows.rows.len() >= cached + WORTH_WRITING || rows.rows.len() < before {
            // The cache is optional: if it cannot be written, the log is parsed again next time.
            let _ = crate::dir::replace(data, "discarded.index", &rows.to_bytes());
        }
        Ok(rows)
    }

    fn empty(
        path: PathBuf,
        log: Option<BufReader<File>>,
        committed: Committed,
        decisions: Decisions,
    ) -> Self {
        Self {
            committed,
            rows: Vec::new(),
            hosts: Vec::new(),
            host_numbers: HashMap::new(),
            covered: 0,
            first: 0,
            log: RefCell::new(log),
            places: RefCell::default(),
            is_cached: false,
            path,
            decisions,
        }
    }

    /// Reads lines that were appended. After a crash the log may be shorter.
    pub fn catch_up(&mut self) -> Result<()> {
        let taken = self.log.borrow_mut().take();
        let Some(mut reader) = taken else { return Ok(()) };
        let read = self.read_on(&mut reader);
        *self.log.borrow_mut() = Some(reader);
        read
    }

    /// Reads line by line: a log is much larger than its rows.
    fn read_on(&mut self, reader: &mut BufReader<File>) -> Result<()> {
        let length = reader.get_ref().metadata()?.len().min(self.committed.discarded);
        if length < self.covered {
            // Lines behind the committed end were cut off after a crash.
            self.rows.truncate(self.rows.partition_point(|row| row.offset < length));
            *self.places.get_mut() = (0, HashMap::new());
            self.covered = length;
        }
        if !last_stands(reader, self.rows.last(), self.covered) {
            self.rows.clear();
            *self.places.get_mut() = (0, HashMap::new());
            self.covered = 0;
            self.is_cached = false;
        }
        reader.seek(SeekFrom::Start(self.covered))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let left = length.saturating_sub(self.covered);
            let count = reader.take(left).read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Ok(());
            }
            let entry = parse(&line, &self.path, self.covered)?;
            let row = self.row(self.covered, &entry);
            self.rows.push(row);
            self.covered += count as u64;
        }
    }

    /// Updates rows and decisions.
    pub fn refresh(&mut self, data: &Path) -> Result<()> {
        if !self.is_same_file() || self.first_line()? != self.first {
            *self = Self::open(data)?;
            return Ok(());
        }
        self.committed.renew(data);
        self.catch_up()?;
        if self.is_behind() {
            self.decisions = Decisions::read_to(data, self.committed.decisions)?;
        }
        Ok(())
    }

    /// Returns whether a process is writing the log, or was since it was read.
    pub fn is_stale(&self) -> bool {
        let data = self.path.parent().unwrap_or(Path::new("."));
        self.is_behind() || !self.committed.is_current(data)
    }

    /// Returns whether there are new decisions since the last read.
    fn is_behind(&self) -> bool {
        let length = std::fs::metadata(self.path.with_file_name("decisions.jsonl"));
        let length = length.map_or(0, |meta| meta.len()).min(self.committed.decisions);
        length != self.decisions.bytes
    }

    /// Returns whether the open log is still the one on disk: `--fresh` replaces it.
    fn is_same_file(&self) -> bool {
        let log = self.log.borrow();
        let open = log.as_ref().and_then(|log| log.get_ref().metadata().ok());
        match (open, std::fs::metadata(&self.path)) {
            #[cfg(unix)]
            (Some(open), Ok(there)) => {
                use std::os::unix::fs::MetadataExt;
                (open.dev(), open.ino()) == (there.dev(), there.ino())
            }
            #[cfg(not(unix))]
            (Some(open), Ok(there)) => open.created().ok() == there.created().ok(),
            _ => false,
        }
    }

    fn first_line(&self) -> Result<u64> {
        let mut log = self.log.borrow_mut();
        let Some(reader) = log.as_mut() else { return Ok(0) };
        let mut line = Vec::new();
        reader.seek(SeekFrom::Start(0))?;
        reader.read_until(b'\n', &mut line)?;
        Ok(hash(&line))
    }

    fn row(&mut self, offset: u64, entry: &Discarded) -> Row {
        let time = hapax_warc::parse_time(&entry.time)
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let similarity = entry.similarity.map(|s| (s * 1000.0).round().clamp(0.0, 1000.0) as u16);
        Row {
            offset,
            id: entry.id,
            of: entry.of.id.unwrap_or(NONE),
            key: hash(entry.url.as_bytes()),
            of_key: hash(entry.of.url.as_bytes()),
            declared: declared_by(entry)
                .map_or(0, |declared| hash(in_normal_form(declared).as_bytes())),
            time: time.map_or(0, |since| since.as_secs()),
            host: self.number_of(&entry.host),
            bytes: u32::try_from(entry.bytes).unwrap_or(u32::MAX),
            similarity: similarity.unwrap_or(u16::MAX),
            distance: entry.distance.map_or(u8::MAX, |d| d.min(64) as u8),
            kind: entry.kind,
            language: entry.language.as_bytes().try_into().unwrap_or_default(),
            causes: CauseSet::of(entry.cause.iter().map(String::as_str)),
        }
    }

    fn number_of(&mut self, host: &str) -> u32 {
        if let Some(&number) = self.host_numbers.get(host) {
            return number;
        }
        let number = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        self.hosts.push(host.to_owned());
        self.host_numbers.insert(host.to_owned(), number);
        number
    }

    /// Returns the host of a row.
    pub fn host(&self, row: &Row) -> &str {
        self.host_name(row.host)
    }

    /// Returns the host with this number.
    pub fn host_name(&self, number: u32) -> &str {
        self.hosts.get(number as usize).map_or("", String::as_str)
    }

    /// Returns the rank of each host by name.
    pub fn host_ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_by_key(|host| self.hosts.get(*host));
        let mut ranks = vec![u32::MAX; order.len()];
        for (rank, host) in (0..).zip(order) {
            ranks.get_mut(host).into_iter().for_each(|slot| *slot = rank);
        }
        ranks
    }

    /// Returns the numbers of a host. A name without a port means all of its ports.
    pub fn host_numbers(&self, host: &str) -> Vec<u32> {
        let hosts = self.hosts.iter().zip(0..);
        hosts.filter(|(known, _)| is_of_host(known, host)).map(|(_, number)| number).collect()
    }

    /// Returns all rows, in the order of the log.
    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the rows whose page is discarded now: neither restored nor kept instead of another.
    pub fn discarded(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| self.is_discarded(row))
    }

    /// Returns whether the page of a row is discarded now.
    pub fn is_discarded(&self, row: &Row) -> bool {
        self.decisions.restored(row.id).is_none()
            && !self.decisions.took_over(row.id)
            && !self.decisions.ended(row.id)
    }

    /// Returns the current representative of a row: its number, and its URL if the log names another.
    pub fn kept_for(&self, row: &Row) -> (u64, Option<&str>) {
        match self.decisions.representative(row.of) {
            Some((id, url)) => (id, Some(url)),
            None => (row.of, None),
        }
    }

    /// Returns the line of a row, with its current representative.
    pub fn entry(&self, row: &Row) -> Result<Discarded> {
        let mut entry = self.line(row)?;
        if let Some((id, url)) = self.stands_for(row)
            && url.as_bytes() != entry.own_key()
        {
            entry.of.id = Some(id);
            entry.of.url = url.to_owned();
            entry.of.warc = None;
            if !row.is_alias() {
                entry = entry.with_cause();
            }
        }
        Ok(entry)
    }

    /// Returns why a row's page has a second address, by its present representative.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn causes(&self, row: &Row) -> Result<CauseSet> {
        match self.stands_for(row) {
            Some(_) => Ok(CauseSet::of(self.entry(row)?.cause.iter().map(String::as_str))),
            None => Ok(row.causes),
        }
    }

    /// Returns whether a row has a cause.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn has_cause(&self, row: &Row, wanted: &WantedCause) -> Result<bool> {
        Ok(self.causes(row)?.meets(wanted.set)
            && match &wanted.value {
                Some(value) => self.entry(row)?.cause.contains(value),
                None => true,
            })
    }

    /// Returns the representative of a row, if it differs from the one in the line. A row whose page is kept now has
    /// none, and one that has ended keeps the one in the line.
    fn stands_for(&self, row: &Row) -> Option<(u64, &str)> {
        let is_over = self.decisions.took_over(row.id) || self.decisions.ended(row.id);
        self.decisions.representative(row.of).filter(|_| !is_over)
    }

    /// Returns the line of a row, as it was written.
    pub fn line(&self, row: &Row) -> Result<Discarded> {
        parse(&self.bytes_of(row)?, &self.path, row.offset)
    }

    /// Returns the bytes of the line of a row.
    fn bytes_of(&self, row: &Row) -> Result<Vec<u8>> {
        let mut log = self.log.borrow_mut();
        let reader =
            log.as_mut().ok_or_else(|| Error::Damaged("discarded.jsonl is missing".to_owned()))?;
        // Consecutive rows are read from one buffer.
        let here = reader.stream_position()?;
        reader.seek_relative(row.offset.wrapping_sub(here).cast_signed())?;
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Returns `false` if no value of a row's entry contains a text in lower case. It parses no line: that is most of
    /// the time of a search.
    pub(crate) fn may_contain(&self, row: &Row, text: &str) -> Result<bool> {
        let is_escaped = |c: char| c == '"' || c == '\\' || c.is_control();
        if self.stands_for(row).is_some() || text.contains(is_escaped) {
            return Ok(true);
        }
        let line = self.bytes_of(row)?;
        let Ok(line) = std::str::from_utf8(&line) else { return Ok(true) };
        Ok(line.contains('\\') || line.to_lowercase().contains(text))
    }

    /// Returns the page that a row was compared with, if another one is the representative now.
    pub fn compared_with(&self, row: &Row) -> Result<Option<String>> {
        let Some((_, now)) = self.stands_for(row) else { return Ok(None) };
        let line = self.line(row)?;
        Ok((now.as_bytes() != line.own_key() && now != line.of.url).then_some(line.of.url))
    }

    /// Returns the later decision about a row; usually `None`.
    pub fn state(&self, row: &Row) -> Option<&'static str> {
        let decisions = &self.decisions;
        match decisions.restored(row.id) {
            _ if decisions.renewed(row.id) => Some("renewed"),
            _ if decisions.ended(row.id) => Some("ended"),
            Some(_) => Some("restored"),
            None => decisions.took_over(row.id).then_some("kept"),
        }
    }

    /// Returns the newest row of a number or URL.
    pub fn find(&self, page: &str) -> Result<(Row, Discarded)> {
        if let Some(id) = page.parse::<u64>().ok()
            && let Some(row) = self.by_id(id)
        {
            return Ok((row, self.entry(&row)?));
        }
        if let Some(found) = self.by_url(page)? {
            return Ok(found);
        }
        // The user may have written the host in capitals, or omitted the slash.
        let other = url::Url::parse(page).ok().map(String::from).filter(|other| other != page);
        if let Some(found) = other.map(|other| self.by_url(&other)).transpose()?.flatten() {
            return Ok(found);
        }
        Err(Error::Invalid(format!(
            "{page}: not a discarded page. `crawl duplicates list` prints ids and URLs"
        )))
    }

    fn by_url(&self, url: &str) -> Result<Option<(Row, Discarded)>> {
        let key = hash(url.as_bytes());
        for row in self.rows.iter().rev().filter(|row| row.key == key) {
            let entry = self.entry(row)?;
            if entry.url == url {
                return Ok(Some((*row, entry)));
            }
        }
        Ok(None)
    }

    /// Returns the newest row of a number.
    pub fn by_id(&self, id: u64) -> Option<Row> {
        let mut places = self.places.borrow_mut();
        let (placed, by_id) = &mut *places;
        by_id.extend(self.rows.iter().enumerate().skip(*placed).map(|(at, row)| (row.id, at)));
        *placed = self.rows.len();
        by_id.get(&id).and_then(|&at| self.rows.get(at)).copied()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD + WIDTH * self.rows.len());
        let hosts = self.hosts.join("\n");
        // Distinguishes no hosts from one with an empty name.
        let length = hosts.len() as u64 + u64::from(!self.hosts.is_empty());
        for value in [MAGIC, self.first, self.covered, self.rows.len() as u64, length] {
            out.extend(value.to_le_bytes());
        }
        for row in &self.rows {
            for value in [row.offset, row.id, row.of, row.key, row.of_key, row.declared, row.time] {
                out.extend(value.to_le_bytes());
            }
            out.extend(row.host.to_le_bytes());
            out.extend(row.bytes.to_le_bytes());
            out.extend(row.similarity.to_le_bytes());
            out.extend([row.distance, row.kind.to_byte(), row.language[0], row.language[1]]);
            out.extend(row.causes.0.to_le_bytes());
        }
        out.extend(hosts.as_bytes());
        if !self.hosts.is_empty() {
            out.push(b'\n');
        }
        let sum = crc32fast::hash(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// Loads rows from the cache file. An invalid file is ignored, because the log has everything.
    fn load(&mut self, bytes: &[u8]) {
        let Some((content, sum)) = bytes.split_last_chunk::<4>() else { return };
        if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
            return;
        }
        let word = |at: usize| {
            content.get(at * 8..at * 8 + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
        };
        let head = [word(0), word(1), word(2), word(3), word(4)];
        let [Some(MAGIC), Some(first), Some(covered), Some(count), Some(hosts)] = head else {
            return;
        };
        let (count, hosts) = (count as usize, hosts as usize);
        let whole = count.checked_mul(WIDTH).and_then(|rows| rows.checked_add(HEAD + hosts));
        if first != self.first || whole != Some(content.len()) {
            return;
        }
        let log = self.log.borrow().as_ref().and_then(|log| log.get_ref().metadata().ok());
        if log.is_none_or(|log| log.len() < covered) {
            return;
        }
        let (rows, names) = content.get(HEAD..).unwrap_or_default().split_at(count * WIDTH);
        let Ok(names) = std::str::from_utf8(names) else { return };
        self.rows = rows.chunks_exact(WIDTH).filter_map(read_row).collect();
        for host in names.strip_suffix('\n').into_iter().flat_map(|names| names.split('\n')) {
            self.number_of(host);
        }
        self.covered = covered;
    }
}

/// Returns whether the last row is still in the log: after a crash it may have been truncated and have grown again.
fn last_stands(log: &mut BufReader<File>, last: Option<&Row>, covered: u64) -> bool {
    let Some(last) = last else { return covered == 0 };
    let mut line = Vec::new();
    let read =
        log.seek(SeekFrom::Start(last.offset)).and_then(|_| log.read_until(b'\n', &mut line));
    let entry = serde_json::from_slice::<Discarded>(&line);
    read.is_ok_and(|count| last.offset + count as u64 == covered)
        && entry.is_ok_and(|entry| entry.id == last.id && hash(entry.url.as_bytes()) == last.key)
}

fn read_row(bytes: &[u8]) -> Option<Row> {
    let (words, rest) = bytes.split_at_checked(56)?;
    let mut words = words.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_le_bytes));
    let (offset, id, of) = (words.next()?, words.next()?, words.next()?);
    let (key, of_key, declared, time) =
        (words.next()?, words.next()?, words.next()?, words.next()?);
    let (host, rest) = rest.split_first_chunk::<4>()?;
    let (size, rest) = rest.split_first_chunk::<4>()?;
    let (similarity, rest) = rest.split_first_chunk::<2>()?;
    let ([distance, kind, one, two], rest) = rest.split_first_chunk::<4>()?;
    let causes = CauseSet(u16::from_le_bytes(*rest.first_chunk::<2>()?));
    Some(Row {
        offset,
        id,
        of,
        key,
        of_key,
        declared,
        time,
        host: u32::from_le_bytes(*host),
        bytes: u32::from_le_bytes(*size),
        similarity: u16::from_le_bytes(*similarity),
        distance: *distance,
        kind: DuplicateKind::of_byte(*kind)?,
        language: [*one, *two],
        causes,
    })
}

/// Parses a line. The causes of a line of before 0.3 are computed.
fn parse(line: &[u8], path: &Path, offset: u64) -> Result<Discarded> {
    let line: Discarded = serde_json::from_slice(line).map_err(|error| {
        Error::Damaged(format!("{}, at byte {offset}: {error}", path.display()))
    })?;
    Ok(if line.cause.is_empty() { line.with_cause() } else { line })
}

/// Returns the hash of a URL that rows have.
pub(crate) fn hash_of_url(url: &str) -> u64 {
    hash(url.as_bytes())
}

fn hash(bytes: &[u8]) -> u64 {
    hapax_page::HASH.hash(bytes)
}

#[cfg(test)]
mod tests;

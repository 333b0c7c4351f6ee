//! Reads the durable events of a data directory, also beside a running crawl.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cursor::Position;
use super::end::DurableEnd;
use super::event::PageEvent;
use super::page::Pages;
use crate::error::{Context, Error, Result};
use crate::export::ExportedPage;
use crate::files::open_regular;
use crate::runs::Run;

/// The interval at which a follower looks for new events. A crawl commits at most once a second.
pub const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum length of one line in bytes. A line has two URLs and a reason.
const MAX_LINE: u64 = 1 << 20;
/// Bytes read at a time when the line before a cursor is verified.
const PIECE: u64 = 4096;

/// A reader of the events of one directory in durable order.
#[derive(Debug)]
pub(crate) struct DirStream {
    data: PathBuf,
    /// The log and the durable end; `None` before the first commit.
    open: Option<(BufReader<File>, DurableEnd)>,
    position: u64,
    pub(super) pages: Pages,
    line: Vec<u8>,
}

/// An event, the position after it, and its page, if it is kept.
pub(super) type ReadEvent = (Position, PageEvent, Option<ExportedPage>);

impl DirStream {
    /// Opens the events of a data directory after a cursor, or from the first one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a position of this stream, [`Error::Damaged`] if durable events are missing.
    pub(super) fn open(data: &Path, from: Option<Position>) -> Result<Self> {
        let mut stream = Self {
            data: data.to_owned(),
            open: None,
            position: 0,
            pages: Pages::of(data),
            line: Vec::new(),
        };
        if let Some(end) = DurableEnd::of(data)? {
            stream.begin(end)?;
        }
        if let Some(cursor) = from {
            stream.skip_to(cursor)?;
        }
        Ok(stream)
    }

    /// Opens the events of a data directory from the first one.
    ///
    /// # Errors
    /// [`Error::Damaged`] if durable events are missing.
    pub(crate) fn of(data: &Path) -> Result<Self> {
        Self::open(data, None)
    }

    /// Returns the random number of the stream; `None` before its first event.
    pub(super) fn number(&self) -> Option<u64> {
        self.open.as_ref().map(|(_, end)| end.stream)
    }

    fn path(&self) -> PathBuf {
        self.data.join("events.jsonl")
    }

    fn begin(&mut self, end: DurableEnd) -> Result<()> {
        let path = self.path();
        let file = match open_regular(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::Damaged(format!("{}: it is missing", path.display())));
            }
            file => file.with_context(|| path.display().to_string())?,
        };
        let there = file.metadata().with_context(|| path.display().to_string())?.len();
        if there < end.length {
            let what = format!("{}: has {there} of {} committed bytes", path.display(), end.length);
            return Err(Error::Damaged(what));
        }
        self.open = Some((BufReader::with_capacity(1 << 16, file), end));
        Ok(())
    }

    /// Moves to a cursor, after verifying that it follows an event of this stream.
    fn skip_to(&mut self, cursor: Position) -> Result<()> {
        let root = self.data.display().to_string();
        let refused = |why: &str| {
            Err(Error::Invalid(format!(
                "cursor {cursor}: {why}. Read {root} from its first event: omit --from, and clear the consumer's state"
            )))
        };
        let Some((reader, end)) = &mut self.open else {
            return refused("it belongs to another data directory; this one has no events yet");
        };
        if cursor.stream != end.stream {
            return refused(
                "it belongs to another data directory, or to this one before --fresh or an older version wrote to it",
            );
        }
        if cursor.offset > end.length {
            return refused(
                "it is beyond the last event: the data directory is older than the cursor",
            );
        }
        if last_line(reader, cursor.offset)? != Some(cursor.line) {
            return refused(
                "another event is at its position: the data directory was restored from a backup",
            );
        }
        reader.seek(SeekFrom::Start(cursor.offset))?;
        self.position = cursor.offset;
        Ok(())
    }

    /// Moves to the begin of a run's events. Returns whether they are in this stream.
    pub(crate) fn skip_to_run(&mut self, run: &Run) -> Result<bool> {
        let Some((reader, end)) = &mut self.open else { return Ok(false) };
        let is_line =
            run.events == 0 || run.events <= end.length && last_line(reader, run.events)?.is_some();
        if run.stream != end.stream || !is_line {
            return Ok(false);
        }
        reader.seek(SeekFrom::Start(run.events))?;
        self.position = run.events;
        Ok(true)
    }

    /// Returns the next durable event with the fields of its page; `None` at the durable end.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a line cannot be read; otherwise from the index.
    pub(super) fn next_event(&mut self) -> Result<Option<ReadEvent>> {
        let Some((cursor, event)) = self.next_bare()? else { return Ok(None) };
        let page = if event.event.keeps() { self.pages.page(&event)? } else { None };
        Ok(Some((cursor, event, page)))
    }

    /// Returns the next durable event without its page; `None` at the durable end.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a line cannot be read.
    pub(crate) fn next_bare_event(&mut self) -> Result<Option<PageEvent>> {
        Ok(self.next_bare()?.map(|(_, event)| event))
    }

    fn next_bare(&mut self) -> Result<Option<(Position, PageEvent)>> {
        let Some((reader, end)) = &mut self.open else { return Ok(None) };
        let left = end.length.saturating_sub(self.position);
        if left == 0 {
            return Ok(None);
        }
        self.line.clear();
        let count = reader.take(left.min(MAX_LINE)).read_until(b'\n', &mut self.line)?;
        let event = match self.line.last() {
            Some(b'\n') => {
                serde_json::from_slice::<PageEvent>(&self.line).map_err(|e| e.to_string())
            }
            _ => Err("the line has no end".to_owned()),
        };
        let event = event.map_err(|error| {
            let path = self.data.join("events.jsonl");
            Error::Damaged(format!("{}, byte {}: {error}", path.display(), self.position))
        })?;
        self.position += count as u64;
        let line = crc32fast::hash(&self.line);
        let cursor = Position { stream: end.stream, offset: self.position, line };
        Ok(Some((cursor, event)))
    }

    /// Looks for events that became durable since. Returns whether there are any.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the data directory was cleared (`--fresh`) in the meantime.
    pub(super) fn refresh(&mut self) -> Result<bool> {
        let Some(now) = DurableEnd::written(&self.data)? else { return Ok(false) };
        let Some((_, end)) = &mut self.open else {
            self.begin(now)?;
            return Ok(now.length > 0);
        };
        if now.stream != end.stream {
            let root = self.data.display();
            return Err(Error::Invalid(format!(
                "{root}: the data directory was cleared, and another crawl began there. Read it from its first event: \
                 omit --from, and clear the consumer's state"
            )));
        }
        if now.length <= end.length {
            return Ok(false);
        }
        end.length = now.length;
        self.pages.renew();
        Ok(true)
    }
}

/// Returns the CRC-32 of the line that ends at an offset; `None` if no line does.
fn last_line(reader: &mut BufReader<File>, end: u64) -> Result<Option<u32>> {
    let mut line = Vec::new();
    let mut start = end;
    while start > 0 && end - start < MAX_LINE {
        let from = start.saturating_sub(PIECE);
        let mut piece = vec![0; (start - from) as usize];
        reader.seek(SeekFrom::Start(from))?;
        reader.read_exact(&mut piece)?;
        if start == end && piece.pop() != Some(b'\n') {
            return Ok(None);
        }
        let begin = piece.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        line.splice(0..0, piece.iter().skip(begin.unwrap_or(0)).copied());
        if begin.is_some() || from == 0 {
            line.push(b'\n');
            return Ok(Some(crc32fast::hash(&line)));
        }
        start = from;
    }
    Ok(None)
}

#[cfg(test)]
mod tests;

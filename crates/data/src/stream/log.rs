//! The writer of events.jsonl: append-only, committed with the other logs.

use std::hash::BuildHasher;
use std::path::Path;

use super::end::{DurableEnd, EndFile};
use super::event::PageEvent;
use crate::error::{Context, Result};
use crate::log::{Committed, Log};
use crate::positions::PagePosition;

/// Bytes of events in memory before they are written: the first commit of an old directory has all of its pages.
const MOST_PENDING: usize = 1 << 20;

/// The log of events.
#[derive(Debug)]
pub struct EventLog {
    log: Log,
    stream: u64,
    is_new: bool,
    end: EndFile,
}

impl EventLog {
    /// Opens the log and truncates it to its committed part. Begins another stream if the last commit has none: it was
    /// the first, or one of a version without events.
    ///
    /// # Errors
    /// If the log is shorter than its committed part.
    pub fn open(data: &Path, position: &PagePosition) -> Result<Self> {
        let (length, sum) = match position.events_stream {
            0 => (0, None),
            _ => (position.events, position.events_sum),
        };
        let log = Log::open(&data.join("events.jsonl"), Some(Committed { length, sum }))?;
        let mut end = EndFile::of(data);
        let stream = match position.events_stream {
            // Each `RandomState` has random keys.
            0 => std::hash::RandomState::new().hash_one(position.archive).max(1),
            stream => stream,
        };
        if position.events_stream != 0 {
            end.write(DurableEnd { stream, length })?;
        }
        Ok(Self { log, stream, is_new: position.events_stream == 0, end })
    }

    /// Returns whether no commit has recorded this stream yet.
    pub const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns the random number of the stream and the length of its committed part.
    pub const fn position(&self) -> (u64, u64) {
        (self.stream, self.log.committed().length)
    }

    /// Appends an event.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn append(&mut self, event: &PageEvent) -> Result<()> {
        self.log.append(event).context("events.jsonl")?;
        if self.log.pending() > MOST_PENDING {
            self.log.write().context("events.jsonl")?;
        }
        Ok(())
    }

    /// Syncs appended events, and enters their length into the position of the next commit.
    ///
    /// # Errors
    /// From the file system.
    pub fn sync(&mut self, position: &mut PagePosition) -> Result<()> {
        let committed = self.log.sync().context("events.jsonl")?;
        (position.events, position.events_sum) = (committed.length, committed.sum);
        position.events_stream = self.stream;
        Ok(())
    }

    /// Shows readers the events that a position has. Call it after that position is durable.
    ///
    /// # Errors
    /// From the file system.
    pub fn publish(&mut self, length: u64) -> Result<()> {
        self.end.write(DurableEnd { stream: self.stream, length })
    }
}

//! The events of one or more data directories as one stream.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::counts::{Counts, SHARE};
use super::cursor::{Cursor, Position};
use super::event::{EventKind, PageEvent};
use super::reader::{DirStream, ReadEvent};
use super::render::Fields;
use super::streamed::Streamed;
use crate::error::{Error, Result};

/// A reader of events: those of each directory in durable order, and those of several directories by their times.
#[derive(Debug)]
pub struct Stream {
    dirs: Vec<Dir>,
    counts: Counts,
    /// The last time that there were new events.
    renewed: Option<Instant>,
}

/// Longest wait of a follower after new events, however long the index takes to open.
const MAX_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Dir {
    data: PathBuf,
    stream: DirStream,
    /// The next event, if it was read.
    next: Option<ReadEvent>,
    /// The position after the last event that was returned.
    position: Option<Position>,
}

impl Stream {
    /// Opens the events of a data directory after a cursor, or from the first one.
    ///
    /// # Errors
    /// Those of [`open_all`](Self::open_all).
    pub fn open(data: &Path, from: Option<&Cursor>) -> Result<Self> {
        Self::open_all(&[data.to_owned()], from)
    }

    /// Opens the events of data directories that are one corpus, such as the workers of a cluster. A cursor has a
    /// position of each directory with events that were read, in any order; another directory begins at its first event.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a position of the cursor belongs to none of the directories or is not a position of its
    /// stream, [`Error::Damaged`] if durable events are missing.
    pub fn open_all(dirs: &[PathBuf], from: Option<&Cursor>) -> Result<Self> {
        let mut positions = from.map(|cursor| cursor.0.clone()).unwrap_or_default();
        let mut opened: Vec<Dir> = Vec::new();
        for data in dirs {
            let stream = DirStream::open(data, None)?;
            let own = stream.number();
            if own.is_some() && opened.iter().any(|other| other.stream.number() == own) {
                let what = format!(
                    "{} is given twice, or is a copy: give each --data once",
                    data.display()
                );
                return Err(Error::Invalid(what));
            }
            let at = positions.iter().position(|position| Some(position.stream) == own);
            // One directory explains a cursor of another one.
            let at = at.or_else(|| (dirs.len() == 1 && !positions.is_empty()).then_some(0));
            let position = at.map(|at| positions.swap_remove(at));
            let stream = match position {
                Some(_) => DirStream::open(data, position)?,
                None => stream,
            };
            opened.push(Dir { data: data.clone(), stream, next: None, position });
        }
        if let Some(position) = positions.first() {
            return Err(Error::Invalid(format!(
                "cursor {position}: it belongs to none of these data directories, or to one of them before --fresh or an \
                 older version wrote to it. Read them from their first events: omit --from, and clear the consumer's state"
            )));
        }
        Ok(Self { dirs: opened, counts: Counts::of(dirs), renewed: None })
    }

    /// Reads only what these fields need.
    #[must_use]
    pub fn with_fields(mut self, fields: &Fields) -> Self {
        self.counts.is_wanted = fields.need_counts();
        for dir in &mut self.dirs {
            dir.stream.pages.with_tables = fields.need_tables();
        }
        self
    }

    /// Returns the next durable event; `None` at the durable end.
    ///
    /// Two directories may keep a page with one URL, as two workers may have fetched it. The page of the first of them
    /// counts, as in an export. Events of the other one are left out, and after the first one has lost its page an event
    /// has that of the other one.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a line cannot be read; otherwise from the index.
    pub fn next_event(&mut self) -> Result<Option<Streamed>> {
        loop {
            for dir in self.dirs.iter_mut().filter(|dir| dir.next.is_none()) {
                dir.next = dir.stream.next_event()?;
            }
            let times = self.dirs.iter().enumerate();
            let times = times.filter_map(|(at, dir)| Some((&dir.next.as_ref()?.1.time, at)));
            let Some((_, at)) = times.min() else { return Ok(None) };
            let Some(dir) = self.dirs.get_mut(at) else { return Ok(None) };
            let Some((position, mut event, mut page)) = dir.next.take() else { return Ok(None) };
            dir.position = Some(position);
            let mut of = at;
            if let Some(other) = self.keeps_elsewhere(at, &event)? {
                if other < at {
                    continue;
                }
                let dir = self.dirs.get_mut(other);
                let found = dir.map(|dir| dir.stream.pages.page_at(&event.url)).transpose()?;
                if let Some((instead, key)) = found.flatten() {
                    event = PageEvent::of_page(
                        EventKind::Kept,
                        event.time,
                        instead.id,
                        (&event.url, key.as_deref()),
                    );
                    (of, page) = (other, Some(instead));
                }
            }
            if let Some(page) = &mut page {
                page.sighted = self.counts.page(event.id, page)?;
                let several = self.dirs.len() > 1;
                let data = self.dirs.get(of).filter(|_| several);
                page.stored.data = data.map(|dir| dir.data.display().to_string());
            }
            let cursor = Cursor(self.dirs.iter().filter_map(|dir| dir.position).collect());
            return Ok(Some(Streamed { cursor, event, page }));
        }
    }

    /// Returns the first other directory that keeps the page of an event; if the event's directory keeps it too, only
    /// one before that.
    fn keeps_elsewhere(&mut self, own: usize, event: &PageEvent) -> Result<Option<usize>> {
        let others = if event.event.keeps() { own } else { self.dirs.len() };
        for (at, dir) in self.dirs.iter_mut().enumerate().take(others) {
            if at != own && dir.stream.pages.has(&event.url)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Looks for events that became durable since. Returns whether there are any. Opening the index takes at most a
    /// fortieth of a follower's time: after new events this returns `false` for 40 times as long as the index took to
    /// open, at most 5 s.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a data directory was cleared (`--fresh`) in the meantime.
    pub fn refresh(&mut self) -> Result<bool> {
        let opening = self.dirs.iter().map(|dir| dir.stream.pages.opening()).sum();
        if self.renewed.is_some_and(|renewed| renewed.elapsed() < pause_after(opening)) {
            return Ok(false);
        }
        let mut any = false;
        for dir in &mut self.dirs {
            any |= dir.stream.refresh()?;
        }
        if any {
            self.renewed = Some(Instant::now());
            self.counts.renew();
            // Another directory may have taken a page over.
            self.dirs.iter_mut().for_each(|dir| dir.stream.pages.renew());
        }
        Ok(any)
    }
}

fn pause_after(opening: Duration) -> Duration {
    opening.saturating_mul(SHARE).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_spends_a_fortieth_of_its_time_on_opening_and_waits_at_most_five_seconds() {
        let millis = Duration::from_millis;
        for (opening, pause) in [(0, 0), (5, 200), (50, 2_000), (125, 5_000), (60_000, 5_000)] {
            assert_eq!(pause_after(millis(opening)), millis(pause), "{opening}");
        }
    }
}

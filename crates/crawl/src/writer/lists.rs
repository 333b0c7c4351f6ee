//! Seeds that list pages, such as feeds. A recrawl of due pages reads each of them at most once in `--revisit-min`.

use url::Url;

use crate::error::Result;
use crate::visits::unix_now;
use crate::writer::Writer;

/// Name of the frontier's note with the time when a list was read, in seconds since 1970.
const READ: &str = "list-read";

impl Writer {
    /// Remembers that a seed is a list, and was read now.
    pub(crate) fn list_was_read(&self, seed: &Url) {
        let now = unix_now();
        self.frontier.note(seed.as_str(), READ, now.to_le_bytes().to_vec());
        if self.committer.look.on && self.committer.look.due {
            self.stats.due_at(next(now, now, self.interval()));
        }
    }

    /// Returns whether this run leaves out a list because it was read a short time ago.
    pub(crate) fn leaves_list_out(&self, seed: &Url) -> Result<bool> {
        let now = unix_now();
        Ok(self.committer.look.due && self.next_reading(seed, now)?.is_some_and(|at| at > now))
    }

    /// Adds the next readings of the lists to the next visit.
    pub(crate) fn expect_lists(&self, now: u64) -> Result<()> {
        for seed in &self.seeds {
            if let Some(at) = self.next_reading(seed, now)?.filter(|at| *at > now) {
                self.stats.due_at(at);
            }
        }
        Ok(())
    }

    /// Returns when a list is read again, in seconds since 1970; `None` if the seed is no list.
    fn next_reading(&self, seed: &Url, now: u64) -> Result<Option<u64>> {
        let note = self.frontier.note_of(seed.as_str(), READ)?;
        let last = note.and_then(|note| note.try_into().ok()).map(u64::from_le_bytes);
        Ok(last.map(|last| next(last, now, self.interval())))
    }

    /// Returns whether a URL was read as a list.
    pub(crate) fn is_list(&self, url: &Url) -> Result<bool> {
        Ok(self.frontier.note_of(url.as_str(), READ)?.is_some_and(|note| !note.is_empty()))
    }

    fn interval(&self) -> u64 {
        self.committer.look.pace.min.as_secs()
    }
}

/// Returns when a list is read again. If the clock was ahead when it was read, that is `now`.
const fn next(last: u64, now: u64, interval: u64) -> u64 {
    if last > now { now } else { last.saturating_add(interval) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_again_after_the_interval_or_when_the_clock_was_wrong() {
        assert_eq!(next(1000, 1000, 60), 1060);
        assert_eq!(next(1000, 1050, 60), 1060);
        assert_eq!(next(1000, 2000, 60), 1060);
        assert_eq!(next(9_000_000, 2000, 60), 2000);
        assert_eq!(next(u64::MAX - 1, u64::MAX, 60), u64::MAX);
    }
}

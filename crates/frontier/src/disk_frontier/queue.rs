//! The queue of one host: its head in memory, the rest on disk, ordered by class.

use super::heads::{HEADS_BYTES, head};
use super::{DiskFrontier, State};
use crate::entry::{CLASSES, Entry};
use crate::error::Result;
use crate::host::{Lane, class_of};

impl DiskFrontier {
    /// Reads the next part of one class of a host's queue.
    fn refill(&self, state: &mut State, index: usize, from: u64) -> Result<()> {
        let (head, room) = (head(state.hosts.len()), HEADS_BYTES.saturating_sub(state.held_bytes));
        let Some(host) = state.hosts.get_mut(index) else { return Ok(()) };
        let class = class_of(from);
        let (entries, more) = self.disk.queue(host.key, from, head, room)?;
        if !entries.is_empty() {
            // Memory is for the classes that come first.
            let later = host.lanes.iter_mut().rev().take_while(|lane| lane.class > class);
            later.for_each(Lane::spill);
        }
        let mut fresh = state.batch.queued.iter().filter(|(key, ..)| *key == host.key);
        let waiting = state.committing.is_some()
            || fresh.any(|(_, sequence, _)| class_of(*sequence) == class && *sequence >= from);
        let last = entries.last().map(|(sequence, _)| sequence + 1);
        let lane = host.lane(class);
        lane.waits = (waiting && entries.is_empty()).then_some(state.commits_done);
        lane.on_disk_from = match (more || waiting, last) {
            (true, last) => Some(last.unwrap_or(from)),
            (false, _) => None,
        };
        // A damaged row cannot be leased: it stays deferred.
        let lost = |(sequence, entry): &&(u64, Option<Entry>)| {
            entry.is_none() && *sequence >= lane.counted
        };
        let lost = entries.iter().filter(lost).count() as u64;
        lane.counted = lane.counted.max(last.unwrap_or(0));
        let whole = entries.into_iter().filter_map(|(sequence, entry)| Some((sequence, entry?, 0)));
        whole.for_each(|waiting| lane.push(waiting));
        host.deferred += lost;
        state.deferred += lost;
        Ok(())
    }

    /// Takes the next URL of a host, from the first class that has one. A class whose URLs can only be read after a
    /// commit is skipped until then.
    pub(super) fn pop(&self, state: &mut State, index: usize) -> Result<Option<(u64, Entry, u8)>> {
        for at in 0..usize::from(CLASSES) {
            // Where to continue reading. Repeated if all rows of a part are damaged.
            let reads_on = |state: &State| {
                let lane = state.hosts.get(index)?.lanes.get(at)?;
                let shown = lane.waits != Some(state.commits_done);
                lane.on_disk_from.filter(|_| lane.held() == 0 && shown)
            };
            while let Some(from) = reads_on(state) {
                self.refill(state, index, from)?;
            }
            let Some(host) = state.hosts.get_mut(index) else { break };
            let Some(lane) = host.lanes.get_mut(at) else { break };
            let next = lane.pop();
            if next.is_some() {
                host.lanes.retain(|lane| !lane.is_empty());
                return Ok(next);
            }
        }
        if let Some(host) = state.hosts.get_mut(index) {
            host.lanes.retain(|lane| !lane.is_empty());
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;

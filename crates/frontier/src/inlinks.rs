//! The first pages that lead to each URL, so that a person can find the page with a broken link.
//!
//! An [`Entry`] has its first inlink, so it costs no row. Further ones are in memory only, for URLs that were queued not
//! long ago; a row of each URL in a tree would triple the time of a commit. The crawl copies both into its logs.

use std::sync::Arc;

use hapax_url::{UrlKey, url_key};
use url::Url;

use crate::Entry;

/// Inlinks that are kept of each URL.
pub const MAX_INLINKS: usize = 3;
/// Number of URLs whose further inlinks are kept: 7 MiB.
const SLOTS: usize = 1 << 17;
/// Length of a further inlink, in bytes: beyond it only the first one is kept.
const MAX_BYTES: usize = 256;

type List = [Option<Arc<str>>; MAX_INLINKS];

/// Inlinks of URLs that were queued not long ago. A URL may lose them to another one with the same slot.
#[derive(Debug)]
pub(crate) struct RecentInlinks {
    slots: Box<[(u32, List)]>,
    /// The last referrer. A page's links come together.
    last: Option<(Arc<str>, UrlKey)>,
}

impl Default for RecentInlinks {
    fn default() -> Self {
        Self { slots: vec![(0, List::default()); SLOTS].into_boxed_slice(), last: None }
    }
}

impl RecentInlinks {
    const fn slot(key: UrlKey) -> (usize, u32) {
        // Zero marks an empty slot.
        ((key >> 64) as usize % SLOTS, (key >> 96) as u32 | 1)
    }

    fn list(&self, key: UrlKey) -> Option<&List> {
        let (slot, tag) = Self::slot(key);
        self.slots.get(slot).filter(|(of, _)| *of == tag).map(|(_, list)| list)
    }

    /// Returns a referrer, and its key, without copying the same one again.
    fn referrer(&mut self, from: &Url) -> (Arc<str>, UrlKey) {
        match &self.last {
            Some(last) if *last.0 == *from.as_str() => last.clone(),
            _ => {
                let last = (Arc::from(from.as_str()), url_key(from.as_str()));
                self.last = Some(last.clone());
                last
            }
        }
    }

    /// Sets the first inlink of a new URL. A link of a page to itself is no inlink.
    pub(crate) fn begin(&mut self, key: UrlKey, entry: &mut Entry, from: Option<&Url>) {
        if let Some(from) = from {
            let (from, referrer) = self.referrer(from);
            entry.from = Some(from).filter(|_| referrer != key);
        }
        let (slot, tag) = Self::slot(key);
        if let (Some(first), Some(slot)) = (&entry.from, self.slots.get_mut(slot)) {
            *slot = (tag, [Some(Arc::clone(first)), None, None]);
        }
    }

    /// Adds a further inlink of a known URL.
    pub(crate) fn add(&mut self, key: UrlKey, from: &Url) {
        let is_open = self.list(key).is_some_and(|list| list.iter().any(Option::is_none));
        if !is_open || from.as_str().len() > MAX_BYTES {
            return;
        }
        let (from, referrer) = self.referrer(from);
        let slot = self.slots.get_mut(Self::slot(key).0);
        let Some((_, list)) = slot.filter(|_| referrer != key) else { return };
        if !list.contains(&Some(Arc::clone(&from)))
            && let Some(free) = list.iter_mut().find(|place| place.is_none())
        {
            *free = Some(from);
        }
    }

    /// Returns the inlinks of a leased entry, the first one first.
    pub(crate) fn of(&self, entry: &Entry) -> Vec<String> {
        let list = self.list(url_key(entry.url.as_str()));
        // After another lease of the slot's URL the list may be that of an earlier entry.
        let list = list.filter(|list| list.first() == Some(&entry.from));
        let further = list.into_iter().flatten().skip(1).flatten();
        entry.from.iter().chain(further).map(|from| from.to_string()).collect()
    }
}

#[cfg(test)]
mod tests;

//! Counts by host and first folder.

use std::collections::HashMap;

use hapax_url::host_key;
use url::Url;

use super::count::CausePlace;

/// Longest name of a place, in bytes.
const MAX_PLACE: usize = 256;

/// Returns host and first folder of an address: `a.example/shop/`.
pub(super) fn place_of(url: &Url) -> String {
    let first = url.path().split('/').nth(1).unwrap_or_default();
    let is_folder = url.path().len() > first.len() + 1;
    let mut place = host_key(url) + "/";
    if is_folder && !first.is_empty() {
        place.push_str(first);
        place.push('/');
    }
    place.truncate(place.floor_char_boundary(MAX_PLACE));
    place
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) duplicates: u64,
    pub(super) pages: u64,
    pub(super) kept: u64,
}

impl Counts {
    pub(super) fn page(&mut self, is_kept: bool) {
        self.pages += 1;
        self.kept += u64::from(is_kept);
    }

    /// Sets the pages to all pages at these places.
    pub(super) fn pages_of(&mut self, places: &mut Places, all: &Places) {
        (self.pages, self.kept) = (0, 0);
        for (place, counts) in &mut places.counts {
            if let Some(pages) = all.counts.get(place).filter(|_| counts.duplicates > 0) {
                (counts.pages, counts.kept) = (pages.pages, pages.kept);
                self.pages += pages.pages;
                self.kept += pages.kept;
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Places {
    counts: HashMap<String, Counts>,
    /// Receives the counts of places beyond the limit.
    rest: Counts,
}

impl Places {
    /// Returns the counts of a place, and whether the place is new.
    pub(super) fn at(&mut self, place: &str, may_grow: bool) -> (&mut Counts, bool) {
        let is_known = self.counts.contains_key(place);
        if !is_known && !may_grow {
            return (&mut self.rest, false);
        }
        if !is_known {
            self.counts.insert(place.to_owned(), Counts::default());
        }
        let Self { counts, rest } = self;
        (counts.get_mut(place).unwrap_or(rest), !is_known)
    }

    /// Returns the places with the most duplicates.
    pub(super) fn shown(self, most: usize) -> Vec<CausePlace> {
        let places = self.counts.into_iter().filter(|(_, counts)| counts.duplicates > 0);
        let mut all: Vec<CausePlace> = places
            .map(|(place, Counts { duplicates, pages, kept })| CausePlace {
                place,
                duplicates,
                pages: pages.max(duplicates),
                kept,
            })
            .collect();
        all.sort_by(|a, b| b.duplicates.cmp(&a.duplicates).then_with(|| a.place.cmp(&b.place)));
        all.truncate(most);
        all
    }
}

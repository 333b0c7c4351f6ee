//! Calendars without an end. A page of a calendar is empty if only dates and numbers of URLs tell it from another page:
//! a month without events, or a page behind the end of a list. Each has a link to the next one. After a number of empty
//! pages, the crawl ignores their links to further URLs of the calendar. A page with a new text, such as a month with
//! events, raises this number, and its links are followed.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use hapax_frontier::Frontier;
use hapax_page::{Dateless, url_without_dates};
use hapax_url::registrable_site;
use url::Url;

use crate::error::Result;
use crate::page::PageWork;
use crate::patterns::LeftOut;

/// Name of the frontier's note with the counts of a calendar. Earlier versions had other texts in theirs.
const NOTE: &str = "calendar-3";
/// Number of empty pages of a calendar of which all links are followed.
const EMPTY: u32 = 48;
/// The same for a calendar of a site that has other calendars with many empty pages, such as its weeks and days.
const FURTHER: u32 = 12;
/// The number for a calendar is smaller by one for each two empty pages of the site's other calendars.
const OF_OTHERS: u32 = 2;
/// The same for each page of it with another text.
const FOR_EACH_OTHER: u32 = 3;
/// Maximum number of different texts of empty pages of a calendar: those of a year, a day and, if each has one, twelve
/// months. Pages that repeat a further text count as others.
const MAX_TEXTS: usize = 16;
/// Maximum number of calendars in memory. Beyond it all are forgotten; notes keep those with empty pages.
const MAX_CALENDARS: usize = 10_000;

/// The URLs of a site that differ in dates and numbers only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Calendar {
    /// Number of pages that differ from an earlier one only in dates and numbers of URLs.
    empty: u32,
    /// Number of other pages.
    others: u32,
    /// Texts without dates.
    texts: Vec<u64>,
}

impl Calendar {
    fn is_empty(&self, dateless: Option<u64>) -> bool {
        dateless.is_some_and(|text| self.texts.contains(&text))
    }

    /// Adds a page. Returns whether it differs from an earlier one only in dates and numbers of URLs.
    fn add(&mut self, dateless: Option<u64>) -> bool {
        let is_empty = self.is_empty(dateless);
        if is_empty {
            self.empty = self.empty.saturating_add(1);
        } else {
            self.others = self.others.saturating_add(1);
            self.texts.extend(dateless.filter(|_| self.texts.len() < MAX_TEXTS));
        }
        is_empty
    }

    /// Returns whether it had enough empty pages. `elsewhere` is the number of them in other calendars of the site.
    fn has_enough(&self, elsewhere: u32) -> bool {
        let followed = EMPTY.saturating_sub(elsewhere / OF_OTHERS).max(FURTHER);
        self.empty > followed.saturating_add(self.others.saturating_mul(FOR_EACH_OTHER))
    }

    fn note(&self) -> Vec<u8> {
        let counts = [self.empty, self.others].map(u32::to_le_bytes);
        let texts = self.texts.iter().flat_map(|text| text.to_le_bytes());
        counts.into_iter().flatten().chain(texts).collect()
    }

    fn read(note: &[u8]) -> Option<Self> {
        let (empty, rest) = note.split_first_chunk()?;
        let (others, rest) = rest.split_first_chunk()?;
        let texts = rest.chunks_exact(8).take(MAX_TEXTS).filter_map(|text| text.try_into().ok());
        Some(Self {
            empty: u32::from_le_bytes(*empty),
            others: u32::from_le_bytes(*others),
            texts: texts.map(u64::from_le_bytes).collect(),
        })
    }
}

fn note_key(site: &str, url: u64) -> String {
    format!("{site} {url:016x}")
}

#[derive(Debug, Default)]
pub(crate) struct Calendars {
    /// By site and URL without dates.
    calendars: HashMap<(String, u64), Calendar>,
    /// Number of empty pages that this run has met, by site.
    empty: HashMap<String, u32>,
    /// By site and URL without dates: number of links that this run did not follow, with an example.
    left_out: HashMap<(String, u64), (u64, Url)>,
}

impl Calendars {
    fn calendar(&mut self, frontier: &dyn Frontier, site: &str, url: u64) -> Result<&mut Calendar> {
        if self.calendars.len() >= MAX_CALENDARS {
            self.calendars.clear();
            self.empty.clear();
        }
        Ok(match self.calendars.entry((site.to_owned(), url)) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(place) => {
                let note = frontier.note_of(&note_key(site, url), NOTE)?;
                place.insert(note.and_then(|note| Calendar::read(&note)).unwrap_or_default())
            }
        })
    }

    /// Adds a page that no earlier run has read. A page without a text to compare counts only if its calendar is in memory.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn add(&mut self, frontier: &dyn Frontier, page: &PageWork) -> Result<()> {
        let Some(Dateless { url, text }) = page.dateless else { return Ok(()) };
        if text.is_none() {
            // Most pages belong to no calendar.
            let known = self.calendars.get_mut(&(page.site.clone(), url));
            known.map(|calendar| calendar.add(None));
            return Ok(());
        }
        let calendar = self.calendar(frontier, &page.site, url)?;
        if calendar.add(text) {
            frontier.note(&note_key(&page.site, url), NOTE, calendar.note());
            let of_site = self.empty.entry(page.site.clone()).or_default();
            *of_site = of_site.saturating_add(1);
        }
        Ok(())
    }

    /// Returns whether a page is an empty one of a calendar that had enough of them.
    ///
    /// # Errors
    /// An error of the frontier.
    pub(crate) fn has_enough(&mut self, frontier: &dyn Frontier, page: &PageWork) -> Result<bool> {
        let Some(Dateless { url, text: Some(text) }) = page.dateless else { return Ok(false) };
        let of_site = self.empty.get(&page.site).copied().unwrap_or(0);
        let calendar = self.calendar(frontier, &page.site, url)?;
        let elsewhere = of_site.saturating_sub(calendar.empty);
        Ok(calendar.is_empty(Some(text)) && calendar.has_enough(elsewhere))
    }

    /// Returns whether a link of an empty page leads to another page of its calendar, or of another calendar of the site that
    /// had enough, and counts it.
    pub(crate) fn leaves_out(&mut self, page: &PageWork, link: &Url) -> bool {
        let Some(dateless) = page.dateless else { return false };
        if link == &page.url || registrable_site(link) != page.site {
            return false;
        }
        let Some(url) = url_without_dates(link) else { return false };
        let key = (page.site.clone(), url);
        let of_site = self.empty.get(&page.site).copied().unwrap_or(0);
        let had_enough =
            |calendar: &Calendar| calendar.has_enough(of_site.saturating_sub(calendar.empty));
        let leaves = url == dateless.url || self.calendars.get(&key).is_some_and(had_enough);
        if leaves && self.left_out.len() < MAX_CALENDARS {
            self.left_out.entry(key).or_insert_with(|| (0, link.clone())).0 += 1;
        }
        leaves
    }

    /// Returns the links that this run did not follow, by calendar.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let mut all: Vec<_> = self.left_out.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        let line = |((site, _), (count, example)): (&(String, u64), &(u64, Url))| LeftOut {
            example: example.clone(),
            count: *count,
            rule: format!(
                "learnt {site}: links between pages that differ in dates and numbers only"
            ),
            detail: format!(
                "{count} links were not followed from pages that differ from others in dates and numbers only, such as a \
                 month without events or a page behind the end of a list, to further such URLs"
            ),
        };
        all.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_pages_are_enough_after_a_number_that_others_raise() {
        let mut calendar = Calendar::default();
        assert!(!calendar.add(Some(1)), "the first");
        let empty = |calendar: &mut Calendar, times: u32| {
            (0..times).for_each(|_| assert!(calendar.add(Some(1))));
            calendar.has_enough(0)
        };
        assert!(!empty(&mut calendar, EMPTY + FOR_EACH_OTHER));
        assert!(empty(&mut calendar, 1));
        assert!(!calendar.add(None) && !calendar.add(Some(2)));
        assert!(!calendar.has_enough(0));
        assert!(!empty(&mut calendar, 2 * FOR_EACH_OTHER - 1));
        assert!(empty(&mut calendar, 1));
        assert_eq!(Calendar::read(&calendar.note()), Some(calendar));
    }

    #[test]
    fn further_calendars_of_a_site_have_fewer_empty_pages() {
        let with = |empty: u32| Calendar { empty, ..Calendar::default() };
        for (elsewhere, most) in [(0, 48), (1, 48), (48, 24), (72, 12), (1_000, 12)] {
            assert!(!with(most).has_enough(elsewhere), "{elsewhere}");
            assert!(with(most + 1).has_enough(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn texts_are_bounded_and_notes_of_any_length_are_read() {
        let mut calendar = Calendar::default();
        (0..100).for_each(|text| _ = calendar.add(Some(text)));
        assert_eq!((calendar.texts.len(), calendar.empty), (MAX_TEXTS, 0));
        let note = calendar.note();
        for length in 0..note.len() {
            assert_eq!(Calendar::read(&note[..length]).is_some(), length >= 8, "{length}");
        }
    }
}

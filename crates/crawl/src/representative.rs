//! Chooses the kept page of a cluster (its representative): the one that a person would keep, whichever came first.

use std::cmp::Reverse;
use std::time::{Duration, UNIX_EPOCH};

use crate::error::Result;
use hapax_data::DecidedBy;
use hapax_data::DuplicateKind;
use hapax_dedup::{Level, Neighbour, Record};
use hapax_index::StoredPage;
use hapax_page::{examples, site_of};
use hapax_url::AddressRank;
use hapax_warc::format_time;
use url::Url;

use super::commit::Committer;
use super::event::Event;
use super::notes::VALIDATORS;
use super::page::PageWork;
use hapax_data::Discarded;
use hapax_data::{Action, Decision};

/// The preference for a page; the greater one is kept. In this order: names itself as canonical; has the better
/// address (https, not for printers or phones, few parameters, short path); was fetched early; is large.
///
/// A total order. Except for the time of fetching it does not depend on which page came first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    canonical: bool,
    address: AddressRank,
    time: Reverse<String>,
    bytes: u64,
    url: Reverse<String>,
}

impl Rank {
    fn new(url: &str, canonical: bool, time: &str, bytes: u64) -> Self {
        Self {
            canonical,
            address: AddressRank::of(url),
            time: Reverse(time.to_owned()),
            bytes,
            url: Reverse(url.to_owned()),
        }
    }

    /// Returns the rank of a stored page that may replace, or be replaced by, another stored page.
    pub(super) fn of_record(record: &Record, canonical: bool, bytes: u64) -> Self {
        let since = UNIX_EPOCH + Duration::from_secs(record.time);
        let url = String::from_utf8_lossy(&record.key);
        Self::new(&url, canonical, &format_time(since), bytes)
    }

    /// Returns the rank of a discarded page that may replace a page of `site`.
    pub(super) fn of(entry: &Discarded, site: u64) -> Self {
        let own = site_of(Url::parse(&entry.url).ok().as_ref(), entry.url.as_bytes());
        Self::new(&entry.url, entry.links.canonical && own == site, &entry.time, entry.bytes)
    }
}

/// Name of the frontier's note with the canonical URL that a kept page names, if it is another URL.
const NAMES: &str = "names";
/// Maximum number of such pages in memory, if there is no frontier. The newest are remembered.
const MOST_NAMES: usize = 1 << 16;

/// Minimum similarity for a page to replace another.
pub(super) const MIN_SIMILARITY: f64 = 0.8;

/// Returns whether the page of a match may be replaced at all. The kept page has duplicates: they must be similar to
/// the new page too. A page of another site needs an equal text. Otherwise a site could replace another site's text
/// in the index by a similar one.
pub(super) fn may_replace(best: &Neighbour, same_site: bool, strong_digest: bool) -> Replaceable {
    if best.level != Level::Text && best.similarity.is_none_or(|value| value < MIN_SIMILARITY) {
        return Replaceable::Never;
    }
    // The former digest can be forged.
    let equal = best.level == Level::Text && strong_digest;
    if same_site || equal { Replaceable::IfBetter } else { Replaceable::IfNamed }
}

/// The condition under which a page replaces the one that it duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replaceable {
    /// It does not.
    Never,
    /// The kept page names it as its canonical address.
    IfNamed,
    /// As [`IfNamed`](Self::IfNamed), or its rank is greater.
    IfBetter,
}

impl Committer {
    /// Returns whether a page is better than the one that it duplicates. A page that a person chose stays, and so
    /// does the page that the new page names as canonical.
    ///
    /// A page of another site replaces a kept one only if the kept page names it as canonical, or if the texts are
    /// equal. A page that names itself as canonical is preferred on its own site only.
    pub(super) fn is_better(&mut self, page: &PageWork, best: &Neighbour) -> Result<bool> {
        let Some(record) = self.store.record(best.id)? else { return Ok(false) };
        if Self::is_elsewhere(&record.key) {
            // It belongs to another worker.
            return Ok(false);
        }
        let (url, other) = (page.url.as_str(), String::from_utf8_lossy(&record.key));
        let names = page.document.canonical.as_ref().map(Url::as_str);
        let settled =
            self.logs.decisions.chosen(&other) || self.logs.decisions.was_restored(&other);
        if page.key.is_some() || names == Some(&other) || settled {
            return Ok(false);
        }
        let same_site = record.site == site_of(Some(&page.url), url.as_bytes());
        let replaceable = may_replace(best, same_site, record.strong_digest);
        if replaceable == Replaceable::Never {
            return Ok(false);
        }
        let own = Rank::new(
            url,
            same_site && names == Some(url),
            &format_time(page.time),
            page.response.body.len() as u64,
        );
        let rank = |canonical, bytes| Rank::of_record(&record, canonical, bytes);
        // The kept page names this URL as its canonical address.
        if names.is_none_or(|names| names == url)
            && self.named_by(best.id, &other)?.as_deref() == Some(url)
        {
            return Ok(true);
        }
        if replaceable == Replaceable::IfNamed {
            return Ok(false);
        }
        // Most pages lose already without a look-up in the index.
        if own < rank(false, 0) {
            return Ok(false);
        }
        let (canonical, bytes) =
            self.details_of(best.id)?.map_or((false, 0), |page| (page.canonical, page.bytes));
        Ok(own > rank(same_site && canonical, bytes))
    }

    /// Remembers the canonical URL that a kept page names, if it is another URL.
    pub(super) fn remember_named(&mut self, page: &PageWork, id: u64) {
        let named = page.document.canonical.as_ref().filter(|named| **named != page.url);
        match &self.frontier {
            // Only in a recrawl may the page have named one before.
            Some(frontier) if named.is_some() || self.look.on => {
                let named = named.map(|named| named.as_str().into()).unwrap_or_default();
                frontier.note(page.url.as_str(), NAMES, named);
            }
            Some(_) => {}
            None => {
                self.named.extend(named.map(|named| (id, named.to_string())));
                if self.named.len() > MOST_NAMES {
                    self.named.pop_first();
                }
            }
        }
    }

    fn named_by(&self, id: u64, url: &str) -> Result<Option<String>> {
        Ok(match &self.frontier {
            Some(frontier) => {
                frontier.note_of(url, NAMES)?.and_then(|named| String::from_utf8(named).ok())
            }
            None => self.named.get(&id).cloned(),
        })
    }

    /// Keeps the page instead of the one that it duplicates, which becomes its duplicate.
    pub(super) fn take_over(
        &mut self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        best: &Neighbour,
        marks: Vec<String>,
    ) -> Result<()> {
        let Some(other) = self.store.record(best.id)? else { return Ok(()) };
        let kept = self.details_of(best.id)?;
        let place_of_other = self.place_of(best.id).map(|(place, _)| place);
        let named = self.named_by(best.id, &String::from_utf8_lossy(&other.key))?;
        let is_named = named.as_deref() == Some(page.url.as_str());
        self.forget(best.id)?;
        let id = self.store.insert(document, None)?;
        let location = self.archive(page, id, None)?;
        let place = location.as_ref().map(super::commit::place);
        self.keep(page, id, &format_time(page.time), (location, marks))?;
        self.remember_named(page, id);
        let other_id = self.store.insert_record(&other, Some(id))?;
        let Some(own) = self.store.record(id)? else { return Ok(()) };
        let text = kept.as_ref().map(|page| page.text.clone());
        let mut line = self.line(&other, other_id, kept, &own, id, None, Some(best));
        if is_named {
            line.kind = DuplicateKind::Canonical;
        }
        line.of.warc = place;
        line.warc = line.warc.or(place_of_other);
        if let Some(text) = text {
            (line.shared, line.different) = examples(&text, &page.text);
        }
        self.logs.discarded.append(&line)?;
        self.event_replaced(&line)?;
        self.observer.tell(&Event::Replaced { line: &line })?;
        if let Some(frontier) = &self.frontier {
            // Duplicates are always fetched whole: the page they are compared with may change.
            frontier.note(&line.url, VALIDATORS, Vec::new());
        }
        self.stats.update(|counts| {
            counts.discarded_bytes += line.bytes;
            *counts.of_kind(line.kind) += 1;
        });
        self.decide(&Decision {
            of: Some(line.url),
            new_id: Some(id),
            old_id: Some(best.id),
            ..Decision::new(
                format_time(page.time),
                Action::Keep,
                page.url.to_string(),
                DecidedBy::Representative,
            )
        })
    }

    /// Returns a kept page, committed or not.
    fn details_of(&mut self, id: u64) -> Result<Option<StoredPage>> {
        if let Some(page) = self.search.recent.get(&id) {
            let text = self.texts.get(id).map(|text| text.to_string()).unwrap_or_default();
            return Ok(Some(StoredPage { text, ..page.clone() }));
        }
        if let Some(page) = self.search.earlier.as_ref().and_then(|index| index.page(id).ok()?) {
            return Ok(Some(page));
        }
        // It was committed after the index was opened.
        self.search.look_up_again();
        Ok(self.search.earlier.as_ref().and_then(|index| index.page(id).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_and_short_urls_rank_first_among_duplicates() {
        let rank = |url: &str, canonical| Rank::new(url, canonical, "2026", 9);
        let order = [
            rank("https://a.example/longer/but/canonical?x=1&y=2", true),
            rank("https://a.example/long/path", false),
            Rank::new("http://a.example/y", false, "2025", 1),
            Rank::new("http://a.example/x", false, "2026", 10),
            rank("http://a.example/x", false),
            rank("http://b.example/x", false),
        ];
        assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
    }
}

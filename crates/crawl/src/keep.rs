//! Writes the results of a verdict: index, WARC, log line.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Result;
use hapax_data::Context;
use hapax_data::DuplicateKind;
use hapax_dedup::{Level, Neighbour};
use hapax_frontier::Lease;
use hapax_index::{Page, Searcher, StoredPage};
use hapax_page::comparison::Compared;
use hapax_page::sites::site_of_url;
use hapax_page::{as_it_stands, examples};
use hapax_warc::{Location, RecordKind, RefersTo, format_time};

use super::commit::{Committer, place};
use super::event::{Event, Page as Observed};
use super::page::PageWork;
use hapax_data::stored_text;
use hapax_data::{
    ComparedTexts, Discarded, DiscardedOf, Evidence, MIN_PAGES, PackedText, PageLinks,
    repeated_runs, round, site_of_key,
};

/// Minimum share of words in lines of other pages, of a page that combines them.
const OF_OTHERS: f64 = 0.85;
/// Minimum number of its other words: a title and the number of products are no text.
const MIN_OWN: usize = 5;

/// The other page of a log line: a kept page, or a document of a reference.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) of: DiscardedOf,
    pub(super) text: Option<String>,
    pub(super) against: Option<String>,
}

impl Committer {
    /// Indexes a page. `marks` are the references that have it.
    pub(super) fn keep(
        &mut self,
        page: &PageWork,
        id: u64,
        time: &str,
        (location, marks): (Option<Location>, Vec<String>),
    ) -> Result<()> {
        self.texts.insert(id, Arc::clone(&page.text));
        self.store_text(page, id);
        let text = shown_text(&page.text);
        let mut site_lines = Vec::new();
        if let Some(site) = site_of_url(&page.url) {
            self.sites.add(site, page.compared.line_hashes());
            if self.search.adds {
                // The heading may have been removed.
                let before = usize::from(text.len() < page.text.len());
                site_lines = self.site_lines(&page.compared, site, (text, before));
            }
        }
        let stored_at = location.as_ref().map(place).unwrap_or_default();
        if let Some(location) = location {
            self.warc.places.insert(id, (location, page.time));
        }
        let meta = page.meta_with(&marks, &self.inlinks(page.url.as_str())?);
        if self.search.adds {
            self.add_to_index(&Page {
                meta: &meta,
                id,
                url: page.url.as_str(),
                title: &page.document.title,
                text,
                other: &page.other_text,
                site_lines: &site_lines,
                host: &page.host,
                site: &page.site,
                time: seconds_since_1970(page.time),
                language: page.document.language,
                fetched: time,
                stored_at: &stored_at,
                bytes: page.response.body.len() as u64,
                canonical: page.document.canonical.as_ref() == Some(&page.url),
            })?;
        }
        self.search.recent.insert(
            id,
            StoredPage {
                id,
                meta,
                url: page.url.to_string(),
                title: page.document.title.clone(),
                text: String::new(),
                // Only the index has it: what reads these pages needs no other text.
                other: String::new(),
                language: page.document.language.to_owned(),
                fetched: time.to_owned(),
                stored_at,
                bytes: page.response.body.len() as u64,
                canonical: page.document.canonical.as_ref() == Some(&page.url),
            },
        );
        self.event_kept(page, id, time)?;
        self.sinks.keep(&Observed::of(page), id)?;
        self.observer.tell(&Event::Kept { page: Observed::of(page), id })
    }

    /// Returns the lines of a page's text that at least three kept pages of its site contain, by number. The first two of
    /// these pages were indexed before that was known. The text lacks the first `before` lines.
    pub(super) fn site_lines(
        &self,
        compared: &Compared,
        site: u64,
        (text, before): (&str, usize),
    ) -> Vec<usize> {
        let (numbers, hashes): (Vec<usize>, Vec<u64>) = compared.numbered_lines().unzip();
        let counts = self.sites.pages_with_each(site, hashes.into_iter());
        let is_repeated = |count: &u64| *count >= u64::from(MIN_PAGES);
        if !counts.iter().any(is_repeated) {
            return Vec::new();
        }
        let lines: Vec<&str> = text.split('\n').collect();
        repeated_runs(&lines, |at| {
            let found = numbers.binary_search(&(at + before)).ok();
            match found.and_then(|found| counts.get(found)) {
                Some(count) => Some(is_repeated(count)),
                // No words, or it repeats the heading.
                None => lines.get(at)?.contains(char::is_alphanumeric).then_some(false),
            }
        })
    }

    /// Returns whether other kept pages of the site have nearly all lines of a page that was just kept, as those of a list
    /// with filters. `without_links`: lines that are mostly links, as those with further filters, are no text.
    pub(crate) fn combines_known_lines(&self, page: &PageWork, without_links: bool) -> bool {
        let Some(site) = site_of_url(&page.url) else { return false };
        // The page itself counts too.
        let is_known = |line| {
            without_links && page.link_lines.contains(line) || self.sites.pages_with(site, line) > 1
        };
        let (known, all) = page.compared.words_in_lines(is_known);
        all - known < MIN_OWN || known as f64 >= all as f64 * OF_OTHERS
    }

    /// Returns the evidence that decided about a pair.
    pub(super) const fn evidence(&self, compared: Option<&ComparedTexts>) -> Evidence {
        match compared {
            Some(_) => Evidence::Text,
            None if self.policy.hamming_only => Evidence::Fingerprint,
            None => Evidence::Sketch,
        }
    }

    /// Stores the text that later pages are compared with.
    fn store_text(&self, page: &PageWork, id: u64) {
        if self.policy.hamming_only {
            return;
        }
        let key = page.key.as_deref().unwrap_or(page.url.as_str());
        let packed = page.packed_text.clone();
        let packed = packed.unwrap_or_else(|| PackedText::of(page.compared.page()));
        self.compared.insert(id, key.as_bytes(), packed, &page.compared);
    }

    /// Removes the text of a page, and its lines from the counts of its site if it is kept.
    pub(super) fn remove_text(&mut self, id: u64) -> Result<()> {
        if let Some(record) = self.store.record(id)?.filter(|record| record.of.is_none())
            && let Some(site) = site_of_key(&record.key)
            && let Some(text) = self.compared.get(id, &record.key)
        {
            self.sites.remove(site, text.line_hashes());
        }
        self.compared.remove(id);
        Ok(())
    }

    pub(super) fn add_to_index(&mut self, page: &Page<'_>) -> Result<()> {
        let Some(index) = &mut self.search.index else { return Ok(()) };
        index.add(page)?;
        self.search.added.insert(page.id);
        self.stats.update(|counts| counts.indexed += 1);
        Ok(())
    }

    /// Returns whether a kept page is in the index. Pages of a job without an index are not.
    fn is_indexed(&mut self, id: u64) -> Result<bool> {
        if self.search.index.is_none() || self.search.added.contains(&id) {
            return Ok(self.search.index.is_some());
        }
        let has = |searcher: &Searcher| searcher.has(id);
        if self.search.earlier.as_ref().map(has).transpose()? == Some(true) {
            return Ok(true);
        }
        // It may have been committed after the searcher was opened.
        self.search.look_up_again();
        Ok(self.search.earlier.as_ref().map(has).transpose()? == Some(true))
    }

    /// Removes a page from tables and index because another version replaces it.
    pub(super) fn forget(&mut self, id: u64) -> Result<()> {
        if self.store.record(id)?.is_some_and(|record| record.of.is_none())
            && self.is_indexed(id)?
        {
            self.stats.update(|counts| counts.indexed = counts.indexed.saturating_sub(1));
        }
        if !self.sinks.is_empty()
            && let Some(record) = self.store.record(id)?
            && record.of.is_none()
        {
            self.sinks.remove(&String::from_utf8_lossy(&record.key), id)?;
        }
        self.remove_text(id)?;
        self.store.delete(id)?;
        self.warc.places.remove(&id);
        if self.search.index.is_some() {
            self.search.leaving.push(id);
        }
        Ok(())
    }

    pub(super) fn discard(
        &mut self,
        page: &PageWork,
        id: u64,
        (best, compared): (&Neighbour, Option<ComparedTexts>),
        time: String,
        location: Option<Location>,
    ) -> Result<()> {
        let url = self.url_of(best.id)?;
        let warc = self.place_of(best.id).map(|(place, _)| place);
        let text = self.texts.get(best.id).map(|text| text.to_string()).or_else(|| {
            let url = url::Url::parse(&url).ok()?;
            stored_text(&self.warc.folder, warc.as_deref()?, &url)
        });
        let of = DiscardedOf { id: Some(best.id), url, warc };
        let other = Other { of, text, against: None };
        self.log_discarded(page, id, (best, compared), other, (time, location))
    }

    /// Logs a discarded page.
    pub(super) fn log_discarded(
        &mut self,
        page: &PageWork,
        id: u64,
        (best, compared): (&Neighbour, Option<ComparedTexts>),
        Other { of, text, against }: Other,
        (time, location): (String, Option<Location>),
    ) -> Result<()> {
        if self.keeps_duplicates {
            self.store_text(page, id);
        }
        let canonical = page
            .document
            .canonical
            .as_ref()
            .is_some_and(|c| c.as_str() == of.url && c.as_str() != page.url.as_str());
        let kind = match best.level {
            _ if canonical => DuplicateKind::Canonical,
            Level::Text => DuplicateKind::Exact,
            Level::Hamming | Level::Sketch => DuplicateKind::Near,
        };
        let (shared, different) =
            text.map(|other| examples(&page.text, &other)).unwrap_or_default();
        let canonical_url = page.document.canonical.as_ref().map(as_it_stands);
        let line = Discarded {
            against,
            fingerprint: Some(page.evidence.fingerprint.to_string()),
            of_fingerprint: Some(best.fingerprint.to_string()),
            distance: Some(best.distance),
            threshold: Some(self.policy.distance),
            similarity: best.similarity.map(round),
            similarity_threshold: best.similarity_threshold,
            level: Some(best.level.name().to_owned()),
            table: best.table,
            recipe: Some(self.recipe.name().to_owned()),
            evidence: Some(self.evidence(compared.as_ref())),
            page_type: Some(page.document.page_type.as_str().to_owned()),
            confidence: Some(round(page.document.confidence.into())),
            key: page.key.clone(),
            title: page.document.title.clone(),
            language: page.document.language.to_owned(),
            host: page.host.clone(),
            bytes: page.response.body.len() as u64,
            shared,
            different,
            links: PageLinks {
                from: self.inlinks(page.url.as_str())?,
                canonical: page.document.canonical.as_ref() == Some(&page.url),
                canonical_url: canonical_url.filter(|url| url != page.url.as_str()),
            },
            warc: location.as_ref().map(place),
            ..Discarded::new(time, id, page.url.as_str(), kind, of)
        };
        let line = line.with_compared(compared).with_cause();
        self.logs.discarded.append(&line)?;
        self.event_discarded(&line)?;
        self.observer.tell(&Event::Discarded { page: Observed::of(page), line: &line })?;
        self.stats.update(|counts| *counts.of_kind(kind) += 1);
        Ok(())
    }

    pub(super) fn archive(
        &mut self,
        page: &PageWork,
        id: u64,
        best: Option<&Neighbour>,
    ) -> Result<Option<Location>> {
        if self.warc.writer.is_none() {
            return Ok(None);
        }
        let kind = match best {
            None => RecordKind::Response,
            Some(best) => {
                let known = self.place_of(best.id);
                let date = known.as_ref().map(|(_, date)| date.clone());
                let refers = RefersTo {
                    record: self.record_id(best.id),
                    url: self.url_of(best.id)?,
                    date,
                    evidence: evidence_of(best),
                };
                // The writer compares the payloads, for records of this archive only.
                let location = known.and_then(|(place, _)| {
                    let (file, offset) = place.split_once(':')?;
                    Some(Location { file: file.parse().ok()?, offset: offset.parse().ok()? })
                });
                match (best.level, location) {
                    (Level::Text, Some(location)) => RecordKind::SameText(refers, location),
                    _ => RecordKind::NearDuplicate(refers),
                }
            }
        };
        let record_id = self.record_id(id);
        let Some(warc) = &mut self.warc.writer else { return Ok(None) };
        let response = &page.response;
        let location = match &page.packed {
            Some(packed) => warc.append_packed(&kind, response, packed, page.time, &record_id),
            None => {
                let metadata = page.archived_metadata();
                warc.append(&kind, response, page.time, &record_id, &metadata)
            }
        };
        Ok(Some(location.context("pages/")?))
    }

    /// Logs a redirect as an alias of its target.
    pub(crate) fn alias(&mut self, lease: &Lease, target: &url::Url) -> Result<()> {
        let url = lease.entry.url.as_str();
        self.end_other_alias(&lease.entry.url, target)?;
        if self.store.id_of(url.as_bytes())?.is_none() {
            let nothing = hapax_dedup::Document {
                tokens: 0,
                time: crate::visits::unix_now(),
                ..hapax_dedup::Document::new(url.as_bytes(), hapax_dedup::Fingerprint::default())
            };
            let id = self.store.insert(&nothing, None)?;
            let of = DiscardedOf {
                id: self.store.id_of(target.as_str().as_bytes())?,
                url: target.to_string(),
                warc: None,
            };
            let time = format_time(SystemTime::now());
            let line = Discarded {
                host: lease.host.clone(),
                links: PageLinks { from: self.inlinks(url)?, ..PageLinks::default() },
                ..Discarded::new(time, id, url, DuplicateKind::Alias, of)
            };
            let line = line.with_cause();
            self.logs.discarded.append(&line)?;
            self.event_discarded(&line)?;
            self.stats.update(|counts| counts.alias += 1);
        }
        Ok(())
    }
}

/// Returns the similarity of two pages for the archive: `level=hamming; distance=2; similarity=0.97`.
fn evidence_of(best: &Neighbour) -> String {
    let similarity = best.similarity.map(|of| format!("; similarity={}", round(of)));
    let similarity = similarity.unwrap_or_default();
    format!("level={}; distance={}{similarity}", best.level.name(), best.distance)
}

fn seconds_since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Removes the title if the next line repeats it: the comparison text begins with it, and the text may too.
fn shown_text(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if rest.lines().next() == Some(first) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::shown_text;

    #[test]
    fn a_first_line_that_is_the_title_is_shown_once() {
        for (text, shown) in
            [("a\na\nb", "a\nb"), ("a\na", "a"), ("a\nab\na", "a\nab\na"), ("a", "a"), ("", "")]
        {
            assert_eq!(shown_text(text), shown);
        }
    }
}

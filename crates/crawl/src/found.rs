//! Finds a discarded page again, in archive or index, and adds it to the index.

use std::sync::Arc;

use hapax_data::{
    Discarded, PackedText, PageMeta, Texts, has_body, is_of_text, site_of_key, stored_page,
};
use hapax_dedup::Record;
use hapax_index::Page;
use hapax_page::comparison::{Compared, PageText};
use hapax_url::{host_key, registrable_site};
use url::Url;

use super::commit::Committer;
use super::refused::{Change, Refused, refused};
use crate::error::Result;

/// A discarded page that is added to the index.
pub(super) struct Found {
    pub(super) record: Record,
    pub(super) title: String,
    pub(super) text: String,
    /// Its visible text outside the main text.
    pub(super) other: String,
    pub(super) language: String,
    pub(super) stored_at: String,
    pub(super) canonical: bool,
    /// The comparison text for later pages.
    pub(super) page_text: Option<PageText>,
    /// JSON of its [`PageMeta`].
    pub(super) meta: String,
}

impl Committer {
    /// Returns the page of a row, from archive or index.
    pub(super) fn found(
        &self,
        texts: &Texts,
        entry: &Discarded,
        line: &Discarded,
    ) -> Change<Found> {
        let record = match self.store.id_of(entry.own_key())? {
            Some(id) => self.store.record(id)?,
            None => None,
        };
        let Some(record) = record.filter(|record| record.of.is_some()) else {
            return refused(Refused::NotDiscarded);
        };
        let mut found = Found {
            record,
            title: entry.title.clone(),
            text: String::new(),
            other: String::new(),
            language: entry.language.clone(),
            stored_at: entry.warc.clone().unwrap_or_default(),
            canonical: entry.links.canonical,
            page_text: None,
            meta: String::new(),
        };
        if self.search.index.is_none() {
            return Ok(found);
        }
        let exact = entry.level.as_deref() == Some("text") && entry.against.is_none();
        // Its own record is preferred, because that of the other page may be purged.
        let own = entry.warc.as_ref().filter(|place| exact && has_body(&self.warc.folder, place));
        if exact && let Some(kept) = texts.kept_page(entry) {
            // The archive may have only the head of the page. Its text is that of the page it was compared with, which
            // need not be the current representative.
            let of = match entry.of.id {
                Some(of) => self.store.record(of)?,
                None => None,
            };
            if of.is_some_and(|of| of.has_digest_of(&found.record)) {
                let kept_text = self.compared.get(kept.id, entry.of.url.as_bytes());
                found.page_text = kept_text.map(|text| text.page().clone());
                let place = own.cloned().unwrap_or(kept.stored_at);
                (found.text, found.stored_at, found.meta) = (kept.text, place, kept.meta);
                found.other = kept.other;
                return Ok(found);
            }
        }
        let (url, place) = if exact && own.is_none() {
            (&line.of.url, &line.of.warc)
        } else {
            (&entry.url, &entry.warc)
        };
        let read = || {
            let url = Url::parse(url).ok()?;
            let page = stored_page(&self.warc.folder, place.as_deref()?, &url)?;
            Some((url, page))
        };
        let Some((url, (document, comparison_text))) = read() else {
            return refused(Refused::NoText);
        };
        if exact && !is_of_text(&found.record, &comparison_text.features) {
            return refused(Refused::NoText);
        }
        found.page_text = Some(PageText::of(&document, &comparison_text).without_address(&url));
        let against = entry.against.iter().cloned().collect();
        let fetched = hapax_extract::Date::of_text(&entry.time);
        found.meta = PageMeta::of(&document, fetched)
            .with_against(against)
            .with_from(entry.links.from.clone())
            .to_json();
        found.other = document.other_text(comparison_text.thin);
        found.text = comparison_text.text;
        found.stored_at = place.clone().unwrap_or_default();
        if !exact {
            found.title = document.title;
        }
        Ok(found)
    }

    pub(super) fn index_again(&mut self, entry: &Discarded, found: &Found, id: u64) -> Result<()> {
        let mut site_lines = Vec::new();
        if let Some(text) = &found.page_text {
            let packed = PackedText::of(text);
            let compared = Arc::new(Compared::new(text.clone()));
            self.compared.insert(id, entry.own_key(), packed, &compared);
            if let Some(site) = site_of_key(entry.own_key()) {
                self.sites.add(site, compared.line_hashes());
                // The text of an index lacks a heading that its next line repeats.
                let before = usize::from(found.text.len() < text.text.len());
                site_lines = self.site_lines(&compared, site, (&found.text, before));
            }
        }
        let url = Url::parse(&entry.url).ok();
        self.add_to_index(&Page {
            id,
            url: &entry.url,
            title: &found.title,
            text: &found.text,
            other: &found.other,
            site_lines: &site_lines,
            host: &url.as_ref().map(host_key).unwrap_or_default(),
            site: &url.as_ref().map(registrable_site).unwrap_or_default(),
            time: hapax_data::parse_moment(&entry.time).unwrap_or_default(),
            language: &found.language,
            fetched: &entry.time,
            stored_at: &found.stored_at,
            bytes: entry.bytes,
            canonical: found.canonical,
            meta: &found.meta,
        })
    }
}

/// Returns the name of the page in store and decisions.
pub(super) fn name_of(entry: &Discarded) -> String {
    entry.key.clone().unwrap_or_else(|| entry.url.clone())
}

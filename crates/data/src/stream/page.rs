//! The fields of a kept page, for its event.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hapax_dedup::{Record, Store};
use hapax_extract::{Date, jieba};
use hapax_index::{Error, Searcher};
use url::Url;

use super::event::PageEvent;
use crate::archived::stored_page;
use crate::error::Result;
use crate::export::{ExportedPage, StoredFeatures};
use crate::page_meta::PageMeta;
use crate::sightings::Sighted;
use crate::standing::tables;

/// Finds pages in the index or the archive of a data directory.
#[derive(Debug)]
pub(super) struct Pages {
    index: PathBuf,
    archive: PathBuf,
    searcher: Option<Searcher>,
    data: PathBuf,
    /// The tables, if they were opened.
    tables: Option<Store>,
    /// Whether the tables lack the commits since the last look for events.
    is_behind: bool,
    /// Whether a page needs the values of the tables.
    pub(super) with_tables: bool,
    /// Time to open the index and to read the new part of the tables since the last look for events.
    opening: Duration,
}

impl Pages {
    pub(super) fn of(data: &Path) -> Self {
        Self {
            index: data.join("index"),
            archive: data.join("pages"),
            searcher: None,
            data: data.to_owned(),
            tables: None,
            is_behind: false,
            with_tables: true,
            opening: Duration::ZERO,
        }
    }

    /// Closes the index. The next look-up reads the newest commit of index and tables.
    pub(super) fn renew(&mut self) {
        (self.searcher, self.is_behind, self.opening) = (None, true, Duration::ZERO);
    }

    /// Returns the time to open the index and to read the new part of the tables since the last look for events.
    pub(super) const fn opening(&self) -> Duration {
        self.opening
    }

    /// Returns whether the index has a page with this URL.
    pub(super) fn has(&mut self, url: &str) -> Result<bool> {
        Ok(self.searcher()?.map(|index| index.has_url(url)).transpose()?.unwrap_or(false))
    }

    /// Returns the page with a URL and the caller's key of it.
    pub(super) fn page_at(&mut self, url: &str) -> Result<Option<(ExportedPage, Option<String>)>> {
        let index = self.searcher()?;
        let Some(page) = index.map(|index| index.page_at(url)).transpose()?.flatten() else {
            return Ok(None);
        };
        let place = page.stored_at.clone();
        let record = self.record_of(page.id)?;
        let key = record.as_ref().map(|record| String::from_utf8_lossy(&record.key).into_owned());
        let stored = StoredFeatures::of(url, &place, record.as_ref().filter(|_| self.with_tables));
        Ok(Some((ExportedPage { stored, ..ExportedPage::from(page) }, key)))
    }

    fn searcher(&mut self) -> Result<Option<&Searcher>> {
        if self.searcher.is_none() {
            let began = Instant::now();
            self.searcher = match Searcher::open(&self.index, jieba) {
                Err(Error::Missing(_)) => return Ok(None),
                searcher => Some(searcher?),
            };
            self.opening += began.elapsed();
        }
        Ok(self.searcher.as_ref())
    }

    fn record(&mut self, id: u64) -> Result<Option<Record>> {
        if self.with_tables { self.record_of(id) } else { Ok(None) }
    }

    fn record_of(&mut self, id: u64) -> Result<Option<Record>> {
        if self.is_behind || self.tables.is_none() {
            let began = Instant::now();
            // Opening reads the whole journal, so its time grows with the crawl.
            let is_current =
                self.tables.as_ref().is_some_and(|store| store.catch_up().unwrap_or(false));
            if !is_current {
                self.tables = tables(&self.data);
            }
            self.is_behind = false;
            self.opening += began.elapsed();
        }
        Ok(self.tables.as_ref().map(|store| store.record(id)).transpose()?.flatten())
    }

    /// Returns the page of an event. `None` if it has left the index since, which a later event reports, or if its text
    /// is not stored.
    pub(super) fn page(&mut self, event: &PageEvent) -> Result<Option<ExportedPage>> {
        let page = match &event.warc {
            Some(place) => self.archived(event, place),
            None => {
                let index = self.searcher()?;
                let page = index.map(|index| index.page(event.id)).transpose()?.flatten();
                page.map(ExportedPage::from)
            }
        };
        let Some(page) = page else { return Ok(None) };
        let place = page.stored.warc.clone().unwrap_or_default();
        let record = self.record(event.id)?;
        let stored = StoredFeatures::of(&page.url, &place, record.as_ref());
        Ok(Some(ExportedPage { stored, ..page }))
    }

    fn archived(&self, event: &PageEvent, place: &str) -> Option<ExportedPage> {
        let (document, compared) =
            stored_page(&self.archive, place, &Url::parse(&event.url).ok()?)?;
        Some(ExportedPage {
            id: event.id,
            url: event.url.clone(),
            meta: PageMeta::of(&document, event.fetched.as_deref().and_then(Date::of_text)),
            title: document.title,
            language: document.language.to_owned(),
            text: compared.text,
            fetched: event.fetched.clone().unwrap_or_default(),
            sighted: Sighted::default(),
            stored: StoredFeatures::of(&event.url, place, None),
            site_lines: 0,
        })
    }
}

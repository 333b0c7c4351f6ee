//! The fields of a kept page, for its event.

use std::path::{Path, PathBuf};

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
    /// The tables, if they were opened since the last look for events.
    tables: Option<Store>,
    /// Whether a page needs the values of the tables.
    pub(super) with_tables: bool,
}

impl Pages {
    pub(super) fn of(data: &Path) -> Self {
        Self {
            index: data.join("index"),
            archive: data.join("pages"),
            searcher: None,
            data: data.to_owned(),
            tables: None,
            with_tables: true,
        }
    }

    /// Closes index and tables. The next look-up opens their newest commit.
    pub(super) fn renew(&mut self) {
        (self.searcher, self.tables) = (None, None);
    }

    /// Returns whether the index has a page with this URL.
    pub(super) fn has(&mut self, url: &str) -> Result<bool> {
        Ok(self.searcher()?.map(|index| index.has_url(url)).transpose()?.unwrap_or(false))
    }

    fn searcher(&mut self) -> Result<Option<&Searcher>> {
        if self.searcher.is_none() {
            self.searcher = match Searcher::open(&self.index, jieba) {
                Err(Error::Missing(_)) => return Ok(None),
                searcher => Some(searcher?),
            };
        }
        Ok(self.searcher.as_ref())
    }

    fn record(&mut self, id: u64) -> Result<Option<Record>> {
        if !self.with_tables {
            return Ok(None);
        }
        if self.tables.is_none() {
            self.tables = tables(&self.data);
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

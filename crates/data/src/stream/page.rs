//! The fields of a kept page, for its event.

use std::path::{Path, PathBuf};

use hapax_extract::{Date, jieba};
use hapax_index::{Error, Searcher};
use url::Url;

use super::event::PageEvent;
use crate::archived::stored_page;
use crate::error::Result;
use crate::export::{ExportedPage, StoredFeatures};
use crate::page_meta::PageMeta;
use crate::sightings::Sighted;

/// Finds pages in the index or the archive of a data directory.
#[derive(Debug)]
pub(super) struct Pages {
    index: PathBuf,
    archive: PathBuf,
    searcher: Option<Searcher>,
}

impl Pages {
    pub(super) fn of(data: &Path) -> Self {
        Self { index: data.join("index"), archive: data.join("pages"), searcher: None }
    }

    /// Closes the index. The next look-up opens its newest commit.
    pub(super) fn renew(&mut self) {
        self.searcher = None;
    }

    /// Returns the page of an event. `None` if it has left the index since, which a later event reports, or if its text
    /// is not stored.
    pub(super) fn page(&mut self, event: &PageEvent) -> Result<Option<ExportedPage>> {
        if let Some(place) = &event.warc {
            return Ok(self.archived(event, place));
        }
        if self.searcher.is_none() {
            self.searcher = match Searcher::open(&self.index, jieba) {
                Err(Error::Missing(_)) => return Ok(None),
                searcher => Some(searcher?),
            };
        }
        let page = self.searcher.as_ref().map(|index| index.page(event.id)).transpose()?.flatten();
        Ok(page.map(ExportedPage::from))
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

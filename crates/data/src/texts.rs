//! Texts of a row's pages, from the WARC or the index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hapax_dedup::Policy;

use hapax_extract::jieba;
use hapax_index::{Error, Searcher, StoredPage};
use url::Url;

use crate::archived::stored_text;
use crate::error::Result;
use crate::lines::Discarded;
use crate::references::Reference;

/// Sources of page texts.
#[derive(Debug)]
pub struct Texts {
    pages: PathBuf,
    searcher: Option<Searcher>,
    /// References that rows name; `None` if one cannot be opened.
    references: Mutex<HashMap<String, Option<Reference>>>,
}

impl Texts {
    /// Opens the texts of a data directory, with or without an index.
    ///
    /// # Errors
    /// If the index is damaged.
    pub fn open(data: &Path) -> Result<Self> {
        let searcher = match Searcher::open(&data.join("index"), jieba) {
            Err(error @ Error::Damaged { .. }) => return Err(error.into()),
            opened => opened.ok(),
        };
        Ok(Self { pages: data.join("pages"), searcher, references: Mutex::default() })
    }

    /// Returns a kept page from the index.
    pub fn page(&self, id: u64) -> Option<StoredPage> {
        self.searcher.as_ref()?.page(id).ok().flatten()
    }

    /// Returns the places in the archive, file and offset, of kept pages with a wanted URL. Without an index, none.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub(crate) fn places_of(&self, wanted: impl Fn(&str) -> bool) -> Result<HashSet<(u32, u64)>> {
        let mut places = HashSet::new();
        let Some(searcher) = &self.searcher else { return Ok(places) };
        searcher.pages(|page| {
            let place = page.stored_at.split_once(':');
            let place = place.and_then(|(f, offset)| Some((f.parse().ok()?, offset.parse().ok()?)));
            places.extend(place.filter(|_| wanted(&page.url)));
            true
        })?;
        Ok(places)
    }

    /// Finds a kept page by its URL, in O(pages).
    pub fn page_of(&self, url: &str) -> Option<StoredPage> {
        let mut found = None;
        let visited = self.searcher.as_ref()?.pages(|page| {
            if page.url == url {
                found = Some(page);
            }
            found.is_none()
        });
        visited.ok().and(found)
    }

    /// Returns the kept page of a row.
    pub fn kept_page(&self, entry: &Discarded) -> Option<StoredPage> {
        self.page(entry.of.id?)
    }

    /// Returns the text of the kept page, or of the document of a reference.
    pub fn kept(&self, entry: &Discarded) -> Option<String> {
        if let Some(store) = &entry.against {
            let mut references = self.references.lock().unwrap_or_else(PoisonError::into_inner);
            let reference = references.entry(store.clone());
            let open = || Reference::open(Path::new(store), Policy::default()).ok();
            return reference.or_insert_with(open).as_ref()?.text(&entry.of.url).ok()?;
        }
        let archived = || {
            let url = Url::parse(&entry.of.url).ok()?;
            stored_text(&self.pages, entry.of.warc.as_deref()?, &url)
        };
        self.kept_page(entry).map(|page| page.text).or_else(archived)
    }

    /// Returns the text of the discarded page. If it is equal to the kept one, the archive has only its head. Then it
    /// is the text of the page that it was compared with, which `line` of the log names.
    pub fn discarded(&self, entry: &Discarded, line: &Discarded) -> Option<String> {
        let own = || {
            let url = Url::parse(&entry.url).ok()?;
            stored_text(&self.pages, entry.warc.as_deref()?, &url).filter(|text| !text.is_empty())
        };
        if entry.level.as_deref() == Some("text") && entry.against.is_none() {
            if line.of.id == entry.of.id {
                // In a crawl of several workers another one may have the other page.
                return self.kept(entry).or_else(own);
            }
            let url = Url::parse(&line.of.url).ok()?;
            let compared = || stored_text(&self.pages, line.of.warc.as_deref()?, &url);
            return compared().or_else(own);
        }
        own()
    }
}

//! The texts behind a row, from the WARC or the index, and its reason in words.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hapax_extract::jieba;
use hapax_index::{Error, Searcher, StoredPage};
use url::Url;

use crate::commands::open_index::advised;
use crate::crawl::{Discarded, stored_text};

/// Where texts come from.
#[derive(Debug)]
pub(crate) struct Texts {
    pages: PathBuf,
    searcher: Option<Searcher>,
}

impl Texts {
    /// Of a data directory, with or without an index.
    ///
    /// # Errors
    /// Where the index is damaged.
    pub(crate) fn open(data: &Path) -> Result<Self> {
        let searcher = match Searcher::open(&data.join("index"), jieba) {
            Err(error @ Error::Damaged { .. }) => return Err(advised(data, error)),
            opened => opened.ok(),
        };
        Ok(Self { pages: data.join("pages"), searcher })
    }

    /// A page that is kept, as the index holds it.
    pub(crate) fn page(&self, id: u64) -> Option<StoredPage> {
        self.searcher.as_ref()?.page(id).ok().flatten()
    }

    /// A page that is kept, by its URL: looked for among all pages.
    pub(crate) fn page_of(&self, url: &str) -> Option<StoredPage> {
        let mut found = None;
        let visited = self.searcher.as_ref()?.pages(|page| {
            if page.url == url {
                found = Some(page);
            }
            found.is_none()
        });
        visited.ok().and(found)
    }

    /// The page that was kept for a row.
    pub(crate) fn kept_page(&self, entry: &Discarded) -> Option<StoredPage> {
        self.page(entry.of.id?)
    }

    /// The text that was kept.
    pub(crate) fn kept(&self, entry: &Discarded) -> Option<String> {
        let archived = || {
            let url = Url::parse(&entry.of.url).ok()?;
            stored_text(&self.pages, entry.of.warc.as_deref()?, &url)
        };
        self.kept_page(entry).map(|page| page.text).or_else(archived)
    }

    /// The text that was discarded. Of an equal one the archive keeps the head only: it is that of the
    /// page it was compared with, as `line` of the log names it.
    pub(crate) fn discarded(&self, entry: &Discarded, line: &Discarded) -> Option<String> {
        let own = || {
            let url = Url::parse(&entry.url).ok()?;
            stored_text(&self.pages, entry.warc.as_deref()?, &url).filter(|text| !text.is_empty())
        };
        if entry.level.as_deref() == Some("text") {
            if line.of.id == entry.of.id {
                // Of a crawl of many workers the other page may lie with another one.
                return self.kept(entry).or_else(own);
            }
            let url = Url::parse(&line.of.url).ok()?;
            return stored_text(&self.pages, line.of.warc.as_deref()?, &url);
        }
        own()
    }
}

/// Why a row was discarded, in words.
pub(crate) fn reason(entry: &Discarded) -> String {
    let similarity = entry.similarity.map_or(String::new(), |similarity| {
        let asked = entry
            .similarity_threshold
            .map_or(String::new(), |t| format!(" (at least {t} was asked for)"));
        format!(", similarity {similarity:.2}{asked}")
    });
    match (entry.kind.as_str(), entry.level.as_deref()) {
        ("alias", _) => "it only leads to the other page".to_owned(),
        ("canonical", _) => format!("it names the other page as its canonical address{similarity}"),
        (_, Some("text")) => "its text is equal".to_owned(),
        (_, Some(_)) if entry.table.is_none() => format!(
            "the other page of the pair is the better one to keep{similarity}; the fingerprints differ in {} bits",
            entry.distance.unwrap_or(0),
        ),
        (_, Some("sketch")) => format!(
            "proposed by sketch band {}{similarity}; the fingerprints differ in {} bits",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
        ),
        _ => format!(
            "proposed by Hamming table {}, distance {} of at most {}{similarity}",
            entry.table.unwrap_or(0),
            entry.distance.unwrap_or(0),
            entry.threshold.unwrap_or(0),
        ),
    }
}

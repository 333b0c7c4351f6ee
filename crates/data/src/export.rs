//! The export of kept pages.

use std::collections::HashMap;

use hapax_index::{Searcher, StoredPage};
use serde::Serialize;

use crate::error::Result;
use crate::page_meta::PageMeta;
use crate::rows::Rows;
use crate::site_lines::{SiteLines, SiteLinesBuilder};

/// One exported page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedPage {
    /// Document number in the dedup store.
    #[serde(skip)]
    pub id: u64,
    /// URL.
    pub url: String,
    /// Title.
    pub title: String,
    /// Two-letter language code, or `""`.
    pub language: String,
    /// Text, without the lines that the site repeats.
    pub text: String,
    /// Time of the request (RFC 3339).
    pub fetched: String,
    /// Number of discarded pages that it represents, without redirects.
    pub copies: u64,
    /// Number of removed lines that the site repeats.
    pub site_lines: usize,
    /// Page type and confidence.
    #[serde(flatten)]
    pub meta: PageMeta,
}

/// Maximum length of the title in a file name, in bytes.
const MAX_NAME: usize = 80;

impl ExportedPage {
    /// Returns the name of its Markdown file: number and title. It has no path separators.
    pub fn file_name(&self) -> String {
        let title = if self.title.is_empty() { &self.url } else { &self.title };
        let title: String =
            title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let words: Vec<&str> = title.split('-').filter(|part| !part.is_empty()).collect();
        let mut name = words.join("-");
        name.truncate(name.floor_char_boundary(MAX_NAME));
        format!("{:06}-{name}.md", self.id)
    }
}

/// The page with its whole text, and no copies.
impl From<StoredPage> for ExportedPage {
    fn from(page: StoredPage) -> Self {
        Self {
            id: page.id,
            copies: 0,
            text: page.text,
            site_lines: 0,
            meta: PageMeta::from_json(&page.meta),
            url: page.url,
            title: page.title,
            language: page.language,
            fetched: page.fetched,
        }
    }
}

/// Reads the kept pages of an index.
#[derive(Debug)]
pub struct Export<'s> {
    searcher: &'s Searcher,
    copies: HashMap<u64, u64>,
    site_lines: SiteLines,
}

/// Returns the number of discarded pages, without redirects, by kept page.
pub fn copies(rows: &Rows) -> HashMap<u64, u64> {
    let mut copies = HashMap::new();
    for row in rows.discarded().filter(|row| !row.is_alias()) {
        *copies.entry(rows.kept_for(row).0).or_default() += 1;
    }
    copies
}

impl<'s> Export<'s> {
    /// Prepares an export. With `clean` it first reads all pages to learn the lines that each site repeats.
    ///
    /// # Errors
    /// If the index or a temporary file cannot be read or written.
    pub fn new(searcher: &'s Searcher, rows: &Rows, clean: bool) -> Result<Self> {
        let mut site_lines = SiteLines::default();
        if clean {
            let mut builder = SiteLinesBuilder::default();
            let mut failure = None;
            searcher.pages(|page| {
                failure = builder.add(&page.url, &page.text).err();
                failure.is_none()
            })?;
            failure.map_or(Ok(()), Err)?;
            site_lines = builder.build()?;
        }
        Ok(Self { searcher, copies: copies(rows), site_lines })
    }

    /// Calls `each` with every page that `wanted` selects, until `each` fails. Returns whether there was a page.
    ///
    /// # Errors
    /// Those of the index, and the first of `each`.
    pub fn pages<E: From<hapax_index::Error>>(
        &self,
        wanted: impl Fn(&StoredPage) -> bool,
        mut each: impl FnMut(ExportedPage) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        let (mut failure, mut any) = (None, false);
        self.searcher.pages(|page| {
            if wanted(&page) {
                any = true;
                failure = each(self.exported(page)).err();
            }
            failure.is_none()
        })?;
        failure.map_or(Ok(any), Err)
    }

    fn exported(&self, page: StoredPage) -> ExportedPage {
        let cleaned = self.site_lines.clean(&page.url, &page.title, &page.text);
        let copies = self.copies.get(&page.id).copied().unwrap_or(0);
        let page = ExportedPage::from(page);
        ExportedPage { copies, text: cleaned.text, site_lines: cleaned.removed, ..page }
    }
}

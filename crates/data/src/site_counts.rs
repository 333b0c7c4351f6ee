//! Names the lines of a difference that a site repeats, from the counts in `sites/`.

use std::path::Path;

use hapax_dedup::{Policy, Store};
use hapax_page::comparison::PageText;
use hapax_page::difference::{
    Summary, SummaryKind, Words, compare_in_pages, phrases_of, summaries,
};
use hapax_page::sites::{SiteStore, site_of_url};
use url::Url;

use crate::error::Result;
use crate::positions::{PagePosition, read_position};
use crate::tables::{read_only, url_of_key};

/// A page of a comparison, as far as the counts of its site need it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SitePage {
    /// The number of its site; `None` if it has none.
    pub(crate) site: Option<u64>,
    /// Whether it is a kept page, which the counts include.
    pub(crate) is_kept: bool,
}

/// Returns the site of a page by its key in the store. A key that is not a URL (`crawl dedup`) has none.
pub fn site_of_key(key: &[u8]) -> Option<u64> {
    let key = std::str::from_utf8(key).ok()?;
    Url::parse(url_of_key(key)).ok().and_then(|url| site_of_url(&url))
}

/// Opens the counts of a data directory for reading, as of the last commit of its store.
pub fn read_sites(data: &Path, store: &Store) -> SiteStore {
    let position = read_position::<PagePosition>(&store.payload());
    SiteStore::read_only(&data.join("sites"), position.map_or(0, |position| position.sites))
}

/// The counts of a data directory, and the pages that it keeps.
#[derive(Debug)]
pub struct SiteReader {
    store: Store,
    sites: SiteStore,
}

impl SiteReader {
    /// Opens a data directory for reading; `None` if it has no pages.
    ///
    /// # Errors
    /// From the dedup store.
    pub fn open(data: &Path, policy: Policy, recipe: &str) -> Result<Option<Self>> {
        let opened = read_only(data, policy, recipe)?;
        Ok(opened.map(|(store, _)| Self { sites: read_sites(data, &store), store }))
    }

    /// Finds the lines that the sites of two pages repeat on other pages.
    fn find_repeated(&self, summaries: &mut [Summary], urls: [Option<&Url>; 2]) -> Result<()> {
        let mut pages = [SitePage::default(); 2];
        for (page, url) in pages.iter_mut().zip(urls) {
            let Some(url) = url else { continue };
            let id = self.store.id_of(url.as_str().as_bytes())?;
            let record = id.map(|id| self.store.record(id)).transpose()?.flatten();
            page.is_kept = record.is_some_and(|record| record.of.is_none());
            page.site = site_of_url(url);
        }
        find_repeated(summaries, &self.sites, pages);
        Ok(())
    }
}

/// Returns the differences of two texts as phrases. With `sites` they name the lines that the sites of the two URLs
/// repeat. `names` denote the two texts.
///
/// # Errors
/// From the dedup store.
pub fn differs(
    pages: [&PageText; 2],
    urls: [Option<&Url>; 2],
    names: [&str; 2],
    sites: Option<&SiteReader>,
) -> Result<Vec<String>> {
    let [first, second] = pages.map(|page| Words::of(&page.text));
    let difference = compare_in_pages([&first, &second], pages.map(|page| &page.outside));
    let mut all = summaries(&difference, [&first, &second]);
    if let Some(sites) = sites {
        sites.find_repeated(&mut all, urls)?;
    }
    Ok(phrases_of(&difference, &all, names))
}

/// Finds the lines that the site of their page repeats on other pages. `pages` are the two of the comparison.
pub(crate) fn find_repeated(summaries: &mut [Summary], sites: &SiteStore, pages: [SitePage; 2]) {
    let [first, second] = pages;
    for summary in summaries {
        let page = match summary.kind {
            SummaryKind::OnlyFirst => first,
            SummaryKind::OnlySecond => second,
            _ => continue,
        };
        if let Some(site) = page.site {
            let own = u64::from(page.is_kept);
            summary.find_repeated(|line| sites.pages_with(site, line).saturating_sub(own));
        }
    }
}

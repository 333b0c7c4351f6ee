//! Near misses among kept pages, for `crawl duplicates closest`: the closest page of each page, thin pages, and pages of
//! one site with the same title or description.

mod nearest;
mod repeated;
mod single;

use std::path::Path;

use hapax_dedup::Policy;
use hapax_url::registrable_site;
use serde::Serialize;
use url::Url;

use self::nearest::{Nearest, nearest};
use self::repeated::Repeated;
pub use self::single::closest_kept;
use crate::comparison::round;
use crate::error::{Error, Result};
use crate::page_texts::PageTexts;

/// Maximum number of pages that the line of a title or description lists.
const MAX_LISTED: usize = 100;

/// A kept page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptPage {
    /// The page's number.
    pub id: u64,
    /// Its URL.
    pub url: String,
}

/// The closest page of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClosestPage {
    /// The page.
    #[serde(flatten)]
    pub page: KeptPage,
    /// The similarity that the sketches estimate, 0 to 1.
    pub similarity: f64,
    /// Distance of the fingerprints in bits.
    pub distance: u32,
}

/// A near miss.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NearMiss {
    /// The closest page of a page.
    Closest {
        /// The page.
        #[serde(flatten)]
        page: KeptPage,
        /// The closest page; `None` if no page shares a band of its sketch.
        closest: Option<ClosestPage>,
    },
    /// A page with few content words.
    Thin {
        /// The page.
        #[serde(flatten)]
        page: KeptPage,
        /// The number of content words.
        words: u32,
    },
    /// Pages of one site with the same title.
    Title(SameValue),
    /// Pages of one site with the same description.
    Description(SameValue),
}

/// A value that several pages of one site have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SameValue {
    /// The value of the first page.
    pub text: String,
    /// The number of pages.
    pub pages: usize,
    /// The first pages, at most 100.
    #[serde(rename = "where")]
    pub listed: Vec<KeptPage>,
}

/// The kinds of near misses, in the order of output.
pub const NEAR_MISSES: [&str; 4] = ["closest", "thin", "title", "description"];

/// Counts of near misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NearMissTotals {
    /// Kept pages.
    pub pages: u64,
    /// Pages with a closest page.
    pub closest: u64,
    /// Thin pages.
    pub thin: u64,
    /// Titles of several pages.
    pub title: u64,
    /// Descriptions of several pages.
    pub description: u64,
    /// Bands of sketches with more than 65 pages: a closer page may be missing.
    pub large_bands: u64,
}

/// Selection of near misses.
#[derive(Clone, Copy, Debug)]
pub struct NearMissOptions<'k> {
    /// Kinds by name; all if it is empty.
    pub kinds: &'k [String],
    /// Smallest similarity of a closest page; with 0, pages without a closest page are listed too.
    pub similarity: f64,
    /// Maximum number of lines; the totals count all.
    pub lines: usize,
}

/// Near misses of a data directory.
#[derive(Debug)]
pub struct NearMisses {
    texts: PageTexts,
    /// Number, fingerprint and content words of each kept page.
    pages: Vec<(u64, hapax_dedup::Fingerprint, u32)>,
    nearest: Nearest,
    /// Pages by the similarity of their closest page, the most similar first; those without one are last.
    by_similarity: Vec<u32>,
    /// Thin pages by words.
    thin: Vec<u32>,
    titles: Vec<Vec<u32>>,
    descriptions: Vec<Vec<u32>>,
}

impl NearMisses {
    /// Reads the records, titles and descriptions of all kept pages.
    ///
    /// # Errors
    /// From store and index.
    ///
    /// # Complexity
    /// O(n log n) for n pages; about 160 bytes of memory for a page.
    pub fn find(data: &Path) -> Result<Self> {
        let texts = PageTexts::open(data)?;
        let (mut pages, mut sketches) = (Vec::new(), Vec::new());
        let (mut titles, mut descriptions) = (Repeated::default(), Repeated::default());
        texts.kept(|record| {
            let page = u32::try_from(pages.len())
                .map_err(|_| Error::Invalid("more than 2^32 kept pages".to_owned()))?;
            pages.push((record.id, record.fingerprint, record.tokens));
            sketches.push(record.sketch);
            let key = String::from_utf8_lossy(&record.key);
            let site = Url::parse(&key).map(|url| registrable_site(&url)).unwrap_or_default();
            let [title, description] = texts.named(record.id, &record.key)?;
            titles.add(&site, &title, page);
            descriptions.add(&site, &description, page);
            Ok(())
        })?;
        let nearest = nearest(&sketches);
        let (titles, descriptions) = (titles.groups(), descriptions.groups());
        let numbers = || (0u32..).take(pages.len());
        // Stable: equal ones by number.
        let mut by_similarity: Vec<u32> = numbers().collect();
        by_similarity.sort_by(|a, b| nearest.similarity(*b).total_cmp(&nearest.similarity(*a)));
        let limit = Policy::default().little_tokens;
        let words = |page: &u32| pages.get(*page as usize).map_or(0, |page| page.2);
        let mut thin: Vec<u32> = numbers().filter(|page| words(page) < limit).collect();
        thin.sort_by_key(words);
        Ok(Self { texts, pages, nearest, by_similarity, thin, titles, descriptions })
    }

    /// Calls `each` with the near misses: closest pages by similarity, the most similar first; thin pages by words; titles
    /// and descriptions by the number of their pages. Returns the totals.
    ///
    /// # Errors
    /// From the store, and the first of `each`.
    pub fn lines<E: From<Error>>(
        &self,
        options: &NearMissOptions<'_>,
        mut each: impl FnMut(NearMiss) -> std::result::Result<(), E>,
    ) -> std::result::Result<NearMissTotals, E> {
        let wanted =
            |kind: &str| options.kinds.is_empty() || options.kinds.iter().any(|one| one == kind);
        let (closest, thin) = (self.closest(options.similarity), &self.thin);
        let count = |list: usize| list as u64;
        let mut left = options.lines;
        let mut take = |kind: &str, all: usize| {
            let lines = if wanted(kind) { all.min(left) } else { 0 };
            left -= lines;
            lines
        };
        for page in closest.iter().take(take("closest", closest.len())) {
            each(self.closest_line(*page as usize)?)?;
        }
        for page in thin.iter().take(take("thin", thin.len())) {
            let page = *page as usize;
            let words = self.pages.get(page).map_or(0, |page| page.2);
            each(NearMiss::Thin { page: self.page(page)?, words })?;
        }
        for pages in self.titles.iter().take(take("title", self.titles.len())) {
            each(NearMiss::Title(self.same(pages, 0)?))?;
        }
        for pages in self.descriptions.iter().take(take("description", self.descriptions.len())) {
            each(NearMiss::Description(self.same(pages, 1)?))?;
        }
        Ok(NearMissTotals {
            pages: count(self.pages.len()),
            closest: count(self.nearest.of.iter().flatten().count()),
            thin: count(thin.len()),
            title: count(self.titles.len()),
            description: count(self.descriptions.len()),
            large_bands: self.nearest.large_bands,
        })
    }

    /// Returns the pages whose closest page has this similarity.
    fn closest(&self, least: f64) -> &[u32] {
        let end = match least <= 0.0 {
            true => self.by_similarity.len(),
            false => {
                self.by_similarity.partition_point(|page| self.nearest.similarity(*page) >= least)
            }
        };
        self.by_similarity.get(..end).unwrap_or_default()
    }

    fn closest_line(&self, page: usize) -> Result<NearMiss> {
        Ok(NearMiss::Closest { page: self.page(page)?, closest: self.closest_page(page)? })
    }

    fn closest_page(&self, page: usize) -> Result<Option<ClosestPage>> {
        let Some((other, similarity)) = self.nearest.of.get(page).copied().flatten() else {
            return Ok(None);
        };
        let bits = |page: usize| self.pages.get(page).map(|page| page.1);
        let distance =
            bits(page).zip(bits(other as usize)).map_or(0, |(one, two)| one.distance(two));
        let page = self.page(other as usize)?;
        Ok(Some(ClosestPage { page, similarity: round(similarity), distance }))
    }

    fn same(&self, pages: &[u32], value: usize) -> Result<SameValue> {
        let mut listed = Vec::new();
        for page in pages.iter().take(MAX_LISTED) {
            listed.push(self.page(*page as usize)?);
        }
        let text = match listed.first() {
            Some(first) => self.texts.named(first.id, first.url.as_bytes())?,
            None => Default::default(),
        };
        let text = text.into_iter().nth(value).unwrap_or_default();
        Ok(SameValue { text, pages: pages.len(), listed })
    }

    fn page(&self, page: usize) -> Result<KeptPage> {
        let id = self.pages.get(page).map_or(u64::MAX, |page| page.0);
        let key = self.texts.store.record(id)?.map(|record| record.key).unwrap_or_default();
        Ok(KeptPage { id, url: String::from_utf8_lossy(&key).into_owned() })
    }
}

//! Runs of text that several kept pages contain: `crawl duplicates passages`.

mod lines;
mod listed;
mod parts;
mod words;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hapax_passages::{Contained, Finder, Found, NearPair, Options, Passage, Place, Shared};
use hapax_url::registrable_site;
use url::Url;

pub use self::lines::{PassageKind, PassageLine, PassagePlace, PassageTotals};
pub use self::listed::PassageList;
pub use self::parts::{FoundPart, find_parts};
use crate::error::{Error, Result};
use crate::page_texts::{PageTexts, TextSource, TextSources};

/// Pages of a site from which on a passage is boilerplate, as for the lines that the export removes. They must be at
/// least half of the passage's pages.
const MIN_SITE_PAGES: u32 = 3;
/// Pages without a site: the key is not a URL.
const NO_SITE: u32 = u32::MAX;

/// Limits of a search for passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageOptions {
    /// Minimum words of a passage. In scripts without spaces, a character is a word.
    pub min_words: usize,
    /// Maximum number of places that a line lists.
    pub places: usize,
    /// Maximum number of lines; the totals count all.
    pub lines: usize,
    /// Whether `lines` limits each kind instead of all kinds together.
    pub lines_of_each_kind: bool,
}

impl Default for PassageOptions {
    fn default() -> Self {
        Self { min_words: 40, places: 20, lines: usize::MAX, lines_of_each_kind: false }
    }
}

/// The passages of the kept pages of a data directory.
#[derive(Debug)]
pub struct Passages {
    texts: PageTexts,
    found: Found,
    /// The number of each searched page, and of its site.
    pages: Vec<(u64, u32)>,
    sites: Vec<String>,
    sources: TextSources,
    options: PassageOptions,
}

impl Passages {
    /// Searches the texts of all kept pages. The temporary files are nameless files in the data directory.
    ///
    /// # Errors
    /// From the store, the index, and the temporary files.
    ///
    /// # Complexity
    /// Reads each text once. About 14 bytes on disk for each word, and 20 bytes of memory for each page.
    pub fn find(data: &Path, options: PassageOptions) -> Result<Self> {
        Self::find_until(data, options, Arc::default())
    }

    /// As [`find`](Self::find); while `stop` is true, it ends with an error.
    fn find_until(data: &Path, options: PassageOptions, stop: Arc<AtomicBool>) -> Result<Self> {
        let texts = PageTexts::open(data)?;
        let min_words = options.min_words;
        let limits = Options {
            min_words,
            gain: min_words,
            seed_words: min_words.div_ceil(2),
            ..Options::default()
        };
        let mut finder = Finder::new(data, limits).map_err(failed)?;
        finder.stops_at(stop);
        let (mut pages, mut sites) = (Vec::new(), Sites::default());
        let (mut sources, mut hashes) = (TextSources::default(), Vec::new());
        texts.kept(|record| {
            let Some((page, from)) = texts.text(record.id, &record.key)? else {
                sources.none += 1;
                return Ok(());
            };
            match from {
                TextSource::Texts => sources.texts += 1,
                TextSource::Index => sources.index += 1,
            }
            hashes.clear();
            words::hashes(&page.text, &mut hashes);
            finder.add(&hashes).map_err(failed)?;
            pages.push((record.id, sites.number(&String::from_utf8_lossy(&record.key))));
            Ok(())
        })?;
        let found = finder.find().map_err(failed)?;
        Ok(Self { texts, found, pages, sites: sites.names, sources, options })
    }

    /// Calls `each` with each line of the wanted kinds: passages, those first that repeat most words; then near pairs and
    /// parts in the order of pages. Returns the totals of these kinds.
    ///
    /// # Errors
    /// From the files, and the first of `each`.
    pub fn lines<E: From<Error>>(
        &self,
        wanted: impl Fn(PassageKind) -> bool,
        mut each: impl FnMut(PassageLine) -> std::result::Result<(), E>,
    ) -> std::result::Result<PassageTotals, E> {
        let searched = self.found.totals();
        let mut totals = PassageTotals {
            pages: searched.documents,
            words: searched.words,
            sources: self.sources,
            repeated_anchors: searched.repeated_anchors,
            cut_runs: searched.cut_runs,
            beyond_limit: searched.passages_beyond_limit,
            ..PassageTotals::default()
        };
        let is_listed = |totals: &mut PassageTotals, kind| {
            *totals.of(kind) += 1;
            let all = totals.copied + totals.boilerplate + totals.near + totals.part;
            let count = if self.options.lines_of_each_kind { *totals.of(kind) } else { all };
            count <= self.options.lines as u64
        };
        if wanted(PassageKind::Copied) || wanted(PassageKind::Boilerplate) {
            for passage in self.found.passages() {
                let (places, sites, kind) = self.judged(passage)?;
                if !wanted(kind) {
                    continue;
                }
                if is_listed(&mut totals, kind) {
                    each(self.passage(passage, &places, &sites, kind)?)?;
                }
            }
        }
        if wanted(PassageKind::Near) || wanted(PassageKind::Part) {
            let pairs = self.found.pairs::<Failure<E>>(|shared| {
                let kind = match shared {
                    Shared::Near(_) => PassageKind::Near,
                    Shared::Part(_) => PassageKind::Part,
                };
                if !wanted(kind) {
                    return Ok(());
                }
                if !is_listed(&mut totals, kind) {
                    return Ok(());
                }
                let line = match shared {
                    Shared::Near(near) => self.near(&near),
                    Shared::Part(part) => self.part(&part),
                };
                let line = line.map_err(|error| Failure::Caller(error.into()))?;
                each(line).map_err(Failure::Caller)
            });
            pairs.map_err(Failure::into_caller)?;
        }
        Ok(totals)
    }

    /// Returns the places of a passage, their sites, and whether it is boilerplate.
    fn judged(&self, passage: &Passage) -> Result<(Vec<Place>, SiteCounts, PassageKind)> {
        let places = self.found.places(passage).map_err(failed)?;
        let sites = self.sites_of(places.iter().map(|place| place.document));
        let kind = match sites.is_boilerplate(passage) {
            true => PassageKind::Boilerplate,
            false => PassageKind::Copied,
        };
        Ok((places, sites, kind))
    }

    fn passage(
        &self,
        passage: &Passage,
        places: &[Place],
        sites: &SiteCounts,
        kind: PassageKind,
    ) -> Result<PassageLine> {
        let (mut listed, mut text) = (Vec::new(), String::new());
        for place in places.iter().take(self.options.places.max(1)) {
            let (shown, run) = self.shown(*place, passage.words)?;
            if listed.is_empty() {
                text = run;
            } else if text != run {
                // Two words with one hash: these places differ.
                continue;
            }
            listed.push(shown);
        }
        Ok(PassageLine {
            kind,
            words: passage.words,
            pages: passage.documents,
            places: passage.places,
            sites: sites.count,
            site: self.named(sites),
            similarity: 1.0,
            text: words::beginning(&text),
            listed,
        })
    }

    fn near(&self, near: &NearPair) -> Result<PassageLine> {
        let (first, text) = self.shown(near.first.0, near.first.1)?;
        let (second, _) = self.shown(near.second.0, near.second.1)?;
        let sites = self.sites_of([near.first.0.document, near.second.0.document].into_iter());
        Ok(PassageLine {
            kind: PassageKind::Near,
            words: near.first.1.max(near.second.1),
            pages: 2,
            places: 2,
            sites: sites.count,
            site: self.named(&sites),
            similarity: rounded(near.similarity()),
            text: words::beginning(&text),
            listed: vec![first, second],
        })
    }

    fn part(&self, part: &Contained) -> Result<PassageLine> {
        let whole = |document: u32| {
            let words = u32::try_from(self.found.words_of(document)).unwrap_or(u32::MAX);
            self.shown(Place { document, start: 0 }, words)
        };
        let ((first, text), (second, _)) = (whole(part.part)?, whole(part.whole)?);
        let sites = self.sites_of([part.part, part.whole].into_iter());
        Ok(PassageLine {
            kind: PassageKind::Part,
            words: first.words,
            pages: 2,
            places: 2,
            sites: sites.count,
            site: self.named(&sites),
            similarity: rounded(part.share),
            text: words::beginning(&text),
            listed: vec![first, second],
        })
    }

    /// Returns a place with its page, and its words.
    fn shown(&self, place: Place, words: u32) -> Result<(PassagePlace, String)> {
        let id = self.pages.get(place.document as usize).map_or(u64::MAX, |page| page.0);
        let record = self.texts.store.record(id)?;
        let key = record.map(|record| record.key).unwrap_or_default();
        let text = self.texts.text(id, &key)?.map(|(page, _)| page);
        let start = place.start as usize;
        let text = text.as_ref().map_or("", |page| page.text.as_str());
        let run = words::run(text, &(start..start + words as usize));
        let url = String::from_utf8_lossy(&key).into_owned();
        Ok((PassagePlace { id, url, word: place.start, words, line: run.line }, run.words))
    }

    fn sites_of(&self, documents: impl Iterator<Item = u32>) -> SiteCounts {
        let (mut counts, mut before) = (HashMap::<u32, u32>::new(), None);
        let mut alone = 0;
        for document in documents {
            if before.replace(document) == Some(document) {
                continue;
            }
            match self.pages.get(document as usize) {
                Some((_, site)) if *site != NO_SITE => *counts.entry(*site).or_default() += 1,
                _ => alone += 1,
            }
        }
        let count = alone + u32::try_from(counts.len()).unwrap_or(u32::MAX);
        let most = counts.into_iter().max_by_key(|(site, pages)| (*pages, u32::MAX - site));
        SiteCounts { count, most }
    }

    fn named(&self, sites: &SiteCounts) -> Option<(String, u32)> {
        let (site, pages) = sites.most?;
        Some((self.sites.get(site as usize)?.clone(), pages))
    }
}

/// Sites of the pages of a passage.
struct SiteCounts {
    count: u32,
    /// The site with most of the pages, and their number.
    most: Option<(u32, u32)>,
}

impl SiteCounts {
    /// Returns whether a site repeats the passage.
    fn is_boilerplate(&self, passage: &Passage) -> bool {
        self.most
            .is_some_and(|(_, pages)| pages >= MIN_SITE_PAGES && 2 * pages >= passage.documents)
    }
}

/// Numbers of sites.
#[derive(Debug, Default)]
struct Sites {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Sites {
    fn number(&mut self, key: &str) -> u32 {
        let Ok(url) = Url::parse(key) else { return NO_SITE };
        let name = match url.scheme() {
            "file" => "file:".to_owned(),
            _ => registrable_site(&url),
        };
        if name.is_empty() {
            return NO_SITE;
        }
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(NO_SITE);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

enum Failure<E> {
    Search(hapax_passages::Error),
    Caller(E),
}

impl<E> From<hapax_passages::Error> for Failure<E> {
    fn from(error: hapax_passages::Error) -> Self {
        Self::Search(error)
    }
}

impl<E: From<Error>> Failure<E> {
    fn into_caller(self) -> E {
        match self {
            Self::Search(error) => failed(error).into(),
            Self::Caller(error) => error,
        }
    }
}

fn failed(error: hapax_passages::Error) -> Error {
    match error {
        hapax_passages::Error::Io { folder, source } => {
            let context = format!(
                "temporary files in {}, which need about 14 bytes for each word of all pages",
                folder.display()
            );
            Error::Io { context, source }
        }
        other => Error::Invalid(other.to_string()),
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests;

//! Kept pages that are a part of another kept page: `--parts discard`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hapax_dedup::Record;
use hapax_page::comparison::{Compared, MAX_TEXT_BYTES, Reason, compare_pages};
use hapax_passages::{Covered, Place};

use super::{MIN_SITE_PAGES, PassageOptions, Passages, failed, words};
use crate::comparison::round;
use crate::decisions::Decisions;
use crate::error::{Error, Result};
use crate::lines::PartEvidence;

/// Maximum number of longer pages that are considered for a part, the longest ones: 40 bytes of memory each.
const MAX_WHOLES: usize = 16;

/// Bytes of cells from which on a page may have more than are stored: at most 16 KiB are.
const MANY_CELLS: usize = 14 << 10;

/// A kept page that is a part of another kept page.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPart {
    /// Its key in the store.
    pub key: Vec<u8>,
    /// The key of the page that contains it.
    pub of: Vec<u8>,
    /// Share of the words of the part that the other page has, and the reverse.
    pub containment: [f64; 2],
    /// The evidence for the log.
    pub evidence: PartEvidence,
}

/// Returns the kept pages that are a part of another kept page, in the order of their numbers. `None` if `stop` became
/// true.
///
/// A page is a part if at least nine tenths of its words are in runs of at least 40 words of the other page, which has
/// at least a quarter more words. Words that a site repeats as boilerplate do not count, and a page with fewer than 40
/// other words is no part. The other page is not a part itself. Pages that a person restored or chose are not parts,
/// nor are pages whose name has the pattern of the other page's name (variants of a product), pages with table
/// cells of their own, and pages with more than 256 KiB of text, whose ends are not stored.
///
/// The order of the pages decides nothing.
///
/// # Errors
/// From the store, the index, and the temporary files.
///
/// # Complexity
/// As [`Passages::find`].
pub fn find_parts(
    data: &Path,
    decisions: &Decisions,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Vec<FoundPart>>> {
    let options = PassageOptions::default();
    let found = Passages::find_until(data, options, Arc::clone(stop)).and_then(|passages| {
        let candidates = passages.candidates()?;
        passages.chosen(candidates, decisions)
    });
    match found {
        // An error of the stop itself.
        Err(_) if stop.load(Relaxed) => Ok(None),
        found => found.map(Some),
    }
}

impl Passages {
    /// Returns for each page the longer pages that have almost all of its words.
    fn candidates(&self) -> Result<BTreeMap<u32, Vec<Covered>>> {
        let mut candidates: BTreeMap<u32, Vec<Covered>> = BTreeMap::new();
        let is_boilerplate = |passage: &_, places: &[Place]| {
            self.sites_of(places.iter().map(|place| place.document)).is_boilerplate(passage)
        };
        self.found
            .covered(MIN_SITE_PAGES, is_boilerplate, |covered| {
                let wholes = candidates.entry(covered.part).or_default();
                wholes.push(covered);
                if wholes.len() > MAX_WHOLES {
                    wholes.sort_by_key(|one| (std::cmp::Reverse(one.words[1]), one.whole));
                    wholes.truncate(MAX_WHOLES);
                }
                Ok::<_, hapax_passages::Error>(())
            })
            .map_err(failed)?;
        Ok(candidates)
    }

    /// Decides about the longest pages first, so that the page that contains a part is kept.
    fn chosen(
        &self,
        candidates: BTreeMap<u32, Vec<Covered>>,
        decisions: &Decisions,
    ) -> Result<Vec<FoundPart>> {
        let mut longest_first: Vec<(u32, u32)> = candidates
            .iter()
            .filter_map(|(part, wholes)| Some((wholes.first()?.words[0], *part)))
            .collect();
        // Pages of equal length do not contain each other.
        longest_first.sort_unstable_by_key(|(words, part)| (std::cmp::Reverse(*words), *part));
        let mut chosen: BTreeMap<u32, FoundPart> = BTreeMap::new();
        for (_, part) in longest_first {
            let record = self.record(part)?;
            let url = String::from_utf8_lossy(&record.key);
            if decisions.was_restored(&url) || decisions.chosen(&url) {
                continue;
            }
            let wholes = candidates.get(&part).into_iter().flatten();
            let mut wholes: Vec<(&Covered, Record)> = wholes
                .filter(|covered| !chosen.contains_key(&covered.whole))
                .map(|covered| Ok((covered, self.record(covered.whole)?)))
                .collect::<Result<_>>()?;
            // The page with most of it, then the shorter one, then by URL: numbers depend on the order of arrival.
            wholes.sort_by(|(a, one), (b, other)| {
                let rank =
                    |covered: &Covered| (std::cmp::Reverse(covered.shared), covered.words[1]);
                rank(a).cmp(&rank(b)).then_with(|| one.key.cmp(&other.key))
            });
            for (covered, whole) in wholes {
                let of = String::from_utf8_lossy(&whole.key);
                if !decisions.distinct(&url, &of) && !self.is_other_page([&record, &whole])? {
                    chosen.insert(part, self.found_part(covered, [&record, &whole])?);
                    break;
                }
            }
        }
        Ok(chosen.into_values().collect())
    }

    fn record(&self, document: u32) -> Result<Record> {
        let id = self.pages.get(document as usize).map_or(u64::MAX, |page| page.0);
        let record = self.texts.store.record(id)?;
        record.ok_or_else(|| Error::Invalid(format!("page {id} left the store. Try again")))
    }

    /// Returns whether the names of two pages have one pattern and differ in one place or in numbers, or more than a
    /// tenth of the cells of the first are missing in the second. Cells may be those of tables outside of the text. A page
    /// whose text or cells are not stored whole is another page too: nothing shows that the rest is in the second.
    fn is_other_page(&self, records: [&Record; 2]) -> Result<bool> {
        let [page, whole] = records.map(|record| self.texts.text(record.id, &record.key));
        let (Some((page, _)), Some((whole, _))) = (page?, whole?) else { return Ok(true) };
        // A cut text ends before a whole character.
        if page.text.len() + 4 > MAX_TEXT_BYTES || page.cells.len() > MANY_CELLS {
            return Ok(true);
        }
        let there: HashSet<&str> = whole.cells.lines().chain(whole.text.lines()).collect();
        let cells = page.cells.lines().count();
        let missing = page.cells.lines().filter(|cell| !there.contains(cell)).count();
        if missing * 10 > cells {
            return Ok(true);
        }
        let [page, whole] = [page, whole].map(|text| Compared::new((*text).clone()));
        let one_site = records[0].site == records[1].site;
        Ok(compare_pages(&page, &whole, one_site).reason == Reason::NamePattern)
    }

    fn found_part(&self, covered: &Covered, [part, whole]: [&Record; 2]) -> Result<FoundPart> {
        let [words, of_words] = covered.words;
        let text = self.texts.text(part.id, &part.key)?;
        let text = text.as_ref().map_or("", |(page, _)| page.text.as_str());
        let (start, length) = (covered.longest.0 as usize, covered.longest.1 as usize);
        let passage = words::run(text, &(start..start + length)).words;
        let share = |of: u32| round(f64::from(covered.shared) / f64::from(of.max(1)));
        Ok(FoundPart {
            key: part.key.to_vec(),
            of: whole.key.to_vec(),
            containment: [share(words), share(of_words)],
            evidence: PartEvidence {
                words,
                of_words,
                shared: covered.shared,
                passage_words: covered.longest.1,
                passage: words::beginning(&passage),
            },
        })
    }
}

#[cfg(test)]
mod tests;

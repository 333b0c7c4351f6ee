//! Compares the text of a page with the texts of its proposed duplicates.

use std::collections::{BTreeMap, BTreeSet};

use hapax_dedup::{Confirm, Document, Level, Neighbour, Proposal};
use hapax_page::comparison::{Compared, NameRelation, Outcome, Reason, compare_pages};
use hapax_page::difference::{Difference, Summary};

use crate::candidates::list_in_words;
use crate::lines::{ComparedTexts, DifferenceItem, Differences};
use crate::site_counts::{SitePage, find_repeated};
use hapax_page::sites::SiteStore;
use hapax_page::texts::TextStore;

/// Minimum Jaccard similarity of two kept pages of one name that are versions of one page.
const OF_VERSION: f64 = 0.7;
/// The two pages in the phrases of a log line.
const NAMES: [&str; 2] = ["this page", "the kept page"];

/// The result of a comparison: whether the two are one page, and then the fields of the log.
#[derive(Clone, Debug)]
pub struct Finding {
    same: bool,
    is_version: bool,
    texts: Option<ComparedTexts>,
}

impl Finding {
    fn of(page: &Compared, kept: &Compared, one_site: bool, by_name: bool) -> Self {
        let mut outcome = compare_pages(page, kept, one_site);
        if by_name {
            outcome = outcome.proposed_by_name();
        }
        let texts = outcome.same().then(|| compared_texts(&outcome, page, kept));
        let is_version = !outcome.same()
            && outcome.names == NameRelation::Same
            // These tell pages of one template apart: the colours of a product, the dates of a course.
            && !matches!(outcome.reason, Reason::Substitution | Reason::TableCells)
            && outcome.difference.as_ref().is_some_and(|found| found.jaccard() >= OF_VERSION);
        Self { same: outcome.same(), is_version, texts }
    }
}

/// Returns the log's fields about two texts of one page.
pub fn compared_texts(outcome: &Outcome, page: &Compared, kept: &Compared) -> ComparedTexts {
    let none = Difference::default();
    let difference = outcome.difference.as_ref().unwrap_or(&none);
    let summaries = outcome.summaries(page, kept);
    ComparedTexts {
        reason: outcome.reason.as_str().to_owned(),
        own: difference.own_shares().map(round),
        differs: outcome.phrases(page, kept, NAMES),
        differences: Differences {
            jaccard: Some(round(difference.jaccard())),
            containment: Some(difference.containment().map(round)),
            difference: summaries.iter().map(item_of).collect(),
            part: None,
        },
        summaries,
    }
}

fn item_of(summary: &Summary) -> DifferenceItem {
    DifferenceItem {
        kind: summary.kind.as_str().to_owned(),
        words: summary.words,
        example: summary.example.clone(),
        site_words: summary.repeated.map(|repeated| repeated.words),
        site_pages: summary.repeated.map(|repeated| repeated.pages),
    }
}

impl ComparedTexts {
    /// Names the lines that a site repeats: `sites` are those of the page and of the kept page.
    #[must_use]
    pub fn with_sites(mut self, store: &SiteStore, sites: [Option<u64>; 2]) -> Self {
        let [page, kept] = sites;
        let pages = [(page, false), (kept, true)].map(|(site, is_kept)| SitePage { site, is_kept });
        find_repeated(&mut self.summaries, store, pages);
        // The first phrases are those of the summaries.
        let items = &mut self.differences.difference;
        for ((summary, phrase), item) in
            self.summaries.iter().zip(&mut self.differs).zip(items.iter_mut())
        {
            if summary.repeated.is_some() {
                *phrase = summary.phrase(NAMES);
                *item = item_of(summary);
            }
        }
        self
    }
}

/// Rounds a similarity to three decimals, as in the log.
pub fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Describes why a pair was proposed.
pub fn proposal_in_words(best: &Neighbour, threshold: u32) -> String {
    let similarity = best.similarity.map_or(String::new(), |similarity| {
        let asked = best.similarity_threshold;
        let asked = asked.map_or(String::new(), |asked| format!(" (at least {asked} is required)"));
        format!(", similarity {similarity:.3}{asked}")
    });
    let (distance, table) = (best.distance, best.table.unwrap_or(0));
    match best.level {
        Level::Text => "its text is equal".to_owned(),
        Level::Hamming => format!(
            "proposed by Hamming table {table}, distance {distance} of at most {threshold}{similarity}"
        ),
        Level::Sketch => format!(
            "proposed by {}{similarity}; the fingerprints differ in {distance} bits (tables find up to {threshold})",
            list_in_words(table)
        ),
    }
}

/// Findings by the number of the other page.
pub type Findings = BTreeMap<u64, Finding>;

/// The comparisons of one page.
#[derive(Debug)]
pub struct Comparison<'c> {
    texts: &'c TextStore,
    own: &'c Compared,
    findings: Findings,
    /// Those that the tables proposed. Findings made in advance may have others.
    asked: BTreeSet<u64>,
}

impl<'c> Comparison<'c> {
    /// `known` are findings that were made in advance.
    pub const fn new(texts: &'c TextStore, own: &'c Compared, known: Findings) -> Self {
        Self { texts, own, findings: known, asked: BTreeSet::new() }
    }

    /// Returns all findings.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// Returns the pages among those that were asked for which differ from this one, but have its name and most of its words.
    pub fn versions_of(&self) -> Vec<u64> {
        let is_version = |id: &&u64| self.findings.get(id).is_some_and(|found| found.is_version);
        self.asked.iter().filter(is_version).copied().collect()
    }

    /// Takes the finding about a page, if both are one page.
    pub fn take(&mut self, id: u64) -> Option<ComparedTexts> {
        self.findings.remove(&id)?.texts
    }
}

impl Confirm for Comparison<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let record = proposal.record;
        self.asked.insert(record.id);
        if let Some(known) = self.findings.get(&record.id) {
            return Some(known.same);
        }
        let other = self.texts.get(record.id, &record.key)?;
        let finding = Finding::of(
            self.own,
            &other,
            document.site == record.site,
            proposal.neighbour.is_by_name(),
        );
        let same = finding.same;
        self.findings.insert(record.id, finding);
        Some(same)
    }
}

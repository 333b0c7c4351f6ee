//! Compares the text of a page with the texts of its proposed duplicates.

use std::collections::BTreeMap;

use hapax_dedup::{Confirm, Document, Level, Neighbour, Proposal};
use hapax_page::comparison::{Compared, Outcome, compare_pages};
use hapax_page::difference::{Difference, Summary};

use crate::lines::{ComparedTexts, DifferenceItem, Differences};
use hapax_page::texts::TextStore;

/// The two pages in the phrases of a log line.
const NAMES: [&str; 2] = ["this page", "the kept page"];

/// The result of a comparison: whether the two are one page, and then the fields of the log.
#[derive(Clone, Debug)]
pub struct Finding {
    same: bool,
    texts: Option<ComparedTexts>,
}

impl Finding {
    fn of(page: &Compared, kept: &Compared, one_site: bool) -> Self {
        let outcome = compare_pages(page, kept, one_site);
        let texts = outcome.same().then(|| compared_texts(&outcome, page, kept));
        Self { same: outcome.same(), texts }
    }
}

/// Returns the log's fields about two texts of one page.
pub fn compared_texts(outcome: &Outcome, page: &Compared, kept: &Compared) -> ComparedTexts {
    let none = Difference::default();
    let difference = outcome.difference.as_ref().unwrap_or(&none);
    let item = |summary: Summary| DifferenceItem {
        kind: summary.kind.as_str().to_owned(),
        words: summary.words,
        example: summary.example,
    };
    ComparedTexts {
        reason: outcome.reason.as_str().to_owned(),
        own: difference.own_shares().map(round),
        differs: outcome.phrases(page, kept, NAMES),
        differences: Differences {
            jaccard: Some(round(difference.jaccard())),
            containment: Some(difference.containment().map(round)),
            difference: outcome.summaries(page, kept).into_iter().map(item).collect(),
            part: None,
        },
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
            "proposed by sketch band {table}{similarity}; the fingerprints differ in {distance} bits (tables \
             find up to {threshold})"
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
}

impl<'c> Comparison<'c> {
    /// `known` are findings that were made in advance.
    pub const fn new(texts: &'c TextStore, own: &'c Compared, known: Findings) -> Self {
        Self { texts, own, findings: known }
    }

    /// Returns all findings.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// Takes the finding about a page, if both are one page.
    pub fn take(&mut self, id: u64) -> Option<ComparedTexts> {
        self.findings.remove(&id)?.texts
    }
}

impl Confirm for Comparison<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let record = proposal.record;
        if let Some(known) = self.findings.get(&record.id) {
            return Some(known.same);
        }
        let other = self.texts.get(record.id, &record.key)?;
        let finding = Finding::of(self.own, &other, document.site == record.site);
        let same = finding.same;
        self.findings.insert(record.id, finding);
        Some(same)
    }
}

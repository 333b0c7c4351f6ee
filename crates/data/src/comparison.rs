//! Compares the text of a page with the texts of its proposed duplicates.

use std::collections::BTreeMap;

use hapax_dedup::{Confirm, Document, Level, Neighbour, Proposal};
use hapax_page::comparison::{Compared, Outcome, Reason, SiteCase, compare_pages};
use hapax_page::difference::{Difference, Summary};

use crate::lines::{ComparedTexts, DifferenceItem, Differences};
use crate::site_counts::{SitePage, find_repeated, site_of_key};
use hapax_page::sites::SiteStore;
use hapax_page::texts::TextStore;

/// The two pages in the phrases of a log line.
const NAMES: [&str; 2] = ["this page", "the kept page"];

/// The result of a comparison: whether the two are one page, and then the fields of the log. It is a function of the
/// two texts.
#[derive(Clone, Debug)]
pub struct Finding {
    reason: Reason,
    /// What the verdict depends on if lines are known that the sites repeat.
    case: Option<Box<SiteCase>>,
    texts: Option<ComparedTexts>,
}

impl Finding {
    fn of(page: &Compared, kept: &Compared, one_site: bool) -> Self {
        let outcome = compare_pages(page, kept, one_site);
        let case = outcome.site_case(page, kept, one_site);
        let may_be_same = outcome.same() || case.is_some();
        let texts = may_be_same.then(|| compared_texts(&outcome, page, kept));
        Self { reason: outcome.reason, case, texts }
    }
}

/// The lines that sites repeat, for the comparison of a page with kept pages.
#[derive(Clone, Copy, Debug)]
pub struct SiteEvidence<'s> {
    store: &'s SiteStore,
    /// The site of the page.
    own: Option<u64>,
}

impl<'s> SiteEvidence<'s> {
    /// Wraps the counts and the site of the page.
    pub const fn new(store: &'s SiteStore, own: Option<u64>) -> Self {
        Self { store, own }
    }

    /// Decides about a comparison with a kept page of this key. `one_site`: both pages are of one site.
    pub fn decide(&self, case: &SiteCase, kept: &[u8], one_site: bool) -> Reason {
        let sites = [self.own, self.site_of_kept(kept, one_site)];
        self.store.decide(case, sites, [false, true])
    }

    /// Returns the site of a kept page. The key of a document of `crawl dedup` is no URL.
    pub fn site_of_kept(&self, key: &[u8], one_site: bool) -> Option<u64> {
        site_of_key(key).or_else(|| self.own.filter(|_| one_site))
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
    sites: Option<SiteEvidence<'c>>,
    /// The reason by the number of the other page, where lines of a site changed it.
    changed: BTreeMap<u64, Reason>,
}

impl<'c> Comparison<'c> {
    /// `known` are findings that were made in advance.
    pub const fn new(texts: &'c TextStore, own: &'c Compared, known: Findings) -> Self {
        Self { texts, own, findings: known, sites: None, changed: BTreeMap::new() }
    }

    /// Lets lines that sites repeat take part in the decision. Without them, the findings decide.
    #[must_use]
    pub fn with_sites(mut self, sites: SiteEvidence<'c>) -> Self {
        self.sites = Some(sites);
        self
    }

    /// Returns all findings.
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// Takes the finding about a page, if both are one page.
    pub fn take(&mut self, id: u64) -> Option<ComparedTexts> {
        let finding = self.findings.remove(&id)?;
        let reason = self.changed.get(&id).copied().unwrap_or(finding.reason);
        let texts = finding.texts.filter(|_| reason.same())?;
        Some(ComparedTexts { reason: reason.as_str().to_owned(), ..texts })
    }

    /// Returns whether the two are one page, with what is known about their sites.
    fn decided(&mut self, id: u64, key: &[u8], one_site: bool) -> Option<bool> {
        let finding = self.findings.get(&id)?;
        let (Some(case), Some(sites)) = (&finding.case, &self.sites) else {
            return Some(finding.reason.same());
        };
        let reason = sites.decide(case, key, one_site);
        if reason != finding.reason {
            self.changed.insert(id, reason);
        }
        Some(reason.same())
    }
}

impl Confirm for Comparison<'_> {
    fn confirm(&mut self, document: &Document<'_>, proposal: &Proposal<'_>) -> Option<bool> {
        let record = proposal.record;
        let one_site = document.site == record.site;
        if !self.findings.contains_key(&record.id) {
            let other = self.texts.get(record.id, &record.key)?;
            self.findings.insert(record.id, Finding::of(self.own, &other, one_site));
        }
        self.decided(record.id, &record.key, one_site)
    }
}

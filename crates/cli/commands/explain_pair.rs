//! `crawl explain PAGE PAGE`: two pages compared, files or stored pages.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use hapax_data::{SiteReader, differs};
use hapax_dedup::{BANDS, Layout, Level, Policy, Rule, candidate_lists};
use hapax_page::comparison::{Compared, Outcome, PageText, compare_pages};
use hapax_page::difference::{Difference, LineSet, Words, compare_in_pages};
use hapax_page::{Evidence, examples};
use serde_json::{Value, json};

use super::explain::{WIDTH, open, text_of};
use super::explain_page::Page;
use super::explain_stored::page_at;
use super::explain_url::is_url;
use super::print;
use crate::args::ExplainArgs;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{self, escape, line};
use crate::settings::Settings;

/// The two pages in a sentence.
const NAMES: [&str; 2] = ["the first", "the second"];

/// Two pages beside each other.
pub(super) fn run(args: &ExplainArgs, second: &Path, settings: &Settings) -> Result<u8> {
    let pages = [&args.first, second];
    let files = pages.into_iter().filter(|page| is_url(page).is_none()).count();
    if args.url.len() > files {
        let given = args.url.len();
        let what = format!("{given} --url flags for {files} files: give at most one for each file");
        return Err(coded(USAGE, what));
    }
    let data = &args.data.data;
    let mut settings = settings.clone();
    let stored = [&args.first, second].map(is_url);
    if stored.iter().any(Option::is_some) {
        settings = settings.over(crate::data::saved(data)?.unwrap_or_default().settings)?;
    }
    let policy = settings.policy()?;
    let (mut recipe, mut urls) = (settings.recipe()?, args.url.iter());
    let mut pages: [Option<(Page, Option<String>)>; 2] = [None, None];
    for (slot, url) in pages.iter_mut().zip(&stored) {
        if let Some(url) = url {
            let (page, decision) = page_at(data, url, policy)?;
            // A file is read as the stored pages are.
            recipe = page.recipe;
            *slot = Some((page, Some(decision)));
        }
    }
    for (slot, path) in pages.iter_mut().zip([&args.first, second]) {
        if slot.is_none() {
            *slot = Some((open(path, urls.next(), recipe)?, None));
        }
    }
    let [Some((first, of_first)), Some((second, of_second))] = pages else { return Ok(COMPLETE) };
    let recorded = [of_first, of_second];
    let comparison = compare(&first, &second, &policy);
    // Two files need no data directory.
    let sites = SiteReader::open(data, policy, recipe.name()).ok().flatten();
    let urls = [first.address.as_ref(), second.address.as_ref()];
    let texts = comparison.texts(&first, &second);
    let differs = differs(texts.each_ref(), urls, NAMES, sites.as_ref())?;
    let text = if args.json {
        let mut row = comparison.json(&first, &second, &differs);
        if let Some(object) = row.as_object_mut() {
            object.insert("recorded".into(), json!(recorded));
        }
        format!("{}\n", output::json(&row))
    } else {
        let mut text = comparison.text(&first, &second, &differs);
        for (name, decision) in NAMES.iter().zip(recorded) {
            if let Some(decision) = decision {
                let _ = writeln!(text, "recorded     {name}: {}", escape(&decision));
            }
        }
        text
    };
    print(text.as_bytes())
}

fn page_text(page: &Page) -> PageText {
    PageText::of(&page.document, &page.evidence.comparison_text)
        .without_address(page.address.as_ref())
}

struct Comparison {
    equal: bool,
    distance: u32,
    similarity: Option<f64>,
    rules: Vec<(Rule, f64)>,
    policy: Policy,
    /// The tables, and the numbers of bands and of names, that would propose the one for the other.
    tables: Vec<usize>,
    bands: usize,
    names: usize,
    duplicate: bool,
    /// What the comparison of the texts says, where something proposes the pair.
    outcome: Option<Outcome>,
}

fn compare(a: &Page, b: &Page, policy: &Policy) -> Comparison {
    let (x, y) = (&a.evidence, &b.evidence);
    let digest = x.comparison_text.features.digest;
    let equal = digest.is_some() && digest == y.comparison_text.features.digest;
    let distance = x.fingerprint.distance(y.fingerprint);
    let (left, right) = (x.side(a.site), y.side(b.site));
    let tables = Layout::for_distance(policy.distance).map_or(Vec::new(), |layout| {
        let within = |at: &usize| {
            let difference = x.fingerprint.bits() ^ y.fingerprint.bits();
            layout
                .leads()
                .get(*at)
                .is_some_and(|lead| (difference & lead.mask).count_ones() <= lead.radius)
        };
        let found = (0..layout.leads().len()).filter(within).collect();
        if distance <= policy.distance { found } else { Vec::new() }
    });
    let lists = |side: &Evidence| -> Vec<(usize, u32)> {
        side.sketch.iter().flat_map(|sketch| candidate_lists(sketch, side.names)).collect()
    };
    let (own, other) = (lists(x), lists(y));
    let (bands, names): (Vec<_>, Vec<_>) =
        own.into_iter().filter(|list| other.contains(list)).partition(|(kind, _)| *kind < BANDS);
    let (bands, names) = (bands.len(), names.len());
    let level = if equal {
        Some(Level::Text)
    } else if !tables.is_empty() {
        Some(Level::Hamming)
    } else {
        (bands + names > 0 && !policy.hamming_only).then_some(Level::Sketch)
    };
    let empty = left.tokens == 0 || right.tokens == 0;
    let similarity = x.sketch.as_ref().zip(y.sketch.as_ref()).map(|(x, y)| x.similarity(y));
    let rules = policy.rules(left, right);
    let fingerprints = [x.fingerprint, y.fingerprint];
    let weighed = level.map(|level| policy.weigh(0, (level, None), fingerprints, [left, right]));
    let in_doubt = weighed.is_some_and(|(near, _)| policy.is_in_doubt(&near));
    let confirmed = weighed.is_some_and(|(_, confirmed)| confirmed);
    let text = |page: &Page| Compared::new(page_text(page));
    // As if the first one were kept.
    let outcome = (in_doubt && !empty && !policy.hamming_only)
        .then(|| compare_pages(&text(b), &text(a), a.site == b.site))
        .map(|outcome| {
            let by_name = level == Some(Level::Sketch) && bands == 0;
            if by_name { outcome.proposed_by_name() } else { outcome }
        });
    let duplicate = outcome.as_ref().map_or(confirmed && !empty, Outcome::same);
    let policy = *policy;
    Comparison {
        equal,
        distance,
        similarity,
        rules,
        policy,
        tables,
        bands,
        names,
        duplicate,
        outcome,
    }
}

impl Comparison {
    /// Returns what the decision compares of both pages.
    fn texts(&self, a: &Page, b: &Page) -> [PageText; 2] {
        let mut texts = [page_text(a), page_text(b)];
        if !self.outcome.as_ref().is_some_and(Outcome::excuses_outside) {
            texts.iter_mut().for_each(|page| page.outside = LineSet::EMPTY);
        }
        texts
    }

    fn difference(&self, a: &Page, b: &Page) -> Difference {
        let texts = self.texts(a, b);
        let [first, second] = texts.each_ref().map(|page| Words::of(&page.text));
        compare_in_pages([&first, &second], texts.each_ref().map(|page| &page.outside))
    }

    fn threshold(&self) -> f64 {
        self.rules.iter().map(|(_, similarity)| *similarity).fold(0.0, f64::max)
    }

    /// Why, in a sentence.
    fn verdict(&self) -> String {
        if let Some(outcome) = &self.outcome {
            let verdict = if self.duplicate { "duplicates" } else { "different pages" };
            return format!("{verdict}: the texts were compared, {}", outcome.reason.describe());
        }
        let similarity = self.similarity.map_or("unknown".into(), |value| format!("{value:.3}"));
        if self.equal {
            return match self.duplicate {
                true => "duplicates: the normalised text is equal".into(),
                false => {
                    "different pages: the texts are equal but short, and the names differ".into()
                }
            };
        }
        if self.duplicate {
            let by = match (self.tables.is_empty(), self.bands) {
                (false, _) => "a permuted table",
                (true, 0) => "an equal name",
                (true, _) => "a band of the sketch",
            };
            let enough = if self.policy.hamming_only {
                format!("distance {} is enough for the policy", self.distance)
            } else {
                format!("similarity {similarity} reaches {:.2}", self.threshold())
            };
            return format!("duplicates: {by} proposes the pair, and {enough}");
        }
        if self.tables.is_empty() && (self.bands + self.names == 0 || self.policy.hamming_only) {
            return format!(
                "different pages: nothing proposes the pair (distance {} above {}, no band or name in common)",
                self.distance, self.policy.distance
            );
        }
        match self.similarity {
            None => {
                "different pages: one page has no shingles, so only equal text makes it a duplicate"
                    .into()
            }
            Some(value) if value < self.threshold() => match self.threshold() {
                above if above > 1.0 => {
                    "different pages: only equal text is sufficient here".into()
                }
                threshold => {
                    format!("different pages: similarity {value:.3} is below {threshold:.2}")
                }
            },
            Some(_) => format!(
                "different pages: the words differ, distance {} is above {}",
                self.distance, self.policy.max_distance
            ),
        }
    }

    fn text(&self, a: &Page, b: &Page, differs: &[String]) -> String {
        let mut out = String::new();
        for (name, page) in [("first", a), ("second", b)] {
            let tokens = page.evidence.comparison_text.features.tokens;
            let _ = writeln!(
                out,
                "{name:<12} {}  {}  {tokens} content words{}\n             {}",
                page.evidence.fingerprint,
                if page.document.language.is_empty() { "--" } else { page.document.language },
                if page.evidence.comparison_text.thin { ", thin page" } else { "" },
                line(&page.name, WIDTH)
            );
        }
        let differing = a.evidence.fingerprint.bits() ^ b.evidence.fingerprint.bits();
        let _ = writeln!(out, "text         {}", if self.equal { "equal" } else { "not equal" });
        let _ = writeln!(
            out,
            "distance     {} of at most {} (bits {differing:016x})",
            self.distance, self.policy.distance
        );
        let tables: Vec<String> = self.tables.iter().map(ToString::to_string).collect();
        let tables = if tables.is_empty() { "none".into() } else { tables.join(", ") };
        let (bands, names) = (self.bands, self.names);
        let _ = writeln!(
            out,
            "proposed by  tables {tables}; {bands} of {BANDS} bands; {names} of 2 names"
        );
        let similarity = self.similarity.map_or("unknown".into(), |value| format!("{value:.3}"));
        let _ = writeln!(out, "similarity   {similarity}, estimated by 64 min-hashes");
        for (rule, asked) in &self.rules {
            let asked = if *asked > 1.0 { "equal text".into() } else { format!("{asked:.2}") };
            let _ = writeln!(out, "  requires   {asked:<10} {} (without the texts)", rule.as_str());
        }
        if let Some(outcome) = &self.outcome {
            let _ = writeln!(out, "names        {}", outcome.names.as_str());
        }
        let read = self.difference(a, b);
        let [in_first, in_second] = read.containment().map(|share| 100.0 * share);
        let _ = writeln!(
            out,
            "words        {in_first:.0} % of the first and {in_second:.0} % of the second are in both"
        );
        for phrase in differs {
            let _ = writeln!(out, "differs      {}", line(phrase, 3 * WIDTH));
        }
        let _ = writeln!(out, "verdict      {}", self.verdict());
        out
    }

    fn json(&self, a: &Page, b: &Page, differs: &[String]) -> Value {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|(rule, asked)| json!({"rule": rule.as_str(), "similarity": asked}))
            .collect();
        let read = self.difference(a, b);
        let (shared, first_only) = examples(text_of(a), text_of(b));
        let second_only = examples(text_of(b), text_of(a)).1;
        let words = |page: &Page| -> HashSet<String> {
            page.recipe
                .weighted_words(&page.document, text_of(page))
                .into_iter()
                .map(|(word, _)| word)
                .collect()
        };
        let (x, y) = (words(a), words(b));
        json!({
            "duplicates": self.duplicate, "why": self.verdict(), "text_equal": self.equal, "distance": self.distance,
            "similarity": self.similarity, "similarity_threshold": self.threshold(), "rules": rules,
            "tables": self.tables, "bands": self.bands, "equal_names": self.names, "shared": shared, "first_only": first_only, "second_only": second_only,
            "words_in_common": x.intersection(&y).count(), "words": [x.len(), y.len()],
            "reason": self.outcome.as_ref().map(|outcome| outcome.reason.as_str()),
            "names": self.outcome.as_ref().map(|outcome| outcome.names.as_str()),
            "jaccard": read.jaccard(), "containment": read.containment(), "own": read.own_shares(),
            "differs": differs,
            "fingerprints": [a.evidence.fingerprint.to_string(), b.evidence.fingerprint.to_string()],
        })
    }
}

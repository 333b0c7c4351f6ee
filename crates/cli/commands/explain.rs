//! `crawl explain`: one page through every stage, or two pages compared.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hapax_dedup::{Layout, Level, Policy, Rule};
use hapax_extract::{Document, Reason, Recipe, weighted_words};
use hapax_page::comparison::{Compared, Outcome, PageText, compare_pages};
use hapax_page::difference::{self, Words, phrases};
use hapax_page::{Evidence, HASH, as_it_stands, examples, site_of, stand_in};
use serde_json::{Value, json};
use url::Url;

use super::explain_page::Page;
use super::explain_verdict::{Verdict, ask};
use super::extract::blocks_json;
use super::print;
use crate::args::ExplainArgs;
use crate::exit::{BAD_INPUT, COMPLETE, USAGE, code_of, coded};
use crate::output::{self, escape, line, number};
use crate::settings::Settings;
use hapax_data::inputs::{page_kind, read};
use hapax_data::read_only;

/// Blocks and words shown without `--all`.
const DEFAULT_ROWS: usize = 24;
const WIDTH: usize = 72;
/// The two pages in a sentence.
const NAMES: [&str; 2] = ["the first", "the second"];

pub(super) fn run(args: &ExplainArgs, settings: &Settings) -> Result<u8> {
    let pages = 1 + usize::from(args.second.is_some());
    if args.url.len() > pages {
        return Err(coded(
            USAGE,
            format!(
                "{} --url flags for {pages} page: give at most one for each page",
                args.url.len()
            ),
        ));
    }
    match &args.second {
        None => one(args, settings),
        Some(second) => two(args, second, settings),
    }
}

/// One page, and what the tables of the data directory would say of it.
fn one(args: &ExplainArgs, settings: &Settings) -> Result<u8> {
    let data = &args.data.data;
    let asked = settings.duplicates.recipe.is_some();
    // A directory that cannot be read is told last: the page's own stages need none.
    let (saved, unread) = match crate::data::saved(data) {
        Ok(saved) => (saved.unwrap_or_default().settings, None),
        Err(error) => (Settings::default(), Some(error)),
    };
    let settings = settings.clone().over(saved)?;
    let (policy, recipe) = (settings.policy()?, settings.recipe()?);
    let tables = unread.map_or_else(|| Ok(read_only(data, policy, recipe.name())?), Err);
    // Without a word of the caller's, the page is read as the tables ask for it.
    let made = tables.as_ref().ok().and_then(|tables| Recipe::parse(&tables.as_ref()?.1));
    let page = open(&args.first, args.url.first(), made.filter(|_| !asked).unwrap_or(recipe))?;
    let verdict = tables.and_then(|tables| ask(&page, tables.as_ref(), &settings, data));
    let (verdict, code) = verdict.map_or_else(
        |error| (Verdict::not_asked(format!("{error:#}")), code_of(&error)),
        |verdict| (verdict, COMPLETE),
    );
    let text = if args.json {
        let mut row = page_json(&page, &policy);
        if let Some(object) = row.as_object_mut() {
            object.insert("verdict".into(), verdict.json);
        }
        format!("{}\n", output::json(&row))
    } else {
        let stages = page_text(&page, &policy, shown(args));
        format!("{stages}{:<12} {}\n", "verdict", escape(&verdict.text))
    };
    print(text.as_bytes())?;
    Ok(code)
}

/// Two pages beside each other.
fn two(args: &ExplainArgs, second: &Path, settings: &Settings) -> Result<u8> {
    let (policy, recipe) = (settings.policy()?, settings.recipe()?);
    let first = open(&args.first, args.url.first(), recipe)?;
    let second = open(second, args.url.get(1), recipe)?;
    let comparison = compare(&first, &second, &policy);
    let text = if args.json {
        format!("{}\n", output::json(&comparison.json(&first, &second)))
    } else {
        comparison.text(&first, &second)
    };
    print(text.as_bytes())
}

/// Blocks and words that are shown.
pub(super) const fn shown(args: &ExplainArgs) -> usize {
    if args.all { usize::MAX } else { DEFAULT_ROWS }
}

fn open(path: &Path, url: Option<&String>, recipe: Recipe) -> Result<Page> {
    let name = path.display().to_string();
    let bytes = read(path).map_err(|error| coded(BAD_INPUT, format!("{name}: {error}")))?;
    let url = url.map(|url| Url::parse(url).with_context(|| format!("--url {url}"))).transpose()?;
    let kind = page_kind(path, &bytes).map_err(|why| coded(BAD_INPUT, format!("{name}: {why}")))?;
    let document = kind.read(url.as_ref().unwrap_or(&stand_in()?), None, &bytes);
    let evidence = Evidence::of(&document, recipe);
    let file = || Url::from_file_path(std::path::absolute(path).ok()?).ok();
    let address = url.or_else(|| file().filter(|_| path != Path::new("-")));
    // As `crawl pages` does: files are of one site.
    let site = site_of(address.as_ref(), name.as_bytes());
    Ok(Page { name, bytes: bytes.len(), document, evidence, address, site, recipe })
}

fn text_of(page: &Page) -> &str {
    &page.evidence.comparison_text.text
}

pub(super) fn page_text(page: &Page, policy: &Policy, limit: usize) -> String {
    let mut out = String::new();
    document_text(&mut out, page);
    blocks_text(&mut out, &page.document, limit);
    evidence_text(&mut out, page, policy, limit);
    out
}

fn document_text(out: &mut String, page: &Page) {
    let document = &page.document;
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<12} {value}");
    };
    row("page", format!("{}, {} bytes", line(&page.name, WIDTH), number(page.bytes as u64)));
    row("charset", format!("{}, by {}", document.charset, document.charset_source.as_str()));
    row("parse", document.truncated.map_or("whole".into(), |limit| limit.as_str().to_owned()));
    row(
        "language",
        if document.language.is_empty() { "unknown".into() } else { document.language.into() },
    );
    row("title", line(&document.title, WIDTH));
    row("heading", line(&document.heading, WIDTH));
    if let Some(canonical) = &document.canonical {
        row("canonical", line(&as_it_stands(canonical), WIDTH));
    }
    if let Some(refresh) = &document.refresh {
        row("refresh", format!("to {}", line(&as_it_stands(refresh), WIDTH)));
    }
    row(
        "robots",
        format!("index {}, follow {}", !document.robots.noindex, !document.robots.nofollow),
    );
    row("links", number(document.links.len() as u64));
    let kept = document.blocks.iter().filter(|block| block.reason == Reason::Text).count();
    row(
        "blocks",
        format!(
            "{kept} kept of {}; chance that it is text, why, and how it begins",
            document.blocks.len()
        ),
    );
}

fn blocks_text(out: &mut String, document: &Document, limit: usize) {
    // What is kept, and what nearly was, says most.
    let mut shown: Vec<usize> = (0..document.blocks.len()).collect();
    if shown.len() > limit {
        let chance = |at: &usize| document.blocks.get(*at).map_or(0.0, |block| block.chance);
        shown.sort_by(|a, b| chance(b).total_cmp(&chance(a)));
        shown.truncate(limit);
        shown.sort_unstable();
    }
    for block in shown.iter().filter_map(|at| document.blocks.get(*at)) {
        let mark = if block.reason == Reason::Text { "keep" } else { "drop" };
        let _ = writeln!(
            out,
            "  {mark} {:.2} {:<32} {}",
            block.chance,
            block.reason.as_str(),
            line(&block.text, 40)
        );
    }
    if shown.len() < document.blocks.len() {
        let _ = writeln!(out, "  ... {} more: --all", document.blocks.len() - shown.len());
    }
}

fn evidence_text(out: &mut String, page: &Page, policy: &Policy, limit: usize) {
    let (document, evidence) = (&page.document, &page.evidence);
    let mut row = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<12} {value}");
    };
    let features = &evidence.comparison_text.features;
    let comparison_text = if evidence.comparison_text.thin {
        "thin page: compared by title and all visible text; only equal text makes a duplicate"
    } else {
        "heading and kept blocks"
    };
    row("compared by", comparison_text.into());
    row(
        "tokens",
        format!(
            "{} content words, {} shingles, {} numbers",
            features.tokens,
            features.shingles.len(),
            features.numbers.len()
        ),
    );
    let words = weighted_words(text_of(page), document.language);
    let list: Vec<String> = words
        .iter()
        .take(limit)
        .map(|(word, weight)| format!("{} {weight}", line(word, 24)))
        .collect();
    row(
        "weights",
        format!("{}{}", list.join(", "), if words.len() > limit { ", ..." } else { "" }),
    );
    row("fingerprint", format!("{} ({})", evidence.fingerprint, evidence.fingerprint.bits()));
    row(
        "digest",
        features.digest.map_or("none".into(), |digest| {
            digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
        }),
    );
    row("recipe", format!("{}, features hashed by {}", page.recipe.name(), HASH.name()));
    if let Ok(layout) = Layout::for_distance(policy.distance) {
        row("probes", format!("{layout}: buckets"));
        for (table, lead) in layout.leads().iter().enumerate() {
            let _ = writeln!(
                out,
                "  table {table:<3} {:016x}",
                evidence.fingerprint.bits() & lead.mask
            );
        }
    }
}

pub(super) fn page_json(page: &Page, policy: &Policy) -> Value {
    let (document, evidence) = (&page.document, &page.evidence);
    let features = &evidence.comparison_text.features;
    let words = weighted_words(text_of(page), document.language);
    json!({
        "path": page.name, "bytes": page.bytes, "charset": document.charset,
        "charset_source": document.charset_source.as_str(), "truncated_by": document.truncated.map(|limit| limit.as_str()),
        "language": document.language, "title": document.title, "heading": document.heading,
        "canonical": document.canonical.as_ref().map(as_it_stands), "refresh": document.refresh.as_ref().map(as_it_stands),
        "robots": {"noindex": document.robots.noindex, "nofollow": document.robots.nofollow},
        "link_count": document.links.len(), "blocks": blocks_json(document), "text": text_of(page), "little_text": evidence.comparison_text.thin,
        "tokens": features.tokens, "shingles": features.shingles.len(), "numbers": features.numbers.len(), "weights": words,
        "fingerprint": evidence.fingerprint.to_string(), "recipe": page.recipe.name(), "hash": HASH.name(), "distance": policy.distance,
    })
}

struct Comparison {
    equal: bool,
    distance: u32,
    similarity: Option<f64>,
    rules: Vec<(Rule, f64)>,
    policy: Policy,
    /// Which table or band would propose the one for the other.
    tables: Vec<usize>,
    bands: usize,
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
    let bands = match (&x.sketch, &y.sketch) {
        (Some(x), Some(y)) => x.bands().iter().zip(y.bands()).filter(|(x, y)| **x == *y).count(),
        _ => 0,
    };
    let level = if equal {
        Some(Level::Text)
    } else if !tables.is_empty() {
        Some(Level::Hamming)
    } else {
        (bands > 0 && !policy.hamming_only).then_some(Level::Sketch)
    };
    let empty = left.tokens == 0 || right.tokens == 0;
    let similarity = x.sketch.as_ref().zip(y.sketch.as_ref()).map(|(x, y)| x.similarity(y));
    let rules = policy.rules(left, right);
    let fingerprints = [x.fingerprint, y.fingerprint];
    let weighed = level.map(|level| policy.weigh(0, (level, None), fingerprints, [left, right]));
    let in_doubt = weighed.is_some_and(|(near, _)| policy.is_in_doubt(&near));
    let confirmed = weighed.is_some_and(|(_, confirmed)| confirmed);
    let text =
        |page: &Page| Compared::new(PageText::of(&page.document, &page.evidence.comparison_text));
    // As if the first one were kept.
    let outcome = (in_doubt && !empty && !policy.hamming_only)
        .then(|| compare_pages(&text(b), &text(a), a.site == b.site));
    let duplicate = outcome.as_ref().map_or(confirmed && !empty, Outcome::same);
    let policy = *policy;
    Comparison { equal, distance, similarity, rules, policy, tables, bands, duplicate, outcome }
}

impl Comparison {
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
            let by =
                if self.tables.is_empty() { "a band of the sketch" } else { "a permuted table" };
            let enough = if self.policy.hamming_only {
                format!("distance {} is enough for the policy", self.distance)
            } else {
                format!("similarity {similarity} reaches {:.2}", self.threshold())
            };
            return format!("duplicates: {by} proposes the pair, and {enough}");
        }
        if self.tables.is_empty() && (self.bands == 0 || self.policy.hamming_only) {
            return format!(
                "different pages: nothing proposes the pair (distance {} above {}, no band of the sketch in common)",
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

    fn text(&self, a: &Page, b: &Page) -> String {
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
        let _ = writeln!(out, "proposed by  tables {tables}; {} of 16 bands", self.bands);
        let similarity = self.similarity.map_or("unknown".into(), |value| format!("{value:.3}"));
        let _ = writeln!(out, "similarity   {similarity}, estimated by 64 min-hashes");
        for (rule, asked) in &self.rules {
            let asked = if *asked > 1.0 { "equal text".into() } else { format!("{asked:.2}") };
            let _ = writeln!(out, "  requires   {asked:<10} {} (without the texts)", rule.as_str());
        }
        if let Some(outcome) = &self.outcome {
            let _ = writeln!(out, "names        {}", outcome.names.as_str());
        }
        let (first, second) = (Words::of(text_of(a)), Words::of(text_of(b)));
        let read = difference::compare(&first, &second);
        let [in_first, in_second] = read.containment().map(|share| 100.0 * share);
        let _ = writeln!(
            out,
            "words        {in_first:.0} % of the first and {in_second:.0} % of the second are in both"
        );
        for phrase in phrases(&read, [&first, &second], NAMES) {
            let _ = writeln!(out, "differs      {}", line(&phrase, 3 * WIDTH));
        }
        let _ = writeln!(out, "verdict      {}", self.verdict());
        out
    }

    fn json(&self, a: &Page, b: &Page) -> Value {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|(rule, asked)| json!({"rule": rule.as_str(), "similarity": asked}))
            .collect();
        let (first, second) = (Words::of(text_of(a)), Words::of(text_of(b)));
        let read = difference::compare(&first, &second);
        let (shared, first_only) = examples(text_of(a), text_of(b));
        let second_only = examples(text_of(b), text_of(a)).1;
        let words = |page: &Page| -> HashSet<String> {
            weighted_words(text_of(page), page.document.language)
                .into_iter()
                .map(|(word, _)| word)
                .collect()
        };
        let (x, y) = (words(a), words(b));
        json!({
            "duplicates": self.duplicate, "why": self.verdict(), "text_equal": self.equal, "distance": self.distance,
            "similarity": self.similarity, "similarity_threshold": self.threshold(), "rules": rules,
            "tables": self.tables, "bands": self.bands, "shared": shared, "first_only": first_only, "second_only": second_only,
            "words_in_common": x.intersection(&y).count(), "words": [x.len(), y.len()],
            "reason": self.outcome.as_ref().map(|outcome| outcome.reason.as_str()),
            "names": self.outcome.as_ref().map(|outcome| outcome.names.as_str()),
            "jaccard": read.jaccard(), "containment": read.containment(), "own": read.own_shares(),
            "differs": phrases(&read, [&first, &second], NAMES),
            "fingerprints": [a.evidence.fingerprint.to_string(), b.evidence.fingerprint.to_string()],
        })
    }
}

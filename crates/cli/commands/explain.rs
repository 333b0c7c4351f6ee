//! `crawl explain PAGE`: one page through every stage.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hapax_dedup::{Layout, Policy};
use hapax_extract::{Document, Reason, Recipe};
use hapax_page::{Evidence, HASH, as_it_stands, site_of, stand_in};
use serde_json::{Value, json};
use url::Url;

use super::explain_page::Page;
use super::explain_verdict::{Verdict, ask};
use super::extract::blocks_json;
use super::print;
use crate::args::ExplainArgs;
use crate::exit::{BAD_INPUT, COMPLETE, code_of, coded};
use crate::output::{self, escape, line, number};
use crate::settings::Settings;
use hapax_data::inputs::{page_kind, read};
use hapax_data::read_only;

/// Blocks and words shown without `--all`.
const DEFAULT_ROWS: usize = 24;
pub(super) const WIDTH: usize = 72;

/// One page, and what the tables of the data directory would say of it.
pub(super) fn run(args: &ExplainArgs, settings: &Settings) -> Result<u8> {
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

/// Blocks and words that are shown.
pub(super) const fn shown(args: &ExplainArgs) -> usize {
    if args.all { usize::MAX } else { DEFAULT_ROWS }
}

pub(super) fn open(path: &Path, url: Option<&String>, recipe: Recipe) -> Result<Page> {
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

pub(super) fn text_of(page: &Page) -> &str {
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
    let words = page.recipe.weighted_words(document, text_of(page));
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
    let words = page.recipe.weighted_words(document, text_of(page));
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

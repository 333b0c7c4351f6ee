//! `crawl extract` and `crawl fingerprint`.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use hapax_extract::{Block, Date, Document, MarkdownLimits, Reason, Recipe};
use hapax_page::{HASH, Kind, as_it_stands, fingerprint as fingerprint_by, stand_in};
use serde_json::{Value, json};

use crate::exit::{BAD_INPUT, COMPLETE};
use crate::output::{self, escape};
use hapax_data::PageMeta;
use hapax_data::inputs::{page_kind, read};

pub(super) fn extract(files: &[PathBuf], text_only: bool) -> Result<u8> {
    each(files, |path, bytes, kind, out| {
        let document = kind.read(&stand_in()?, None, bytes);
        if text_only {
            let raw = !std::io::stdout().is_terminal();
            let line = |line: &str| if raw { line.to_owned() } else { escape(line) };
            return Ok(document.text.lines().try_for_each(|l| writeln!(out, "{}", line(l)))?);
        }
        let comparison_text = document.comparison_text(|bytes| HASH.hash(bytes));
        let links: Vec<String> =
            document.links.iter().map(|link| as_it_stands(&link.url)).collect();
        let mut row = json!({
            "path": path.display().to_string(),
            "title": document.title,
            "heading": document.heading,
            "language": document.language,
            "text": document.text,
            "blocks": blocks_json(&document),
            "links": links,
            "robots": {"noindex": document.robots.noindex, "nofollow": document.robots.nofollow},
            "charset": document.charset,
            "truncated": document.truncated.is_some(),
            "little_text": comparison_text.thin,
            "fingerprint": fingerprint_by(&document, &comparison_text, Recipe::default()).to_string(),
            "tokens": comparison_text.features.tokens,
        });
        // A file has no time of fetch: its dates are compared with today.
        let meta = PageMeta::of(&document, Date::of(SystemTime::now()));
        if let (Value::Object(row), Value::Object(meta)) = (&mut row, serde_json::to_value(&meta)?)
        {
            row.extend(meta);
        }
        Ok(writeln!(out, "{}", output::json(&row))?)
    })
}

/// Prints pages as Markdown. Links without a host are printed as written in the page.
pub(super) fn markdown(files: &[PathBuf]) -> Result<u8> {
    let raw = !std::io::stdout().is_terminal();
    each(files, |_, bytes, kind, out| {
        let page = kind.read_structured(&stand_in()?, None, bytes).with_addresses(as_it_stands);
        let thin = page.document().comparison_text(|bytes| HASH.hash(bytes)).thin;
        let text = page.comparison_markdown(thin, &MarkdownLimits::default()).text;
        let line = |line: &str| if raw { line.to_owned() } else { escape(line) };
        Ok(text.lines().try_for_each(|l| writeln!(out, "{}", line(l)))?)
    })
}

pub(super) fn fingerprint(files: &[PathBuf], recipe: Recipe) -> Result<u8> {
    each(files, |path, bytes, kind, out| {
        let document = kind.read(&stand_in()?, None, bytes);
        let comparison_text = document.comparison_text(|bytes| HASH.hash(bytes));
        Ok(writeln!(
            out,
            "{}\t{}",
            fingerprint_by(&document, &comparison_text, recipe),
            escape(&path.display().to_string())
        )?)
    })
}

/// Each block, with whether it is content and why.
pub(super) fn blocks_json(document: &Document) -> Value {
    let one = |block: &Block| {
        let chance = (f64::from(block.chance) * 1000.0).round() / 1000.0;
        json!({"text": block.text, "kept": block.reason == Reason::Text, "reason": block.reason.as_str(), "chance": chance})
    };
    document.blocks.iter().map(one).collect()
}

/// Processes each file; reports files that are unreadable or not pages, and continues.
fn each(
    files: &[PathBuf],
    mut work: impl FnMut(&Path, &[u8], Kind, &mut dyn Write) -> Result<()>,
) -> Result<u8> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut code = COMPLETE;
    for path in files {
        let page = read(path).map_err(|error| error.to_string()).and_then(|bytes| {
            let kind = page_kind(path, &bytes)?;
            Ok((bytes, kind))
        });
        match page {
            Ok((bytes, kind)) => work(path, &bytes, kind, &mut out)?,
            Err(error) => {
                crate::output::error(&anyhow::anyhow!("{}: {error}", path.display()));
                code = BAD_INPUT;
            }
        }
    }
    out.flush()?;
    Ok(code)
}

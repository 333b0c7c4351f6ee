//! `crawl duplicates causes` and `crawl duplicates advise`.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hapax_crawl::Advice;
use hapax_data::{CauseReport, Rows, must_hold_pages, tables};
use hapax_report::{cause_sentence, dropped_sentence, write_causes};
use serde_json::Value;

use crate::args::Advised;
use crate::exit::COMPLETE;
use crate::output;

pub(super) fn run(json: bool, data: &Path) -> Result<u8> {
    must_hold_pages(data)?;
    let rows = Rows::open(data)?;
    let report = CauseReport::of(data, &rows, tables(data).as_ref())?;
    let mut out = std::io::stdout().lock();
    if !json {
        write_causes(&report, &mut out)?;
        return Ok(COMPLETE);
    }
    let mut print = |mut value: Value, text: String| {
        if let Some(object) = value.as_object_mut() {
            object.insert("text".into(), text.into());
        }
        writeln!(out, "{}", output::json(&value))
    };
    for cause in &report.causes {
        print(serde_json::to_value(cause)?, cause_sentence(cause))?;
    }
    for dropped in &report.dropped {
        print(serde_json::to_value(dropped)?, dropped_sentence(dropped))?;
    }
    Ok(COMPLETE)
}

pub(super) fn advise(audience: Advised, data: &Path) -> Result<u8> {
    must_hold_pages(data)?;
    let advice = advice(data)?;
    let text = match audience {
        Advised::Crawl => advice.rules_file(),
        Advised::Site => advice.for_sites(),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(COMPLETE)
}

/// Advice by the seeds and limits of the last run.
pub(super) fn advice(data: &Path) -> Result<Advice> {
    let saved = crate::data::saved(data)?.unwrap_or_default();
    let (urls, documents) = (saved.settings.url_limits()?, saved.settings.page_limits()?);
    Ok(Advice::of(data, &saved.seed_urls(), (&urls, &documents))?)
}

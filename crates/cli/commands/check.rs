//! `crawl check`: verifies every stored byte, and the stores against each other.

use std::path::Path;

use anyhow::Result;
use hapax_crawl::{CheckedPart, Contents, Expected, Part, check};
use hapax_data::must_exist;
use serde_json::json;

use super::print;
use crate::data::{saved, without_settings};
use crate::exit::{COMPLETE, DAMAGED, WRITE, code_of, coded};
use crate::output::{self, bytes, counted, escape, number};
use hapax_report::advice_on_index;

/// A part, with its result in words.
type SharedVerdict = (&'static str, Result<String>);

pub(super) fn run(json: bool, data: &Path) -> Result<u8> {
    must_exist(data)?;
    let saved = saved(data)?;
    let expected = saved.as_ref().map_or_else(Expected::default, |saved| Expected {
        settings: true,
        seeds: !saved.seeds.is_empty(),
        index: saved.settings.index(),
    });
    let parts = check(data, expected)?;
    let mut told: Vec<SharedVerdict> = parts.into_iter().map(|part| tell(data, part)).collect();
    if saved.is_none()
        && let Some(error) = without_settings(data)
    {
        // After the parts that the store describes.
        let own =
            |(name, _): &SharedVerdict| ["pages", "frontier", "summary", "skipped"].contains(name);
        let at = told.iter().position(own).unwrap_or(told.len());
        told.insert(at, ("settings", Err(error)));
    }
    report(&told, json)
}

fn tell(data: &Path, CheckedPart { part, result }: CheckedPart) -> SharedVerdict {
    let told = match result {
        Ok(contents) => Ok(words(&contents)),
        Err(error) => {
            let error = anyhow::Error::from(error);
            Err(match part {
                // The index can be rebuilt.
                Part::Index => {
                    coded(code_of(&error), format!("{error:#}; {}", advice_on_index(data)))
                }
                _ => error,
            })
        }
    };
    (part.as_str(), told)
}

fn words(contents: &Contents) -> String {
    let left = |text: String, left: u64, what: &str| match left {
        0 => text,
        left => format!("{text}, and {left}{what} from a crash, deleted at the next start"),
    };
    match contents {
        Contents::Documents(report) => format!(
            "{} in {} ({}), {} in the journal",
            counted(report.documents, "document"),
            counted(report.segments as u64, "segment"),
            bytes(report.bytes),
            report.in_journal
        ),
        Contents::Index { pages, left: more } => {
            left(format!("{}, each known to the store", counted(*pages, "page")), *more, "")
        }
        Contents::Lines(0) => "no lines".to_owned(),
        Contents::Lines(lines) => counted(*lines, "line"),
        Contents::Records { records, files, bytes: size, left: more } => {
            let (records, files) = (counted(*records, "record"), counted(*files, "file"));
            left(format!("{records} in {files} ({})", bytes(*size)), *more, " bytes")
        }
        Contents::Urls { known, queued } => {
            format!("{}, {} of them queued", counted(*known, "URL"), number(*queued))
        }
        Contents::Texts { pages, without: 0 } => counted(*pages, "text"),
        Contents::Texts { pages, without } => {
            format!("{}, {} kept pages have none", counted(*pages, "text"), number(*without))
        }
        Contents::Sites { sites, lines } => {
            format!("{} of {}", counted(*lines, "line"), counted(*sites, "site"))
        }
        Contents::Readable => "it can be read".to_owned(),
        _ => "not written yet: the first run ended before it".to_owned(),
    }
}

fn report(parts: &[SharedVerdict], json: bool) -> Result<u8> {
    let well = parts.iter().all(|(_, result)| result.is_ok());
    let say = |(_, result): &SharedVerdict| match result {
        Ok(text) => text.clone(),
        Err(error) => format!("{error:#}"),
    };
    let text = if json {
        let rows: Vec<_> = parts
            .iter()
            .map(|part| json!({"part": part.0, "ok": part.1.is_ok(), "says": say(part)}))
            .collect();
        format!("{}\n", output::json(&json!({"ok": well, "parts": rows})))
    } else {
        let mark = |part: &SharedVerdict| match part.1.as_ref().map_err(code_of) {
            Ok(_) => "ok     ",
            // The part may be intact: this user or system may not open it.
            Err(WRITE) => "UNKNOWN",
            Err(_) => "DAMAGED",
        };
        let lines = parts
            .iter()
            .map(|part| format!("{} {:<9} {}\n", mark(part), part.0, escape(&say(part))));
        lines.collect()
    };
    output::unless_closed(print(text.as_bytes()).map(drop))?;
    // The first error decides the code: an unreadable disk is not damage.
    let code = parts.iter().find_map(|(_, result)| result.as_ref().err()).map(code_of);
    Ok(code.map_or(COMPLETE, |code| if code == COMPLETE { DAMAGED } else { code }))
}

//! The causes of duplicates as text.

use std::io::Write;

use hapax_data::{CauseCount, CausePattern, CausePlace, CauseReport, DroppedUrls};

use crate::text::{bytes, counted, escape, line, number};

/// Parts of places with at least this share of a cause's duplicates are named in its sentence.
const MOST: u64 = 2;
/// Places and excluded addresses that are shown.
const SHOWN: usize = 5;

/// Returns a sentence about a cause: "parameter `sort` made 412 of 430 pages of a.example/shop/ duplicates; it never
/// made a new one".
pub fn cause_sentence(cause: &CauseCount) -> String {
    let total = cause.duplicates + cause.redirects;
    let plain = |what: &str| format!("{what}: {}", number(total));
    let text = match cause.cause.as_str() {
        "scheme" => plain("http beside https"),
        "www" => plain("with and without www."),
        "trailing-slash" => plain("with and without a slash at the end"),
        "index-file" => plain("index file beside its folder"),
        "case" => plain("other capital letters or percent-encoding"),
        "session-id" => plain("session ids"),
        "print" => plain("print pages"),
        "amp" => plain("AMP pages"),
        "mobile" => plain("pages for phones"),
        "language" => plain("the same text under another language"),
        "pagination" => plain("pages of series"),
        "archive" => plain("tag and archive pages"),
        "mirror" => plain("other hosts with the same paths"),
        "syndication" => plain("other sites"),
        other => match other.strip_prefix("parameter:") {
            Some(name) => parameter(cause, name),
            None => plain("other addresses"),
        },
    };
    escape(&text)
}

fn parameter(cause: &CauseCount, name: &str) -> String {
    // One place, if it has most of them.
    let main = cause.places.first().filter(|place| place.duplicates * MOST > cause.duplicates);
    let (duplicates, pages, place) = match main {
        Some(CausePlace { place, duplicates, pages, .. }) => {
            (*duplicates, *pages, format!(" of {place}"))
        }
        None => (cause.duplicates, cause.pages, String::new()),
    };
    let new = match cause.new_pages {
        Some(0) => "; it never made a new one".to_owned(),
        Some(1) => "; 1 kept page differs from another one in it alone".to_owned(),
        Some(new) => format!("; {} kept pages differ in it alone", number(new)),
        None => String::new(),
    };
    match cause.duplicates {
        0 => format!("parameter `{name}`: {}", counted(cause.redirects, "redirect")),
        _ => format!(
            "parameter `{name}` made {} of {} pages{place} duplicates{new}",
            number(duplicates),
            number(pages),
        ),
    }
}

/// Returns a sentence about addresses that were not requested.
pub fn dropped_sentence(dropped: &DroppedUrls) -> String {
    line(&format!("{}: {} ({})", dropped.rule, number(dropped.urls), dropped.reason), 150)
}

/// Writes the report for a terminal.
///
/// # Errors
/// From the writer.
pub fn write_causes(report: &CauseReport, out: &mut dyn Write) -> std::io::Result<()> {
    if report.duplicates + report.redirects == 0 {
        writeln!(out, "Nothing was discarded.")?;
    } else {
        writeln!(
            out,
            "{} and {} have another address with the same text: {}",
            counted(report.duplicates, "page"),
            counted(report.redirects, "redirect"),
            bytes(report.bytes)
        )?;
    }
    for cause in &report.causes {
        writeln!(out, "\n{}", cause_sentence(cause))?;
        writeln!(
            out,
            "  {:<16} {} and {} could be saved",
            line(&cause.cause, 40),
            counted(cause.requests, "request"),
            bytes(cause.bytes)
        )?;
        for place in cause.places.iter().take(SHOWN) {
            let CausePlace { place, duplicates, pages, .. } = place;
            let (duplicates, pages) = (number(*duplicates), number(*pages));
            writeln!(out, "    {duplicates:>9} of {pages:>9}  {}", line(place, 80))?;
        }
        for CausePattern { pattern, duplicates, example } in &cause.patterns {
            writeln!(out, "    {:>9}  {}", number(*duplicates), line(pattern, 80))?;
            writeln!(out, "    {} = {}", line(&example.url, 110), line(&example.of, 110))?;
        }
        if let Some(example) = cause.examples.first().filter(|_| cause.patterns.is_empty()) {
            writeln!(out, "    {} = {}", line(&example.url, 110), line(&example.of, 110))?;
        }
    }
    if !report.dropped.is_empty() {
        writeln!(out, "\nNot requested, by rules about addresses")?;
    }
    for dropped in report.dropped.iter().take(SHOWN) {
        writeln!(out, "  {}", dropped_sentence(dropped))?;
    }
    let more = report.dropped.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  ... and {}", counted(more as u64, "further rule"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_which_parameter_made_no_new_page_and_where() {
        let place = |place: &str, duplicates, pages| CausePlace {
            place: place.into(),
            duplicates,
            pages,
            kept: pages - duplicates,
        };
        let sort = CauseCount {
            cause: "parameter:sort".into(),
            duplicates: 420,
            pages: 440,
            new_pages: Some(0),
            places: vec![place("a.example/shop/", 412, 430), place("a.example/", 8, 10)],
            ..CauseCount::default()
        };
        assert_eq!(
            cause_sentence(&sort),
            "parameter `sort` made 412 of 430 pages of a.example/shop/ duplicates; it never made a new one"
        );
        let spread = CauseCount {
            new_pages: Some(1),
            places: vec![place("a.example/shop/", 210, 220), place("a.example/", 210, 220)],
            ..sort
        };
        assert_eq!(
            cause_sentence(&spread),
            "parameter `sort` made 420 of 440 pages duplicates; 1 kept page differs from another one in it alone"
        );
        let print = CauseCount { cause: "print".into(), duplicates: 80, ..CauseCount::default() };
        assert_eq!(cause_sentence(&print), "print pages: 80");
        let scheme =
            CauseCount { cause: "scheme".into(), redirects: 1200, ..CauseCount::default() };
        assert_eq!(cause_sentence(&scheme), "http beside https: 1,200");
    }
}

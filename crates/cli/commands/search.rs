//! `crawl search`.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use hapax_index::{Hit, Request};
use serde_json::json;

use crate::args::SearchArgs;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{self, colour, counted, line};
use hapax_data::{Found, PageMeta, parse_moment};

fn search(args: &SearchArgs, limit: usize) -> Result<Found> {
    let after = args.after.as_deref().map(parse_moment).transpose();
    let query = args.query.join(" ");
    let host = args.host.as_deref().map(str::to_lowercase);
    let site = args.site.as_deref().map(str::to_lowercase);
    let request = Request {
        host: host.as_deref(),
        site: site.as_deref(),
        language: args.language.as_deref(),
        after: after.map_err(|error| coded(USAGE, format!("--after: {error}")))?,
        offset: args.offset,
        limit,
        ..Request::words(&query)
    };
    let open = |data| Ok((data, crate::open_index::open(data)?));
    let dirs = args.data.dirs.iter().map(|data| open(data.as_path()));
    Ok(hapax_data::search(&dirs.collect::<Result<Vec<_>>>()?, &request)?)
}

pub(super) fn run(args: &SearchArgs) -> Result<u8> {
    let json = args.json;
    if args.query.iter().all(|word| word.trim().is_empty()) {
        return Err(coded(USAGE, "the query is empty. Give words to search for"));
    }
    let limit = args.limit.unwrap_or(if json { usize::MAX } else { 10 });
    let Found { hits, total, pages, copies, unknown_field } = search(args, limit)?;
    if let Some((name, fields)) = unknown_field {
        let fields = fields.join(", ");
        eprintln!("There is no field {name}: it is searched as a word. Fields: {fields}");
    }
    let copies = |hit: &Hit| copies.get(&hit.url).copied().unwrap_or(0);
    let mut out = std::io::stdout().lock();
    if json {
        for hit in &hits {
            let mut row = json!({"id": hit.id, "url": hit.url, "title": hit.title, "snippet": hit.snippet,
                "score": hit.score, "language": hit.language, "fetched": hit.fetched, "copies": copies(hit)});
            let against = PageMeta::from_json(&hit.meta).against;
            if let Some(object) = row.as_object_mut().filter(|_| !against.is_empty()) {
                object.insert("against".into(), against.into());
            }
            writeln!(out, "{}", output::json(&row))?;
        }
        return Ok(COMPLETE);
    }
    let (bold, dim, reset) = if colour(std::io::stdout().is_terminal()) {
        ("\x1b[1m", "\x1b[2m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    for (number, hit) in hits.iter().enumerate() {
        let title = if hit.title.is_empty() { "(no title)" } else { &hit.title };
        writeln!(out, "{:>3}  {bold}{}{reset}", args.offset + number + 1, line(title, 90))?;
        let behind = match copies(hit) {
            0 => String::new(),
            1 => "  + 1 copy discarded".to_owned(),
            n => format!("  + {n} copies discarded"),
        };
        writeln!(out, "     {}{dim}  score {:.1}{behind}{reset}", line(&hit.url, 100), hit.score)?;
        writeln!(out, "     {dim}{}{reset}\n", line(&hit.snippet, 150))?;
    }
    let shown = hits.len();
    let pages = counted(pages, "page");
    match total {
        0 => writeln!(out, "Nothing found among {pages}.")?,
        _ => writeln!(out, "{shown} of {total} found among {pages}.")?,
    }
    Ok(COMPLETE)
}

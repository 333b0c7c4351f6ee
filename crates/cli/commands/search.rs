//! `crawl search`.

use std::collections::{HashMap, HashSet};
use std::io::{IsTerminal, Write};

use anyhow::Result;
use hapax_index::{Hit, Request};
use serde_json::json;

use crate::args::SearchArgs;
use crate::exit::{COMPLETE, USAGE, coded};
use crate::output::{self, colour, counted, line};
use hapax_data::{PageMeta, Rows, parse_moment};

/// Hits of several indexes, best first; each URL once.
struct Found {
    hits: Vec<Hit>,
    /// Numbers of hits and of searched pages.
    total: usize,
    pages: u64,
    copies: HashMap<String, u64>,
}

fn search(args: &SearchArgs, limit: usize) -> Result<Found> {
    let after = args.after.as_deref().map(parse_moment).transpose();
    let query = args.query.join(" ");
    let host = args.host.as_deref().map(str::to_lowercase);
    let site = args.site.as_deref().map(str::to_lowercase);
    let (dirs, several) = (&args.data.dirs, args.data.dirs.len() > 1);
    let request = Request {
        host: host.as_deref(),
        site: site.as_deref(),
        language: args.language.as_deref(),
        after: after.map_err(|error| coded(USAGE, format!("--after: {error}")))?,
        // The best pages of all directories are sorted before some are omitted.
        offset: if several { 0 } else { args.offset },
        limit: if several { limit.saturating_add(args.offset) } else { limit },
        ..Request::words(&query)
    };
    let mut found = Found { hits: Vec::new(), total: 0, pages: 0, copies: HashMap::new() };
    for data in dirs {
        let searcher = crate::open_index::open(data)?;
        let (hits, total) = searcher.find(&request)?;
        found.total += total;
        found.pages += searcher.len();
        let rows = Rows::open(data)?;
        if !several {
            let copies = hapax_data::copies(&rows);
            let own = |hit: &Hit| Some((hit.url.clone(), *copies.get(&hit.id)?));
            found.copies.extend(hits.iter().filter_map(own));
        } else {
            // Any of them may contain a page's copies.
            for row in rows.discarded().filter(|row| !row.is_alias() && !row.is_part()) {
                *found.copies.entry(rows.entry(row)?.of.url).or_default() += 1;
            }
        }
        found.hits.extend(hits);
    }
    if several {
        found.hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.url.cmp(&b.url)));
        let mut seen = HashSet::new();
        let before = found.hits.len();
        found.hits.retain(|hit| seen.insert(hit.url.clone()));
        found.total -= before - found.hits.len();
        found.hits.drain(..args.offset.min(found.hits.len()));
        found.hits.truncate(limit);
    }
    Ok(found)
}

pub(super) fn run(args: &SearchArgs) -> Result<u8> {
    let json = args.json;
    if args.query.iter().all(|word| word.trim().is_empty()) {
        return Err(coded(USAGE, "the query is empty. Give words to search for"));
    }
    let limit = args.limit.unwrap_or(if json { usize::MAX } else { 10 });
    let Found { hits, total, pages, copies } = search(args, limit)?;
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

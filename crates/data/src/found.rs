//! Search in one or more data directories.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use hapax_index::{Hit, Request, Searcher};

use crate::error::Result;
use crate::export::copies;
use crate::rows::Rows;

/// Hits of several indexes, best first; each URL once.
#[derive(Debug, Default)]
pub struct Found {
    /// The best pages.
    pub hits: Vec<Hit>,
    /// Number of all matches.
    pub total: usize,
    /// Number of pages that were searched.
    pub pages: u64,
    /// Number of discarded copies by URL.
    pub copies: HashMap<String, u64>,
    /// A field that the query names and no page has, and the fields of text: its name was searched as a word.
    pub unknown_field: Option<(String, &'static [&'static str])>,
}

/// Searches directories, each with its opened index.
///
/// # Errors
/// Those of [`Searcher::find`], and if a log cannot be read.
pub fn search(dirs: &[(&Path, Searcher)], request: &Request<'_>) -> Result<Found> {
    let several = dirs.len() > 1;
    let mut found = Found::default();
    // The best pages of all directories are sorted before some are omitted.
    let Request { offset, limit, .. } = *request;
    let of_each = match several {
        true => Request { offset: 0, limit: limit.saturating_add(offset), ..*request },
        false => *request,
    };
    for (data, searcher) in dirs {
        let (hits, total) = searcher.find(&of_each)?;
        let unknown = || Some((searcher.unknown_field(request.query)?, searcher.text_fields()));
        found.unknown_field = found.unknown_field.or_else(unknown);
        found.total += total;
        found.pages += searcher.len();
        let rows = Rows::open(data)?;
        if several {
            // Any of them may contain a page's copies.
            for row in rows.discarded().filter(|row| !row.is_alias() && !row.is_part()) {
                *found.copies.entry(rows.entry(row)?.of.url).or_default() += 1;
            }
        } else {
            let copies = copies(&rows);
            let own = |hit: &Hit| Some((hit.url.clone(), *copies.get(&hit.id)?));
            found.copies.extend(hits.iter().filter_map(own));
        }
        found.hits.extend(hits);
    }
    if several {
        found.hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.url.cmp(&b.url)));
        let mut seen = HashSet::new();
        let before = found.hits.len();
        found.hits.retain(|hit| seen.insert(hit.url.clone()));
        found.total -= before - found.hits.len();
        found.hits.drain(..offset.min(found.hits.len()));
        found.hits.truncate(limit);
    }
    Ok(found)
}

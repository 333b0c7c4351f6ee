//! Compares the index with the store.

use std::path::Path;

use hapax_dedup::Store;
use hapax_extract::jieba;
use hapax_index::Error::Damaged;
use hapax_index::{Searcher, damaged_files};
use serde_json::Value;

use super::part::Contents;
use crate::error::{Error, Result};

/// Verifies the checksums of the index, and compares each of its pages with the store.
pub(super) fn check_index(data: &Path, store: &Store) -> Result<Contents> {
    let folder = data.join("index");
    // First: a reader trusts what the files say.
    let damaged = damaged_files(&folder)?;
    if !damaged.is_empty() {
        let each: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        let each = each.join("; ");
        return Err(match damaged.iter().any(|error| matches!(error, Damaged { .. })) {
            true => Error::damaged(each),
            // The file may be intact: only this user, or this machine, cannot open it.
            false => hapax_data::Error::Write(each).into(),
        });
    }
    let searcher = Searcher::open(&folder, jieba)?;
    let mut found = 0;
    for record in store.snapshot().records() {
        let record = record?;
        if record.of.is_some() {
            continue;
        }
        if let Some(page) = searcher.page(record.id)? {
            found += 1;
            let url = String::from_utf8_lossy(&record.key);
            if page.url != url && url.starts_with("http") {
                let (id, there) = (record.id, page.url);
                let what = format!("page {id} is {url} in the store and {there} in the index");
                return Err(Error::damaged(what));
            }
        }
    }
    // After a crash between two commits the index is ahead; the next start removes the rest.
    let mut left = searcher.count_from(store.next_id())?;
    let position: Value = serde_json::from_slice(&store.payload()).unwrap_or_default();
    let indexed = position["counts"]["indexed"].as_u64().unwrap_or(0);
    if found == 0 && indexed > 0 {
        let what = format!("the index lacks all {}", pages(indexed));
        return Err(Error::damaged(what));
    }
    for id in position["leaves_index"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
        let kept = store.record(id)?.is_some_and(|record| record.of.is_none());
        left += u64::from(!kept && searcher.page(id)?.is_some());
    }
    let strangers = searcher.len().saturating_sub(found + left);
    if strangers > 0 {
        return Err(Error::damaged(format!(
            "the index has {} that the store lacks",
            pages(strangers)
        )));
    }
    Ok(Contents::Index { pages: found, left })
}

fn pages(count: u64) -> String {
    if count == 1 { "1 page".to_owned() } else { format!("{count} pages") }
}

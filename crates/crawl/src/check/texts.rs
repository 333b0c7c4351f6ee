//! Verifies the comparison texts.

use std::path::Path;

use hapax_data::TextStore;
use hapax_dedup::Store;

use super::part::Contents;
use crate::error::{Error, Result};

pub(super) fn check_texts(data: &Path, store: &Store) -> Result<Contents> {
    let texts = TextStore::read_only(&data.join("texts"));
    let (mut pages, mut without) = (0, 0);
    for record in store.snapshot().records() {
        let record = record?;
        if record.of.is_some() || !record.indexed {
            continue;
        }
        match texts.get(record.id, &record.key) {
            Some(_) => pages += 1,
            None => without += 1,
        }
    }
    if texts.is_damaged() {
        let what = format!(
            "{without} kept pages have no readable text and are compared by sketches. Run `crawl upgrade` to \
             add the texts from the archive"
        );
        return Err(Error::damaged(what));
    }
    Ok(Contents::Texts { pages, without })
}

//! Rows of kept pages. Names are FineWeb's where it has the value.

use hapax_data::{ExportedPage, warc_place};

use crate::cell::ColumnType::{Float, Integer, Text};
use crate::cell::{Cell, Column};

/// The columns of kept pages: first the nine of FineWeb, then those with the names of the JSON export.
pub const PAGE_COLUMNS: &[Column] = &[
    Column::required("text", Text),
    Column::required("id", Integer),
    Column::required("url", Text),
    Column::required("date", Text),
    Column::required("language", Text),
    Column::optional("language_score", Float),
    Column::optional("file_path", Text),
    Column::optional("token_count", Integer),
    Column::required("minhash_cluster_size", Integer),
    Column::required("host", Text),
    Column::required("site", Text),
    Column::required("title", Text),
    Column::optional("description", Text),
    Column::optional("author", Text),
    Column::optional("published", Text),
    Column::optional("modified", Text),
    Column::required("fetched", Text),
    Column::optional("fingerprint", Text),
    Column::optional("sketch", Text),
    Column::required("copies", Integer),
    Column::required("cluster", Integer),
    Column::required("hosts", Integer),
    Column::required("sites", Integer),
    Column::required("first_seen", Text),
    Column::required("last_seen", Text),
    Column::optional("confidence", Float),
    Column::optional("page_type", Text),
    Column::optional("warc", Text),
    Column::optional("warc_offset", Integer),
    Column::required("site_lines", Integer),
    Column::optional("site_name", Text),
    Column::optional("canonical", Text),
    Column::optional("picture", Text),
    Column::optional("licence", Text),
    Column::optional("type", Text),
    Column::required("alternates", Text),
    Column::required("reservations", Text),
    Column::required("metadata_from", Text),
    Column::required("from", Text),
    Column::required("against", Text),
    Column::optional("content_type", Text),
    Column::optional("data", Text),
];

/// Returns the row of a page, in the order of [`PAGE_COLUMNS`]. Lists and maps are JSON.
///
/// # Errors
/// If a list or map cannot be written as JSON.
pub fn page_row(page: ExportedPage) -> serde_json::Result<Vec<Cell>> {
    let ExportedPage { stored, sighted, meta, .. } = page;
    let (file, offset) = warc_place(stored.warc.as_deref());
    Ok(vec![
        page.text.into(),
        page.id.into(),
        page.url.into(),
        page.fetched.clone().into(),
        page.language.into(),
        meta.language_score.into(),
        file.into(),
        stored.token_count.map(u64::from).into(),
        sighted.copies.saturating_add(1).into(),
        stored.host.into(),
        stored.site.into(),
        page.title.into(),
        meta.description.into(),
        meta.author.into(),
        meta.published.into(),
        meta.modified.into(),
        page.fetched.into(),
        stored.fingerprint.into(),
        stored.sketch.into(),
        sighted.copies.into(),
        page.id.into(),
        sighted.hosts.into(),
        sighted.sites.into(),
        sighted.first_seen.into(),
        sighted.last_seen.into(),
        meta.confidence.into(),
        meta.page_type.into(),
        stored.warc.into(),
        offset.into(),
        (page.site_lines as u64).into(),
        meta.site_name.into(),
        meta.canonical.into(),
        meta.picture.into(),
        meta.licence.into(),
        meta.declared_type.into(),
        serde_json::to_string(&meta.alternates)?.into(),
        serde_json::to_string(&meta.reservations)?.into(),
        serde_json::to_string(&meta.metadata_from)?.into(),
        serde_json::to_string(&meta.from)?.into(),
        serde_json::to_string(&meta.against)?.into(),
        meta.content_type.into(),
        stored.data.into(),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hapax_data::{PageMeta, Sighted, StoredFeatures};
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::parts::{Limits, Parts, tests::read};

    type Words = (Option<String>, Option<String>, Option<String>, BTreeMap<String, String>);

    fn page(
        id: u64,
        text: String,
        words: Words,
        count: Option<u32>,
        share: Option<f64>,
    ) -> ExportedPage {
        let (author, published, warc, map) = words;
        ExportedPage {
            id,
            url: format!("https://a.example/{id}"),
            title: text.chars().rev().collect(),
            language: "en".into(),
            text,
            fetched: "2026-03-01T09:30:00Z".into(),
            sighted: Sighted { copies: id % 7, hosts: 2, sites: 1, ..Sighted::default() },
            stored: StoredFeatures { token_count: count, warc, ..StoredFeatures::default() },
            site_lines: 3,
            meta: PageMeta {
                author,
                published,
                confidence: share,
                reservations: map.keys().cloned().collect(),
                metadata_from: map.clone(),
                from: map.values().cloned().collect(),
                alternates: map,
                ..PageMeta::default()
            },
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn parquet_and_jsonl_are_equal_row_by_row_and_have_the_same_fields(
            pages in proptest::collection::vec(
                (0u64..1 << 40, ".{0,60}",
                 (proptest::option::of(".{0,9}"), proptest::option::of(".{0,9}"),
                  proptest::option::of("[1-9][0-9]{0,3}:[0-9]{1,9}"),
                  proptest::collection::btree_map("[a-z]{1,4}", ".{0,9}", 0..3)),
                 proptest::option::of(any::<u32>()), proptest::option::of(0.0f64..1.0)),
                1..20,
            ),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let limits = Limits { group_bytes: 2000, ..Limits::default() };
            let mut parts = Parts::create(folder.path(), PAGE_COLUMNS, limits).unwrap();
            let pages: Vec<ExportedPage> =
                pages.into_iter().map(|(id, text, words, count, share)| page(id, text, words, count, share)).collect();
            for page in &pages {
                parts.push(page_row(page.clone()).unwrap()).unwrap();
            }
            parts.finish().unwrap();
            let rows = read(folder.path());
            prop_assert_eq!(rows.len(), pages.len());
            for (row, page) in rows.iter().zip(&pages) {
                let json = serde_json::to_value(page).unwrap();
                let columns: Vec<&str> = PAGE_COLUMNS.iter().map(|column| column.name).collect();
                // Each field of the JSON is a column of the same name.
                for (name, value) in json.as_object().unwrap() {
                    let at = columns.iter().position(|column| column == name);
                    let cell = match &row[at.unwrap_or_else(|| panic!("no column {name}"))] {
                        Cell::Null => Value::Null,
                        Cell::Text(text) if value.is_string() => text.as_str().into(),
                        Cell::Text(text) => serde_json::from_str(text).unwrap(),
                        Cell::Integer(number) => (*number).into(),
                        Cell::Float(number) => (*number).into(),
                    };
                    prop_assert_eq!(&cell, value, "{}", name);
                }
                let of = |name: &str| &row[columns.iter().position(|column| *column == name).unwrap()];
                prop_assert_eq!(of("minhash_cluster_size"), &Cell::Integer(page.sighted.copies as i64 + 1));
                prop_assert_eq!((of("date"), of("cluster")), (of("fetched"), of("id")));
                let place = page.stored.warc.as_ref().map(|warc| warc.split_once(':').unwrap());
                let path = place.map(|(file, _)| format!("pages/pages-{file:0>5}.warc.gz"));
                prop_assert_eq!(of("file_path"), &Cell::from(path));
                prop_assert_eq!(of("warc_offset"), &Cell::from(place.map(|(_, offset)| offset.parse::<u64>().unwrap())));
            }
        }
    }
}

//! Rows of discarded pages: the other half, with the kept page and the evidence.

use hapax_data::{Discarded, warc_place};

use crate::cell::ColumnType::{Float, Integer, Text};
use crate::cell::{Cell, Column};

/// The columns of discarded pages. They have the names of discarded.jsonl.
pub const DISCARD_COLUMNS: &[Column] = &[
    Column::required("id", Integer),
    Column::required("url", Text),
    Column::required("host", Text),
    Column::required("time", Text),
    Column::required("kind", Text),
    Column::optional("cluster", Integer),
    Column::required("of", Text),
    Column::required("title", Text),
    Column::required("language", Text),
    Column::required("bytes", Integer),
    Column::optional("fingerprint", Text),
    Column::optional("of_fingerprint", Text),
    Column::optional("distance", Integer),
    Column::optional("threshold", Integer),
    Column::optional("similarity", Float),
    Column::optional("similarity_threshold", Float),
    Column::optional("level", Text),
    Column::optional("table", Integer),
    Column::optional("evidence", Text),
    Column::optional("reason", Text),
    Column::optional("jaccard", Float),
    Column::optional("containment", Float),
    Column::optional("of_containment", Float),
    Column::required("difference", Text),
    Column::optional("part", Text),
    Column::required("shared", Text),
    Column::required("different", Text),
    Column::optional("page_type", Text),
    Column::optional("confidence", Float),
    Column::optional("file_path", Text),
    Column::optional("warc", Text),
    Column::optional("warc_offset", Integer),
    Column::optional("data", Text),
];

/// Returns the row of a line with its current kept page, in the order of [`DISCARD_COLUMNS`]. Lists are JSON. `data` is
/// its directory, if several are exported as one.
///
/// # Errors
/// If a list cannot be written as JSON.
pub fn discard_row(line: Discarded, data: Option<String>) -> serde_json::Result<Vec<Cell>> {
    let (file, offset) = warc_place(line.warc.as_deref());
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    let evidence = line.evidence.map(serde_json::to_value).transpose()?.and_then(word);
    Ok(vec![
        line.id.into(),
        line.url.into(),
        line.host.into(),
        line.time.into(),
        word(serde_json::to_value(line.kind)?).unwrap_or_default().into(),
        line.of.id.into(),
        line.of.url.into(),
        line.title.into(),
        line.language.into(),
        line.bytes.into(),
        line.fingerprint.into(),
        line.of_fingerprint.into(),
        line.distance.map(u64::from).into(),
        line.threshold.map(u64::from).into(),
        line.similarity.into(),
        line.similarity_threshold.into(),
        line.level.into(),
        line.table.map(|table| table as u64).into(),
        evidence.into(),
        line.compared.map(|compared| compared.reason).into(),
        line.differences.jaccard.into(),
        line.differences.containment.map(|[own, _]| own).into(),
        line.differences.containment.map(|[_, of]| of).into(),
        serde_json::to_string(&line.differences.difference)?.into(),
        line.differences.part.as_ref().map(serde_json::to_string).transpose()?.into(),
        serde_json::to_string(&line.shared)?.into(),
        serde_json::to_string(&line.different)?.into(),
        line.page_type.into(),
        line.confidence.into(),
        file.into(),
        line.warc.into(),
        offset.into(),
        data.into(),
    ])
}

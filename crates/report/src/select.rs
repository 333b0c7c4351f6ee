//! Selects and orders rows by filters, and words notes about pages and clusters.

use hapax_data::{Cluster, Discarded, Result, Row, Rows};

use crate::filter::{Filter, Order};
use crate::text::{counted, line, number};

/// A note behind the URL of a page that is gone.
pub const fn gone_told(gone: bool) -> &'static str {
    if gone { "  (no page is stored for it now)" } else { "" }
}

/// A note behind the URL of a kept page that is in a reference; empty for other pages.
pub fn in_store(entry: &Discarded) -> String {
    entry.against.as_ref().map_or(String::new(), |store| format!("  (in {})", line(store, 110)))
}

/// Why the two texts of a row cannot be shown.
pub const fn texts_missing(entry: &Discarded) -> &'static str {
    match entry.against {
        Some(_) => {
            "A text is missing: the reference has none, or is gone, or the page was not archived (--no-warc)."
        }
        None => "The texts were not kept (--no-warc).",
    }
}

/// The rows that pass the filter, in order.
///
/// # Errors
/// The filter is invalid, or the log cannot be read.
pub fn wanted(
    rows: &Rows,
    (filter, order, reverse): (&Filter, Option<Order>, bool),
) -> Result<Vec<Row>> {
    let test = filter.test(rows)?;
    let mut found = Vec::new();
    for row in rows.all() {
        if test.wants(rows, row)? {
            found.push(*row);
        }
    }
    let order = order.unwrap_or_default();
    if order != Order::Time {
        found = sorted(&found, rows, order);
    }
    if reverse {
        found.reverse();
    }
    Ok(found)
}

/// Sorts rows, equal ones as they were discarded. Numbers are sorted instead of rows, which are five times as large.
fn sorted(found: &[Row], rows: &Rows, order: Order) -> Vec<Row> {
    let key = order.keys(rows);
    let mut keys: Vec<(u64, usize)> = found.iter().map(key).zip(0..).collect();
    keys.sort_unstable();
    keys.into_iter().filter_map(|(_, at)| found.get(at).copied()).collect()
}

/// Describes how many copies and redirects a cluster has.
pub fn members(cluster: &Cluster<'_>) -> String {
    let redirects = counted(cluster.redirects, "redirect");
    match (cluster.copies, cluster.redirects) {
        (copies, 0) => format!("{} more", number(copies)),
        (0, _) => redirects,
        (copies, _) => format!("{} more and {redirects}", number(copies)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_comparison() {
        let folder = tempfile::tempdir().unwrap();
        let line = |id: u64| {
            let (host, distance, similarity) = (id * 7 % 5, id % 4, id * 3 % 10);
            let distance =
                if id.is_multiple_of(6) { "null".to_owned() } else { distance.to_string() };
            format!(
                "{{\"time\":\"2026-11-20T19:16:34Z\",\"id\":{id},\"url\":\"http://h{host}/{id}\",\"kind\":\"near\",\
                 \"of\":{{\"id\":{},\"url\":\"http://a/\"}},\"fingerprint\":null,\"of_fingerprint\":null,\"distance\":{distance},\
                 \"threshold\":3,\"similarity\":0.{similarity},\"table\":5,\"title\":\"t\",\"language\":\"zh\",\
                 \"host\":\"h{host}\",\"bytes\":{}}}\n",
                id * 11 % 7,
                id * 5 % 9
            )
        };
        let text: String = (0..200).map(line).collect();
        std::fs::write(folder.path().join("discarded.jsonl"), text).unwrap();
        let rows = Rows::open(folder.path()).unwrap();
        use Order::{Bytes, Distance, Host, Of, Similarity, Time};
        for order in [Time, Distance, Similarity, Host, Bytes, Of] {
            let mut expected = rows.all().to_vec();
            expected.sort_by(|a, b| order.compare_across((&rows, a), (&rows, b)));
            for reverse in [false, true] {
                let found = wanted(&rows, (&Filter::default(), Some(order), reverse)).unwrap();
                assert_eq!(found, expected, "{order:?}");
                expected.reverse();
            }
        }
    }
}

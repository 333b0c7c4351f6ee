//! Selects rows by filters.

use hapax_data::{Cluster, Discarded, Result, Row, Rows};

use crate::filter::{Filter, Order};
use crate::text::{counted, line, number};

/// A note behind the URL of a page that is gone.
pub const fn gone_told(gone: bool) -> &'static str {
    if gone { "  (no page is stored for it now)" } else { "" }
}

/// A note behind the URL of a page that is in a reference.
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
        found.sort_by(|a, b| order.compare(rows, a, b));
    }
    if reverse {
        found.reverse();
    }
    Ok(found)
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

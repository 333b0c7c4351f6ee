//! Selects rows by filters.

use hapax_data::{Cluster, Result, Row, Rows};

use crate::filter::{Filter, Order};
use crate::text::{counted, number};

/// A note behind the URL of a page that is gone.
pub const fn gone_told(gone: bool) -> &'static str {
    if gone { "  (no page is stored for it now)" } else { "" }
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

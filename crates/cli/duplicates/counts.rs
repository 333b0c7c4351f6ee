//! How much is discarded, by the log and what was decided about it: what every table of figures is held to.

use std::collections::HashMap;

use super::rows::Rows;

/// What is discarded now.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogCounts {
    pub(crate) exact: u64,
    pub(crate) near: u64,
    pub(crate) canonical: u64,
    pub(crate) alias: u64,
    /// Of the bodies.
    pub(crate) bytes: u64,
    /// Of each host, redirects not counted.
    pub(crate) hosts: HashMap<String, u64>,
}

impl LogCounts {
    pub(crate) fn of(rows: &Rows) -> Self {
        let mut counts = Self::default();
        let mut hosts: HashMap<u32, u64> = HashMap::new();
        for row in rows.discarded() {
            match row.kind_name() {
                "exact" => counts.exact += 1,
                "canonical" => counts.canonical += 1,
                "alias" => {
                    counts.alias += 1;
                    continue;
                }
                _ => counts.near += 1,
            }
            counts.bytes += u64::from(row.bytes);
            *hosts.entry(row.host).or_default() += 1;
        }
        let name = |(host, count): (u32, u64)| (rows.host_name(host).to_owned(), count);
        counts.hosts = hosts.into_iter().map(name).collect();
        counts
    }
}

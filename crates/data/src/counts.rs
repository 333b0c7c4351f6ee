//! Counts of discarded pages from the log and the decisions, which are authoritative.

use std::collections::HashMap;

use crate::kind::DuplicateKind;
use crate::page_counts::PageCounts;
use crate::rows::Rows;

/// Current counts of discarded pages.
#[derive(Clone, Debug, Default)]
pub struct LogCounts {
    /// Discarded pages of equal text.
    pub exact: u64,
    /// Discarded pages of nearly equal text.
    pub near: u64,
    /// Discarded pages that declare the other page as canonical.
    pub canonical: u64,
    /// Discarded pages that are a part of another page.
    pub part: u64,
    /// URLs that redirect to another page.
    pub alias: u64,
    /// Bytes of the discarded bodies.
    pub bytes: u64,
    /// Per host, without redirects.
    pub hosts: HashMap<String, u64>,
}

impl LogCounts {
    /// Counts the rows of a log that are discarded now.
    pub fn of(rows: &Rows) -> Self {
        let mut counts = Self::default();
        let mut hosts: HashMap<u32, u64> = HashMap::new();
        for row in rows.discarded() {
            match row.kind {
                DuplicateKind::Exact => counts.exact += 1,
                DuplicateKind::Canonical => counts.canonical += 1,
                DuplicateKind::Alias => {
                    counts.alias += 1;
                    continue;
                }
                DuplicateKind::Near => counts.near += 1,
                DuplicateKind::Part => counts.part += 1,
            }
            counts.bytes += u64::from(row.bytes);
            *hosts.entry(row.host).or_default() += 1;
        }
        let name = |(host, count): (u32, u64)| (rows.host_name(host).to_owned(), count);
        counts.hosts = hosts.into_iter().map(name).collect();
        counts
    }
}

impl PageCounts {
    /// Takes the counts of discarded pages from the log.
    pub const fn take(&mut self, log: &LogCounts) {
        (self.exact, self.near, self.canonical) = (log.exact, log.near, log.canonical);
        (self.part, self.alias, self.discarded_bytes) = (log.part, log.alias, log.bytes);
    }
}

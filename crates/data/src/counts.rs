//! How much is discarded, by the log and what was decided about it: what every table of figures is held to.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::kind::DuplicateKind;
use crate::rows::Rows;

/// What is discarded now.
#[derive(Clone, Debug, Default)]
pub struct LogCounts {
    /// Discarded pages of equal text.
    pub exact: u64,
    /// Discarded pages of nearly equal text.
    pub near: u64,
    /// Discarded pages that name the other page as canonical.
    pub canonical: u64,
    /// Addresses that lead to another page.
    pub alias: u64,
    /// Of the bodies.
    pub bytes: u64,
    /// Of each host, redirects not counted.
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
            }
            counts.bytes += u64::from(row.bytes);
            *hosts.entry(row.host).or_default() += 1;
        }
        let name = |(host, count): (u32, u64)| (rows.host_name(host).to_owned(), count);
        counts.hosts = hosts.into_iter().map(name).collect();
        counts
    }
}

/// Counts of pages, moved forward with the dedup store's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageCounts {
    /// Responses with a body.
    pub fetched: u64,
    /// Pages in the index.
    pub indexed: u64,
    /// Discarded pages of equal text.
    pub exact: u64,
    /// Discarded pages of nearly equal text.
    pub near: u64,
    /// Discarded pages that name the other page as canonical.
    pub canonical: u64,
    /// Addresses that lead to another page.
    pub alias: u64,
    /// Asked for again, and still what they were.
    pub unchanged: u64,
    /// Asked for again, and not there any more.
    pub gone: u64,
    /// Bytes of bodies on the wire.
    pub bytes: u64,
    /// Bytes of bodies of discarded pages.
    pub discarded_bytes: u64,
}

impl PageCounts {
    /// Pages discarded as duplicates, aliases not counted.
    pub const fn discarded(&self) -> u64 {
        self.exact + self.near + self.canonical
    }

    /// The count of one kind.
    pub const fn of_kind(&mut self, kind: DuplicateKind) -> &mut u64 {
        match kind {
            DuplicateKind::Exact => &mut self.exact,
            DuplicateKind::Near => &mut self.near,
            DuplicateKind::Canonical => &mut self.canonical,
            DuplicateKind::Alias => &mut self.alias,
        }
    }

    /// What is discarded is what the log says.
    pub const fn take(&mut self, log: &LogCounts) {
        (self.exact, self.near, self.canonical) = (log.exact, log.near, log.canonical);
        (self.alias, self.discarded_bytes) = (log.alias, log.bytes);
    }

    /// Adds another data directory's.
    pub const fn add(&mut self, other: &Self) {
        self.fetched += other.fetched;
        self.indexed += other.indexed;
        self.exact += other.exact;
        self.near += other.near;
        self.canonical += other.canonical;
        self.alias += other.alias;
        self.unchanged += other.unchanged;
        self.gone += other.gone;
        self.bytes += other.bytes;
        self.discarded_bytes += other.discarded_bytes;
    }
}

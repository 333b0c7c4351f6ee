use serde::{Deserialize, Serialize};

use crate::kind::DuplicateKind;

/// Counts of pages, durable with the dedup store's commits.
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
    /// Discarded pages that declare the other page as canonical.
    pub canonical: u64,
    /// Discarded pages that are a part of another page.
    pub part: u64,
    /// URLs that redirect to another page.
    pub alias: u64,
    /// Pages requested again that had not changed.
    pub unchanged: u64,
    /// Pages requested again that no longer exist.
    pub gone: u64,
    /// Known pages whose text or title had changed when they were requested again.
    pub changed: u64,
    /// New pages that recrawls kept.
    pub added: u64,
    /// Bytes of bodies as transferred.
    pub bytes: u64,
    /// Bytes of bodies of discarded pages.
    pub discarded_bytes: u64,
}

impl PageCounts {
    /// Returns the number of pages discarded as duplicates, without redirects.
    pub const fn discarded(&self) -> u64 {
        self.exact + self.near + self.canonical + self.part
    }

    /// Returns the count of one kind.
    pub const fn of_kind(&mut self, kind: DuplicateKind) -> &mut u64 {
        match kind {
            DuplicateKind::Exact => &mut self.exact,
            DuplicateKind::Near => &mut self.near,
            DuplicateKind::Canonical => &mut self.canonical,
            DuplicateKind::Alias => &mut self.alias,
            DuplicateKind::Part => &mut self.part,
        }
    }

    /// Adds the counts of another data directory.
    pub const fn add(&mut self, other: &Self) {
        self.fetched += other.fetched;
        self.indexed += other.indexed;
        self.exact += other.exact;
        self.near += other.near;
        self.canonical += other.canonical;
        self.part += other.part;
        self.alias += other.alias;
        self.unchanged += other.unchanged;
        self.gone += other.gone;
        self.changed += other.changed;
        self.added += other.added;
        self.bytes += other.bytes;
        self.discarded_bytes += other.discarded_bytes;
    }
}

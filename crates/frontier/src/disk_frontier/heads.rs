//! Limits of the memory for the heads of queues.

/// Most queued URLs of one host that are in memory; the rest is on disk.
pub(crate) const HEAD: usize = 256;
/// Target for all hosts together. A host's share is at least [`LEAST_HEAD`].
pub(crate) const HEADS: usize = 1 << 16;
const LEAST_HEAD: usize = 8;
/// Most bytes in memory for all hosts together, since a URL may have thousands. Beyond it each lease reads one URL
/// from disk. URLs that were leased and came back stay in memory in any case.
pub(crate) const HEADS_BYTES: usize = 16 << 20;

/// Returns how many URLs of each host are in memory, given the number of hosts.
pub(crate) fn head(hosts: usize) -> usize {
    (HEADS / hosts.max(1)).clamp(LEAST_HEAD, HEAD)
}

//! Memory for the heads of queues.

/// So many of a host's queued URLs are held in memory at most; the rest waits on disk.
pub(crate) const HEAD: usize = 256;
/// Of all hosts together about so many: of each its share, but not fewer than [`LEAST_HEAD`].
pub(crate) const HEADS: usize = 1 << 16;
const LEAST_HEAD: usize = 8;
/// And of all hosts together so many bytes, for a URL may have thousands: beyond them one at a time is
/// read from disk, as it is handed out. What was handed out and came back is held in any case.
pub(crate) const HEADS_BYTES: usize = 16 << 20;

/// How many of each host's queued URLs are held in memory where there are so many hosts.
pub(crate) fn head(hosts: usize) -> usize {
    (HEADS / hosts.max(1)).clamp(LEAST_HEAD, HEAD)
}

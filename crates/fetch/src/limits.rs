use std::time::Duration;

/// Bytes of a tdmrep.json that are read; the rules before the end hold. Real files have less than 10 KiB.
pub const MAX_TDMREP: usize = 256 << 10;

/// Limits of one request.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body, on the wire and decoded. Default 10 MiB.
    pub max_body: usize,
    /// Bytes of a sitemap, on the wire and decoded; replaces `max_body`. Default 50 MiB.
    pub max_sitemap: usize,
    /// Maximum ratio of decoded to received bytes, checked from 64 KiB on. Default 200.
    pub max_ratio: usize,
    /// Nested Content-Encodings. Default 2.
    pub max_encodings: usize,
    /// Bytes of robots.txt; the rest is ignored, as RFC 9309 allows. Default 500 KiB.
    pub max_robots: usize,
    /// Bytes that are read of an unwanted body so that its connection can be reused; a larger body closes it. Default
    /// 64 KiB.
    pub max_unwanted: usize,
    /// Bytes of header names and values that a response keeps. Default 8 KiB.
    pub max_headers: usize,
    /// Bodies over 1 MiB, received or decoded, in memory at a time. Others wait before they are read further or
    /// decoded. Default 3.
    pub large_bodies: usize,
    /// Large bodies that may wait, each with the bytes that were read. Another one fails with
    /// [`Kind::Busy`](crate::Kind::Busy) and is retried later. Default 32.
    pub waiting_bodies: usize,
    /// Idle connections, over all hosts. Default 512.
    pub max_idle_connections: usize,
    /// Time to resolve a name, whatever the timeout of the system's resolver. Default 10 s.
    pub dns_timeout: Duration,
    /// Time to connect, including the TLS handshake. Default 10 s.
    pub connect_timeout: Duration,
    /// Time to the first piece of a response and between two pieces. For the first, `connect_timeout` is added unless
    /// it is shorter. Default 15 s.
    pub read_timeout: Duration,
    /// Time of a whole request, without the wait for a large body's permit. Default 60 s.
    pub total_timeout: Duration,
    /// Minimum bytes per second of a body, in each `slow_after`. Default 1,024.
    pub min_rate: usize,
    /// Minimum bytes per second of a body over 1 MiB, in each `slow_after`, while other large bodies wait. Default 16
    /// KiB.
    pub large_rate: usize,
    /// Interval over which the rate of a body is measured. Default 10 s.
    pub slow_after: Duration,
}

impl Limits {
    /// Returns the timeout of a response head; the connection may have to be made first.
    pub(crate) fn first_wait(&self) -> Duration {
        match self.connect_timeout < self.read_timeout {
            true => self.read_timeout,
            false => self.connect_timeout.saturating_add(self.read_timeout),
        }
    }
}

/// Size in bytes above which a body is large; see [`Limits::large_bodies`].
pub(crate) const LARGE_BODY: usize = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body: 10 << 20,
            max_sitemap: 50 << 20,
            max_ratio: 200,
            max_encodings: 2,
            max_robots: 500 << 10,
            max_unwanted: 64 << 10,
            max_headers: 8 << 10,
            large_bodies: 3,
            waiting_bodies: 32,
            max_idle_connections: 512,
            dns_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
            min_rate: 1024,
            large_rate: 16 << 10,
            slow_after: Duration::from_secs(10),
        }
    }
}

use std::time::Duration;

/// Limits of one request. Everything from the web is hostile until it has kept within these.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body, on the wire and decoded. Default 10 MiB.
    pub max_body: usize,
    /// Bytes of a sitemap, on the wire and decoded, in place of `max_body`. Default 50 MiB.
    pub max_sitemap: usize,
    /// How many times a body may grow when it is decoded, looked at from 64 KiB on. Default 200.
    pub max_ratio: usize,
    /// Content-Encodings one over the other. Default 2.
    pub max_encodings: usize,
    /// Bytes of robots.txt that are read; the rest is ignored, as RFC 9309 allows. Default 500 KiB.
    pub max_robots: usize,
    /// Bytes that are read of a body nobody wants, so that its connection can serve the next request;
    /// a larger one is left. Default 64 KiB.
    pub max_unwanted: usize,
    /// Bytes of header names and values that are kept of a response. Default 8 KiB.
    pub max_headers: usize,
    /// Bodies over 1 MiB, as they came or decoded, in memory at a time; further ones wait before they
    /// are read on or decoded. Default 3.
    pub large_bodies: usize,
    /// So many of those may wait at a time, each with what it has read; one more is put back to be asked for
    /// again later. Default 32.
    pub waiting_bodies: usize,
    /// Connections that wait for another request, over all hosts. Default 512.
    pub max_idle_connections: usize,
    /// Time in which a name must be resolved, whatever the system's resolver thinks of it. Default 10 s.
    pub dns_timeout: Duration,
    /// Time to connect, its TLS handshake included. Default 10 s.
    pub connect_timeout: Duration,
    /// Time between two pieces of a response, and until the first one. To the latter the time to connect is
    /// added if it is as long or longer. Default 15 s.
    pub read_timeout: Duration,
    /// Time of a whole request, but for what it waits for other large bodies. Default 60 s.
    pub total_timeout: Duration,
    /// Bytes a second that a body must come in with, in each `slow_after`. Default 1,024.
    pub min_rate: usize,
    /// Bytes a second that a body over 1 MiB must come in with, in each `slow_after`, while others wait
    /// for its place among the `large_bodies`. Default 16 KiB.
    pub large_rate: usize,
    /// How long a body may be slower than that, at a time. Default 10 s.
    pub slow_after: Duration,
}

impl Limits {
    /// How long a head is waited for, on a connection that may have to be made first.
    pub(crate) fn first_wait(&self) -> Duration {
        match self.connect_timeout < self.read_timeout {
            true => self.read_timeout,
            false => self.connect_timeout.saturating_add(self.read_timeout),
        }
    }
}

/// A body beyond this is large, see [`Limits::large_bodies`].
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

use std::time::Duration;

/// Limits of one request. Everything from the web is hostile until it has kept within these.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body, on the wire and decoded. Default 10 MiB.
    pub max_body: usize,
    /// How many times a body may grow when it is decoded, looked at from 64 KiB on. Default 200.
    pub max_ratio: usize,
    /// Content-Encodings one over the other. Default 2.
    pub max_encodings: usize,
    /// Bytes of robots.txt that are read; the rest is ignored, as RFC 9309 allows. Default 500 KiB.
    pub max_robots: usize,
    /// Time to connect. Default 10 s.
    pub connect_timeout: Duration,
    /// Time between two pieces of a response. Default 15 s.
    pub read_timeout: Duration,
    /// Time of a whole request. Default 60 s.
    pub total_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body: 10 << 20,
            max_ratio: 200,
            max_encodings: 2,
            max_robots: 500 << 10,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            total_timeout: Duration::from_secs(60),
        }
    }
}

//! Names of keys in Redis: `hapax:{CRAWL.PART}:WHAT`. Redis Cluster hashes only the text in braces. So all keys of a part
//! are on one master, and a script can use them together.

use redis::Value;

/// Number of parts into which the frontier, the documents and the buckets are each split.
pub(crate) const HOST_PARTS: u64 = 64;

#[derive(Clone, Debug)]
pub(crate) struct Keys {
    name: String,
}

impl Keys {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    pub(crate) fn crawl(&self, what: &str) -> String {
        format!("hapax:{{{}}}:{what}", self.name)
    }

    /// Returns the prefix of all keys in a part of the frontier.
    pub(crate) fn hosts(&self, part: u64) -> String {
        format!("hapax:{{{}.h{part}}}:", self.name)
    }

    pub(crate) fn of_host(&self, host: &str) -> String {
        self.hosts(part_of(host))
    }

    /// Returns the key of the time from which an IP address may be requested again.
    pub(crate) fn address(&self, address: std::net::IpAddr) -> String {
        format!("hapax:{{{}.a{address}}}:free", self.name)
    }

    pub(crate) fn document(&self, id: u64) -> String {
        format!("hapax:{{{}.d{}}}:r:{id:x}", self.name, id % HOST_PARTS)
    }

    /// Returns the key of a bucket: the documents with one value (`lead`) in one table. The tables of digests and bands
    /// are numbered after the Hamming tables.
    pub(crate) fn bucket(&self, table: usize, lead: u64) -> String {
        // The lead chooses the part, so the look-ups for one document go to all masters in parallel.
        format!("hapax:{{{}.b{}}}:t{table}:{lead:x}", self.name, lead % HOST_PARTS)
    }
}

/// Returns the part of the frontier that stores a host.
pub(crate) fn part_of(host: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(host.as_bytes()) % HOST_PARTS
}

pub(crate) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// Returns an answer as a number, which may be text.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        value => std::str::from_utf8(bytes(value)?).ok()?.parse().ok(),
    }
}

pub(crate) fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) | Value::Set(values) => values,
        _ => &[],
    }
}

//! Names of keys: `hapax:{CRAWL.PART}:WHAT`. What stands in braces says on which master a key
//! lies, so that a script may touch all keys of one part.

use redis::Value;

/// Hosts with their queues, documents, and buckets: each kind is spread over so many parts.
pub(crate) const HOST_PARTS: u64 = 64;

/// The names of one crawl's keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    name: String,
}

impl Keys {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// A key of the crawl itself.
    pub(crate) fn crawl(&self, what: &str) -> String {
        format!("hapax:{{{}}}:{what}", self.name)
    }

    /// What all keys of a part of the frontier begin with.
    pub(crate) fn hosts(&self, part: u64) -> String {
        format!("hapax:{{{}.h{part}}}:", self.name)
    }

    /// The same of the part of a host.
    pub(crate) fn of_host(&self, host: &str) -> String {
        self.hosts(part_of(host))
    }

    /// An address's clock.
    pub(crate) fn address(&self, address: std::net::IpAddr) -> String {
        format!("hapax:{{{}.a{address}}}:free", self.name)
    }

    /// A document.
    pub(crate) fn document(&self, id: u64) -> String {
        format!("hapax:{{{}.d{}}}:r:{id:x}", self.name, id % HOST_PARTS)
    }

    /// A bucket of a table, and a band or the digests as tables after the others.
    pub(crate) fn bucket(&self, table: usize, lead: u64) -> String {
        // Spread by the lead: one pipeline of a document goes to all masters at once.
        format!("hapax:{{{}.b{}}}:t{table}:{lead:x}", self.name, lead % HOST_PARTS)
    }
}

/// The part of the frontier in which a host lies.
pub(crate) fn part_of(host: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(host.as_bytes()) % HOST_PARTS
}

/// An answer as bytes.
pub(crate) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// An answer as a number.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        value => std::str::from_utf8(bytes(value)?).ok()?.parse().ok(),
    }
}

/// An answer as a list.
pub(crate) fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) | Value::Set(values) => values,
        _ => &[],
    }
}

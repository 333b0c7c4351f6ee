//! The headers of WARC records (WARC is the standard file format of web archives).

use std::time::SystemTime;

use hapax_fetch::{Response, one_line};

use crate::time::format_time;

/// `Name: value` lines. Line breaks in names and values become blanks.
#[derive(Debug, Default)]
pub(crate) struct Head(pub(crate) Vec<u8>);

/// Returns the fields that a worker can make ahead: all except type, id and references, which the writer adds.
pub(crate) fn known_fields(
    response: &Response,
    time: SystemTime,
    block_digest: &str,
    payload_digest: Option<&str>,
) -> Head {
    let mut head = Head::default();
    head.field("WARC-Date", &format_time(time));
    head.field("WARC-Target-URI", response.url.as_str());
    head.field("Content-Type", "application/http;msgtype=response");
    head.field("WARC-Block-Digest", block_digest);
    if let Some(digest) = payload_digest {
        head.field("WARC-Payload-Digest", digest);
    }
    if response.http2 {
        head.field("WARC-Protocol", "h2");
    }
    if let Some(peer) = response.peer {
        head.field("WARC-IP-Address", &peer.ip().to_string());
    }
    head
}

/// Returns the fields of a record beside a response that a worker can make ahead: all except type, id and reference.
pub(crate) fn beside_fields(
    content_type: &str,
    response: &Response,
    time: SystemTime,
    digest: &str,
) -> Head {
    let mut head = Head::default();
    head.field("WARC-Date", &format_time(time));
    head.field("WARC-Target-URI", response.url.as_str());
    head.field("WARC-Block-Digest", digest);
    head.field("Content-Type", content_type);
    head
}

impl Head {
    /// Returns the first fields of every record.
    pub(crate) fn of(warc_type: &str, id: &str) -> Self {
        let mut head = Self(b"WARC/1.1\r\n".to_vec());
        head.field("WARC-Type", warc_type);
        head.field("WARC-Record-ID", id);
        head
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.0.extend(&*one_line(name.as_bytes()));
        self.0.extend(b": ");
        self.0.extend(&*one_line(value.as_bytes()));
        self.0.extend(b"\r\n");
    }

    /// Adds id and URL of a related record.
    pub(crate) fn refer_to(&mut self, record: &str, url: &str) {
        self.field("WARC-Refers-To", &format!("<{record}>"));
        self.field("WARC-Refers-To-Target-URI", url);
    }

    /// Returns the whole head of a record whose block has this length.
    pub(crate) fn before(mut self, length: usize) -> Vec<u8> {
        self.field("Content-Length", &length.to_string());
        self.0.extend(b"\r\n");
        self.0
    }
}

use std::fmt;

use crate::resolver::{DNS_FAILED, REFUSED};

/// What kind of failure a request met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The address is private, loopback or otherwise not for the public.
    PrivateAddress,
    /// The port is one of mail, databases or the like.
    BadPort,
    /// The name could not be resolved.
    Dns,
    /// The connection could not be made, or not in time.
    Connect,
    /// The certificate or the handshake failed.
    Tls,
    /// A time limit was reached.
    Timeout,
    /// The body is larger than allowed.
    TooLarge,
    /// The body grows beyond all measure when it is decoded.
    Bomb,
    /// The Content-Encoding is unknown or the data does not match it.
    Encoding,
    /// The response is no HTTP, or ended early.
    Protocol,
    /// Our own places for large bodies were taken by others all the time.
    Busy,
}

/// Why a request gave no response.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    detail: String,
}

impl Error {
    /// One of a kind, in words.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// What happened.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The reason as `skipped.jsonl` writes it; but `busy` is never written there: such a request is made
    /// again.
    pub const fn reason(&self) -> &'static str {
        match self.kind {
            Kind::PrivateAddress => "private-address",
            Kind::BadPort => "bad-port",
            Kind::Dns => "dns",
            Kind::Connect => "connect",
            Kind::Tls => "tls",
            Kind::Timeout => "timeout",
            Kind::TooLarge => "too-large",
            Kind::Bomb => "bomb",
            Kind::Encoding => "encoding",
            Kind::Protocol => "protocol",
            Kind::Busy => "busy",
        }
    }

    /// Whether another try may succeed.
    pub const fn is_transient(&self) -> bool {
        let passing =
            matches!(self.kind, Kind::Connect | Kind::Timeout | Kind::Protocol | Kind::Dns);
        passing || self.is_ours()
    }

    /// Whether the server wants HTTP/1.1 in place of HTTP/2.
    pub(crate) fn wants_http1(&self) -> bool {
        self.detail.contains(HTTP1_REQUIRED)
    }

    /// Whether the host did nothing wrong: it should be asked again, and not be blamed.
    pub const fn is_ours(&self) -> bool {
        matches!(self.kind, Kind::Busy)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason(), self.detail)
    }
}

impl std::error::Error for Error {}

/// How the client words the error code HTTP_1_1_REQUIRED (RFC 9113, section 7).
const HTTP1_REQUIRED: &str = "endpoint requires HTTP/1.1";

/// What kind of failure the client met.
pub(crate) fn translate(error: reqwest::Error) -> Error {
    // A URL holds whatever words its author likes.
    let error = error.without_url();
    let mut chain: Vec<String> = Vec::new();
    let mut next: Option<&dyn std::error::Error> = Some(&error);
    while let Some(cause) = next {
        chain.push(cause.to_string());
        next = cause.source();
    }
    let all = chain.join(": ");
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    let kind = if has(&[REFUSED]) {
        Kind::PrivateAddress
    } else if has(&[DNS_FAILED]) {
        Kind::Dns
    } else if error.is_connect() && (error.is_timeout() || has(&["timed out"])) {
        Kind::Connect
    } else if error.is_timeout() || has(&["timed out"]) {
        Kind::Timeout
    } else if has(&["certificate", "tls handshake", "received fatal alert", "invalid peer"]) {
        Kind::Tls
    } else if error.is_connect() {
        Kind::Connect
    } else {
        Kind::Protocol
    };
    let detail = chain.last().cloned().unwrap_or_default();
    Error::new(kind, detail)
}

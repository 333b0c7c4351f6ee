use std::fmt;

use crate::resolver::{DNS_FAILED, REFUSED};

/// The kind of failure of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The address is private, loopback or otherwise not public.
    PrivateAddress,
    /// The port belongs to mail, databases or other non-web services.
    BadPort,
    /// The name could not be resolved.
    Dns,
    /// The connection failed or timed out.
    Connect,
    /// The certificate or the handshake failed.
    Tls,
    /// A time limit was reached.
    Timeout,
    /// The body is larger than allowed.
    TooLarge,
    /// The decoded body exceeds the maximum ratio or size.
    Bomb,
    /// The data does not match its Content-Encoding.
    Encoding,
    /// The response is not valid HTTP, or ended early.
    Protocol,
    /// No permit for a large body became free in time.
    Busy,
}

/// The limit that a body exceeds when it is decoded: see [`Kind::Bomb`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exceeded {
    /// The number of encodings.
    Encodings,
    /// The number of bytes.
    Body,
    /// The growth.
    Ratio,
}

/// Why a request returned no response.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    exceeded: Option<Exceeded>,
    detail: String,
}

impl Error {
    /// Creates an error with a description.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, exceeded: None, detail: detail.into() }
    }

    /// Creates an error of [`Kind::Bomb`].
    pub(crate) fn bomb(exceeded: Exceeded, detail: String) -> Self {
        Self { kind: Kind::Bomb, exceeded: Some(exceeded), detail }
    }

    /// Returns the limit that the decoded body exceeds.
    pub const fn exceeded(&self) -> Option<Exceeded> {
        self.exceeded
    }

    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the description, without the reason.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the reason as `skipped.jsonl` writes it. `busy` is never written: such a request is retried.
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

    /// Returns whether a retry may succeed.
    pub const fn is_transient(&self) -> bool {
        let passing =
            matches!(self.kind, Kind::Connect | Kind::Timeout | Kind::Protocol | Kind::Dns);
        passing || self.is_ours()
    }

    /// Returns whether the server requires HTTP/1.1 instead of HTTP/2.
    pub(crate) fn wants_http1(&self) -> bool {
        self.detail.contains(HTTP1_REQUIRED)
    }

    /// Returns whether the failure is not the host's fault: retry without counting it as a failure of the host.
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

/// The HTTP client's text for the error code HTTP_1_1_REQUIRED (RFC 9113, section 7).
const HTTP1_REQUIRED: &str = "endpoint requires HTTP/1.1";

pub(crate) fn translate(error: reqwest::Error) -> Error {
    // A URL may contain any of the words that are searched below.
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

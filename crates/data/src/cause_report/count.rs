//! What a report of causes consists of.

use serde::Serialize;

use crate::reason::SkipReason;

/// Longest address of an example, in bytes.
pub(super) const MAX_EXAMPLE: usize = 512;

/// A cause, and its duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CauseCount {
    /// The value of the field `cause`.
    pub cause: String,
    /// Discarded pages with it.
    pub duplicates: u64,
    /// Redirects with it.
    pub redirects: u64,
    /// Pages whose address has it, kept ones included; of `mirror`, `syndication` and `other` all pages at these places.
    pub pages: u64,
    /// Kept pages among them.
    pub kept: u64,
    /// Of a parameter: kept pages whose address differs from that of another kept page in it alone. None: it never
    /// made a new page.
    pub new_pages: Option<u64>,
    /// Bytes of the bodies of the discarded pages.
    pub bytes: u64,
    /// Requests that would be saved without these addresses.
    pub requests: u64,
    /// Where they are.
    pub places: Vec<CausePlace>,
    /// Addresses of discarded and kept pages.
    pub examples: Vec<CauseExample>,
    /// Of `other`: the versions by which addresses differ, those with the most duplicates first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<CausePattern>,
}

/// A pattern of addresses with the same text, such as `/v1/ beside /v2/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CausePattern {
    /// The pattern: the part of the discarded address, and that of the kept one.
    pub pattern: String,
    /// Discarded pages with it.
    pub duplicates: u64,
    /// One of them.
    pub example: CauseExample,
}

/// A folder of a host in which pages have a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CausePlace {
    /// Host and first folder: `a.example/shop/`.
    pub place: String,
    /// Discarded pages.
    pub duplicates: u64,
    /// Pages whose address has the cause, as [`CauseCount::pages`].
    pub pages: u64,
    /// Kept pages among them.
    pub kept: u64,
}

/// Two addresses of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseExample {
    /// The discarded page.
    pub url: String,
    /// The kept page.
    pub of: String,
}

/// Addresses that were not requested because of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedUrls {
    /// The reason in skipped.jsonl.
    pub reason: SkipReason,
    /// The rule, or the description of a line that has none.
    pub rule: String,
    /// Number of addresses, or of links if the rule removes a parameter.
    pub urls: u64,
    /// One of them.
    pub example: String,
    /// The description of the last line.
    pub detail: String,
}

//! What advice consists of.

/// Advice from a data directory.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// Rules that lose no page, in the order in which they were tried.
    pub rules: Vec<AdvisedRule>,
    /// Rules that were not advised, with the reason.
    pub refused: Vec<RefusedRule>,
    /// Rules that the crawl itself has learnt or always applies: what they did.
    pub learnt: Vec<String>,
    /// Why no rule could be verified, if that is so.
    pub unverified: Option<String>,
    /// Requests of the crawl, and those that the rules would have left.
    pub requests: (u64, u64),
}

/// A rule that loses no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvisedRule {
    /// The rule, as a rules file has it.
    pub rule: String,
    /// The cause of the addresses.
    pub cause: String,
    /// Requests that it would have saved beyond the rules before it.
    pub pages: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Addresses of a discarded and a kept page.
    pub example: (String, String),
}

/// A rule that is not advised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRule {
    /// The rule.
    pub rule: String,
    /// The cause of the addresses.
    pub cause: String,
    /// Duplicates that it explains.
    pub duplicates: u64,
    /// The reason.
    pub why: String,
    /// Addresses of a discarded and a kept page.
    pub example: (String, String),
}

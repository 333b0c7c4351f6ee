//! Names of the engine's notes in the frontier.

/// The validators of a stored copy: `ETag` and `Last-Modified`.
pub(super) const VALIDATORS: &str = "validators";
/// The target of a redirect, after the recrawl that noted it.
pub(super) const TARGET: &str = "target";

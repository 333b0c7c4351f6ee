//! Names of the engine's notes in the frontier.

/// The validators of a stored copy: `ETag` and `Last-Modified`.
pub(super) const VALIDATORS: &str = "validators";

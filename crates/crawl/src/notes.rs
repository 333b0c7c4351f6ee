//! The names under which the engine keeps notes in the frontier.

/// Under this name the frontier remembers by what a stored copy is known.
pub(super) const VALIDATORS: &str = "validators";

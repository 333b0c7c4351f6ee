//! The names under which a frontier remembers things for the engine.

/// Under this name the frontier remembers by what a stored copy is known.
pub(super) const VALIDATORS: &str = "validators";

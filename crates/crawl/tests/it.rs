//! Tests of the public interface: the examples, and errors of an embedder.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod embedding;
#[path = "support/small_site.rs"]
mod small_site;

#[path = "../examples/embed.rs"]
mod embed;
#[path = "../examples/own_parts.rs"]
mod own_parts;
#[path = "../examples/resume.rs"]
mod resume;

//! `cargo xtask`: long checks and measurements, each a command. See docs/reliability.md.
#![forbid(unsafe_code)]

mod crash;
mod mutants;
mod rng;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask crash [--cycles N] [--seed S] | crash-crawl [--cycles N] | discards [--rows N] | hostile | mutants [NAME] [--limit N]
  crash-crawl   kills a whole crawl N times (default 100); it must end like an undisturbed one
  discards      how long the commands and pages over a log of N discards take (default 10^6)
  hostile       servers that mean harm: each has an outcome; what honest hosts keep of their pages/s
  mutants plants each bug of crates/dedup/tests/mutants in a copy of the sources, and fails
          unless the tests notice
  crash   kills a process that writes to a dedup store, N times at random moments (default 50),
          and holds what it acknowledged against what the store has after each kill";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let result = match args.first().map(String::as_str) {
        Some("crash") => crash::run(number("--cycles", 50), number("--seed", 1)),
        Some("crash-crawl") => tests(
            &["resume::a_crawl_killed_again_and_again"],
            &[("CRAWL_KILLS", number("--cycles", 100).to_string())],
        ),
        Some("discards") => tests(
            &["inspect::a_hundred_thousand_rows"],
            &[("DISCARDS", number("--rows", 1_000_000).to_string())],
        ),
        Some("hostile") => tests(&["hostile", "--include-ignored"], &[]),
        Some("mutants") => {
            let name = args.get(1).filter(|name| !name.starts_with('-'));
            mutants::run(name.map_or("", String::as_str), number("--limit", 1000))
        }
        Some("crash-child") => {
            crash::child(args.get(1).map_or("", String::as_str), number("--seed", 1))
        }
        _ => {
            report(USAGE);
            return ExitCode::FAILURE;
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs some of the product's tests, seen.
fn tests(names: &[&str], environment: &[(&str, String)]) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = std::process::Command::new(cargo)
        .args(["test", "--release", "--locked", "-p", "hapax", "--test", "tests", "--"])
        .args(names)
        .args(["--nocapture", "--test-threads", "1"])
        .envs(environment.iter().map(|(name, value)| (*name, value.as_str())))
        .status()?;
    anyhow::ensure!(status.success(), "a test failed: {status}");
    Ok(())
}

fn report(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

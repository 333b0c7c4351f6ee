//! `cargo xtask`: long checks and measurements, each a command. See docs/reliability.md.
#![forbid(unsafe_code)]

mod crash;
mod mutants;
mod rng;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask crash [--cycles N] [--seed S] | mutants [NAME] [--limit N]
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

fn report(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

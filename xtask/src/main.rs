//! `cargo xtask`: long checks and measurements, each a command. See docs/reliability.md.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod crash;
mod mutants;
mod plot;
mod rng;
mod soak;
mod web;
mod whole;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND
  crash [--cycles N] [--seed S]   kills a process that writes to a dedup store, N times at random
                moments (default 50), and holds what it acknowledged against what is there after each
  crash-crawl [--pages N] [--cycles N] [--seed S]   kills a whole crawl of a synthetic web of N pages
                (default 10^5) N times (default 100): it must end with the known answer
  full-disk [--pages N]           the same crawl on a disk that is full again and again (as root)
  clock [--pages N] [--seed S]    the same crawl by a clock that jumps (needs libfaketime)
  soak [--minutes N] [--pages N] [--csv FILE]   crawls for an hour, killed every 30 to 90 seconds:
                memory, file handles and disk a page stay as they are
  plot          draws docs/figures/*.csv as docs/pictures/*.svg
  web [--pages N] [--port P]      serves the synthetic web, and prints its seeds
  hostile       servers that mean harm: each has an outcome; what honest hosts keep of their pages/s
  fuzz-all [--minutes N | --seconds N] [--seed N]   each fuzz target for so long, from its seeds and
                corpus; its random choices begin at a random seed, or at N
  discards [--rows N]             how long commands and pages over a log of N discards take (10^6)
  mutants [NAME] [--limit N] [--from M]      plants each bug of crates/*/tests/mutants in a copy of the
                sources, and fails unless the tests notice (with --limit none of the program itself, which is built
                for each)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let number = |name: &str, default: u64| {
        text(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let help = args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h"));
    let result = match args.first().map(String::as_str).filter(|_| !help) {
        Some("crash") => crash::run(number("--cycles", 50), number("--seed", 1)),
        Some("crash-crawl") => built().and_then(|()| {
            whole::kills(number("--pages", 100_000), number("--cycles", 100), number("--seed", 1))
        }),
        Some("full-disk") => built().and_then(|()| whole::full_disk(number("--pages", 100_000))),
        Some("clock") => {
            built().and_then(|()| whole::clock(number("--pages", 100_000), number("--seed", 1)))
        }
        Some("soak") => built().and_then(|()| {
            let csv = text("--csv").unwrap_or("target/soak.csv");
            let pages = number("--pages", 5_000_000);
            soak::run(number("--minutes", 60), pages, number("--seed", 1), csv.as_ref())
        }),
        Some("plot") => plot::run("docs/figures".as_ref(), "docs/pictures".as_ref()),
        Some("web") => serve(number("--pages", 100_000), number("--port", 0)),
        Some("fuzz-all") => {
            fuzz(number("--seconds", 60 * number("--minutes", 1)), number("--seed", 0))
        }
        Some("discards") => tests(
            &["inspect::a_hundred_thousand_rows"],
            &[("DISCARDS", number("--rows", 1_000_000).to_string())],
        ),
        Some("hostile") => tests(&["hostile", "--include-ignored"], &[]),
        Some("mutants") => {
            let name = args.get(1).filter(|name| !name.starts_with('-'));
            let (limit, from) = (number("--limit", mutants::ALL), number("--from", 0));
            mutants::run(name.map_or("", String::as_str), limit, from)
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

fn cargo() -> std::process::Command {
    std::process::Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
}

/// The program itself, as new as its sources.
fn built() -> anyhow::Result<()> {
    let status = cargo().args(["build", "--release", "--locked", "--bin", "crawl"]).status()?;
    anyhow::ensure!(status.success(), "the build failed: {status}");
    Ok(())
}

/// Serves the synthetic web until the process is ended.
fn serve(pages: u64, port: u64) -> anyhow::Result<()> {
    use std::io::Write;
    let server = web::Server::start(pages, port.try_into()?)?;
    std::io::stdout().write_all(server.web.seeds().as_bytes())?;
    loop {
        std::thread::park();
    }
}

/// Each fuzz target for some seconds, from a random seed if it is 0; the first that finds something ends
/// it.
fn fuzz(seconds: u64, seed: u64) -> anyhow::Result<()> {
    let nightly = |args: &[&str]| {
        // As a user would call it: the toolchain of this program stands in the environment.
        let mut command = std::process::Command::new("cargo");
        command
            .args(["+nightly", "fuzz"])
            .args(args)
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    let listed = nightly(&["list"]).output()?;
    anyhow::ensure!(listed.status.success(), "cargo +nightly fuzz list failed: is it installed?");
    for target in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
        let corpus = format!("fuzz/corpus/{target}");
        std::fs::create_dir_all(&corpus)?;
        let time = format!("-max_total_time={seconds}");
        let seed = format!("-seed={seed}");
        report(target);
        let status =
            nightly(&["run", target, &corpus, &format!("fuzz/seeds/{target}"), "--", &time, &seed])
                .args(["-max_len=4096", "-timeout=10", "-rss_limit_mb=512", "-verbosity=0"])
                .args(["-print_final_stats=1"])
                .status()?;
        anyhow::ensure!(status.success(), "{target} found something: see fuzz/artifacts/{target}");
    }
    Ok(())
}

/// Runs some of the product's tests, seen.
fn tests(names: &[&str], environment: &[(&str, String)]) -> anyhow::Result<()> {
    let status = cargo()
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

//! `cargo xtask`: long checks and measurements, each a command. See docs/reliability.md.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod circles;
mod crash;
mod fuzz;
mod mutants;
mod plot;
mod revisits;
mod rng;
mod soak;
mod store;
mod web;
mod whole;

use std::process::ExitCode;

/// The program's allocator: the memory that it retains is part of the measurements.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const USAGE: &str = "usage: cargo xtask COMMAND
  crash [--cycles N] [--seed S]   kills a process that writes to a dedup store, N times at random
                moments (default 50), and holds what it acknowledged against what is there after each
  crash-crawl [--pages N] [--cycles N] [--seed S]   kills a whole crawl of a synthetic web of N pages
                (default 10^5) N times (default 100): it must end with the known answer
  open [--long | --documents N] [--seed S]   kills a writer of 10^6 documents (10^7), and fails unless the store
                answers in time, then and after it was closed
  memory [--long | --documents N]   the same number with sketches, with sled's cache and without: fails if the store
                takes more private memory than is the goal, or a merge more of the disk
  full-disk [--pages N]           the same crawl on a disk that is full again and again (as root)
  clock [--pages N] [--seed S]    the same crawl by a clock that jumps (needs libfaketime)
  soak [--minutes N] [--pages N] [--seed S] [--csv FILE]   crawls for an hour, killed every 30 to 90 seconds:
                memory, file handles and disk a page stay as they are
  circles       fails where files or folders of a crate import each other in a circle
  revisits [--pages N] [--seeds N]   two years of revisits by a separate clock: fails unless learnt rates reach .9 of
                the freshness of known ones in the second year, and .8 of their gain over fixed intervals (2,000
                pages, 3 seeds)
  plot          draws docs/figures/*.csv as docs/pictures/*.svg
  web [--pages N] [--port P]      serves the synthetic web, and prints its seeds
  hostile [--short]   servers that mean harm, in three orders: each has an outcome; fails unless honest hosts keep 80 %
                of their pages/s (short: only that, one round for each order, 65 %)
  fuzz-all [--minutes N | --seconds N] [--seed N] [--sanitizer NAME | --built FOLDER] [--jobs N]   each fuzz target
                over what is kept of earlier runs, then for so long, from that, its seeds and its corpus; its random
                choices begin at a random seed, or at N; compiled by cargo fuzz with the address sanitizer, another
                one, or `none`, or the programs of FOLDER; one target a core at a time, or N
  discards [--rows N]             how long commands and pages over a log of N discards take (10^6)
  mutants [NAME] [--limit N] [--from M]      plants each bug of crates/*/tests/mutants in a copy of the
                sources, and fails unless the tests notice (with --limit only bugs whose test is written down, which
                alone is asked, and none of the program itself, which is built for each)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).map(String::as_str)
    };
    let number = |name: &str, default: u64| {
        text(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let long = args.iter().any(|arg| arg == "--long");
    let documents = number("--documents", if long { store::LONG_RUN } else { store::SHORT_RUN });
    let help = args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h"));
    let result = match args.first().map(String::as_str).filter(|_| !help) {
        Some("circles") => circles::run(),
        Some("crash") => crash::run(number("--cycles", 50), number("--seed", 1)),
        Some("crash-crawl") => built().and_then(|()| {
            whole::kills(number("--pages", 100_000), number("--cycles", 100), number("--seed", 1))
        }),
        Some("open") => store::open(documents, number("--seed", 1)),
        Some("memory") => store::memory(documents),
        Some("full-disk") => built().and_then(|()| whole::full_disk(number("--pages", 100_000))),
        Some("clock") => {
            built().and_then(|()| whole::clock(number("--pages", 100_000), number("--seed", 1)))
        }
        Some("soak") => built().and_then(|()| {
            let csv = text("--csv").unwrap_or("target/soak.csv");
            let pages = number("--pages", 5_000_000);
            soak::run(number("--minutes", 60), pages, number("--seed", 1), csv.as_ref())
        }),
        Some("revisits") => revisits::run(number("--pages", 2000), number("--seeds", 3)),
        Some("plot") => plot::run("docs/figures".as_ref(), "docs/pictures".as_ref()),
        Some("web") => serve(number("--pages", 100_000), number("--port", 0)),
        Some("fuzz-all") => fuzz::run(&fuzz::How {
            seconds: number("--seconds", 60 * number("--minutes", 1)),
            seed: number("--seed", 0),
            sanitizer: text("--sanitizer").unwrap_or("address"),
            built: text("--built"),
            jobs: number("--jobs", cores()),
        }),
        Some("discards") => tests(
            &["inspect_speed::commands_and_pages"],
            &[("DISCARDS", number("--rows", 1_000_000).to_string())],
        ),
        Some("hostile") if args.iter().any(|arg| arg == "--short") => tests(
            &["hostile::hostile_throughput", "--include-ignored"],
            &[("HOSTILE", "short".to_owned())],
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
        Some("store-child") => {
            let text = |at: usize| args.get(at).map_or("", String::as_str);
            store::child(text(1), text(2), documents)
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
    as_called_by_a_user(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
}

/// A command without the variables that `cargo run` sets for this package. Build scripts that read them (ring's)
/// would run again, and all their dependents would be recompiled.
fn as_called_by_a_user(program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    for (name, _) in std::env::vars_os() {
        let of_a_package = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|begin| name.starts_with(begin))
        };
        if name.to_str().is_some_and(of_a_package) {
            command.env_remove(name);
        }
    }
    command
}

fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

fn built() -> anyhow::Result<()> {
    let status = cargo().args(["build", "--release", "--locked", "--bin", "crawl"]).status()?;
    anyhow::ensure!(status.success(), "the build failed: {status}");
    Ok(())
}

/// Serves the synthetic web until the process ends.
fn serve(pages: u64, port: u64) -> anyhow::Result<()> {
    use std::io::Write;
    let server = web::Server::start(pages, port.try_into()?)?;
    std::io::stdout().write_all(server.web.seeds().as_bytes())?;
    loop {
        std::thread::park();
    }
}

/// Runs some of the product's tests, with their output.
fn tests(names: &[&str], environment: &[(&str, String)]) -> anyhow::Result<()> {
    let status = cargo()
        // For all default members, as in earlier builds of the tests: the features are the same.
        .args(["test", "--release", "--locked", "--test", "tests", "--"])
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

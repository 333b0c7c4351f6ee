//! Runs every fuzz target: first over the kept inputs of earlier runs, then for N seconds with new inputs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug)]
pub(crate) struct How<'a> {
    /// Time for new inputs of each target, after its kept inputs.
    pub(crate) seconds: u64,
    /// libFuzzer's random seed; 0 is a random one.
    pub(crate) seed: u64,
    /// cargo fuzz's sanitizer: `address`, another one, or `none`.
    pub(crate) sanitizer: &'a str,
    /// The folder of compiled targets; without it cargo fuzz compiles them.
    pub(crate) built: Option<&'a str>,
    /// Targets that run at a time; each takes one core.
    pub(crate) jobs: u64,
}

/// Runs every target. After a target has failed, no further target starts.
pub(crate) fn run(how: &How<'_>) -> Result<()> {
    let targets = Mutex::new(targets()?.into_iter());
    let failed = Mutex::new(Vec::new());
    let next = || {
        let found = !failed.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let mut targets = targets.lock().unwrap_or_else(PoisonError::into_inner);
        targets.next().filter(|_| !found)
    };
    let work = || {
        while let Some(target) = next() {
            if let Err(error) = fuzz(&target, how) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{error:#}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..how.jobs.clamp(1, 64) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in fs::read_dir("fuzz/fuzz_targets")
        .context("fuzz/fuzz_targets: is this the project's root?")?
    {
        names.extend(file?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    ensure!(!names.is_empty(), "there is no target in fuzz/fuzz_targets");
    Ok(names)
}

/// Runs a target once over its kept corpus, then with new inputs. Prints its output in one piece, because other
/// targets may run at the same time.
fn fuzz(target: &str, how: &How<'_>) -> Result<()> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(&corpus)?;
    let (kept, seeds) = (format!("target/fuzz-kept/{target}"), format!("fuzz/seeds/{target}"));
    unpack(&format!("fuzz/kept/{target}.tar.gz"), &kept)?;
    let time = format!("-max_total_time={}", how.seconds);
    let seed = format!("-seed={}", how.seed);
    let replay = ["-runs=0", "-verbosity=1"];
    let new = [time.as_str(), &seed, "-print_final_stats=1", "-verbosity=0"];
    for (folders, flags) in
        [([&kept, &seeds].as_slice(), replay.as_slice()), (&[&corpus, &kept, &seeds], &new)]
    {
        let mut command = program(target, folders, how)?;
        let done = command
            .args(["-max_len=4096", timeout(how.seconds), "-rss_limit_mb=512"])
            .args(flags)
            .output()
            .with_context(|| format!("{} cannot be run", command.get_program().display()))?;
        let mut out = std::io::stderr().lock();
        writeln!(out, "{target} {}", flags.join(" "))?;
        out.write_all(&done.stdout)?;
        out.write_all(&done.stderr)?;
        ensure!(
            done.status.success(),
            "{target} failed: the inputs that it found are in fuzz/artifacts/{target}"
        );
        if flags == replay {
            let covered = covered(&String::from_utf8_lossy(&done.stderr));
            ensure!(
                covered >= LEAST_COVERED,
                "{target} is blind: libFuzzer saw {covered} branches taken by what is kept, is it instrumented?"
            );
        }
    }
    Ok(())
}

/// Branches that the kept corpus covers at least; a target without instrumentation covers 0.
const LEAST_COVERED: u64 = 50;

/// The number of covered branches that libFuzzer reports.
fn covered(said: &str) -> u64 {
    let after = said.rsplit_once(" cov: ").map_or("", |(_, after)| after);
    after.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// libFuzzer's time limit for one input: 1 s, with sanitizers too. A short run allows 5 s, because a pause of a busy
/// machine is not a finding.
const fn timeout(seconds: u64) -> &'static str {
    if seconds < 60 { "-timeout=5" } else { "-timeout=1" }
}

/// The command that runs a target over folders; new inputs are stored in the first. libFuzzer's flags follow.
fn program(target: &str, folders: &[&String], how: &How<'_>) -> Result<Command> {
    let Some(built) = how.built else {
        // Without this program's toolchain, which the environment names.
        let mut command = crate::as_called_by_a_user("cargo");
        command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command.args(["+nightly", "fuzz", "run", "--sanitizer", how.sanitizer, target]);
        command.args(folders).arg("--");
        return Ok(command);
    };
    let artifacts = format!("fuzz/artifacts/{target}/");
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(Path::new(built).join(target));
    command.args(folders).arg(format!("-artifact_prefix={artifacts}"));
    Ok(command)
}

/// Unpacks the kept corpus of a target: hundreds of small files in one archive.
fn unpack(archive: &str, folder: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    let done = Command::new("tar").args(["-xzf", archive, "-C", folder]).status()?;
    ensure!(done.success(), "{archive} cannot be unpacked");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fuzz_target_without_coverage_counts_as_blind() {
        let said =
            "#2\tpulse  cov: 9 ft: 3\n#117\tINITED cov: 1204 ft: 3100 corp: 80/9Kb exec/s: 0\n";
        assert_eq!(covered(said), 1204);
        assert_eq!(covered("INFO: Running\n#3\tDONE  exec/s: 0 rss: 31Mb\n"), 0);
        assert_eq!(covered(""), 0);
    }
}

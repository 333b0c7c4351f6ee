//! Crawls the synthetic web for an hour, with a kill every 30 to 90 seconds. Samples memory, file handles and disk
//! each second; they must not grow by more than new pages take.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::report;
use crate::rng::Rng;
use crate::whole::{AGAIN_PER_KILL, Job, Running};

const LOOK: Duration = Duration::from_secs(1);
/// Highest ratio of second to first half, for memory, handles, and disk a page.
const GROWTH: f64 = 1.25;
/// Shorter runs (in minutes) check only the pages.
const JUDGED_FROM: u64 = 5;
/// Seconds after each start whose samples are ignored.
const WARM: f64 = 20.0;
const URL_BYTES: f64 = 60.0;

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    seconds: f64,
    pages: u64,
    memory_mib: f64,
    handles: u64,
    disk_mib: f64,
    kills: u64,
    /// Seconds since the process started.
    life: f64,
}

/// Crawls for `minutes` minutes and writes the samples to `csv`.
pub(crate) fn run(minutes: u64, pages: u64, seed: u64, csv: &Path) -> Result<()> {
    let job = Job::new(pages)?;
    let mut rng = Rng(seed);
    let begun = Instant::now();
    let end = begun + Duration::from_secs(minutes * 60);
    let mut samples = Vec::new();
    let mut kills = 0;
    while Instant::now() < end {
        let mut crawl = Running::start(job.crawl())?;
        let started = Instant::now();
        let death = (started + Duration::from_secs(30 + rng.below(61))).min(end);
        while Instant::now() < death {
            std::thread::sleep(LOOK);
            ensure!(crawl.ended()?.is_none(), "the crawl was over too soon: more --pages");
            let mut sample = look(crawl.id(), &job.data())?;
            sample.seconds = begun.elapsed().as_secs_f64();
            sample.life = started.elapsed().as_secs_f64();
            sample.pages = job.server.seen.distinct();
            sample.kills = kills;
            samples.push(sample);
            // An aborted run leaves the samples of all full minutes.
            if samples.len() % 60 == 0 {
                write(csv, &samples)?;
            }
        }
        if Instant::now() < end {
            crawl.kill()?;
            kills += 1;
        } else {
            // An orderly end. After a kill the index may contain a page beside its better version until the next open
            // repairs it.
            crawl.interrupt()?;
        }
    }
    write(csv, &samples)?;
    let outcome = job.verify(false)?;
    report(&format!("{minutes} minutes, {kills} kills: {outcome}"));
    ensure!(outcome.again <= kills * AGAIN_PER_KILL, "more was fetched again than was in flight");
    if minutes < JUDGED_FROM {
        report("too short to tell what grows");
        return Ok(());
    }
    judge(&samples)
}

/// Fails if the second half of the samples uses more than the first.
fn judge(samples: &[Sample]) -> Result<()> {
    let warm: Vec<&Sample> = samples.iter().filter(|sample| sample.life > WARM).collect();
    let (early, late) = warm.split_at(warm.len() / 2);
    let (Some(first), Some(last)) = (early.last(), late.last()) else {
        anyhow::bail!("too short to judge: five minutes at least");
    };
    let most = |samples: &[&Sample], of: fn(&Sample) -> f64| {
        samples.iter().map(|sample| of(sample)).fold(0.0, f64::max)
    };
    let memory = (most(early, |s| s.memory_mib), most(late, |s| s.memory_mib));
    let handles = (most(early, |s| s.handles as f64), most(late, |s| s.handles as f64));
    let a_page = |s: &Sample| s.disk_mib * 1024.0 / s.pages.max(1) as f64;
    let disk = (a_page(first), a_page(last));
    report(&format!(
        "first and second half: memory at most {:.0} and {:.0} MiB, handles {:.0} and {:.0}, disk {:.2} and \
         {:.2} KiB a page, {} pages",
        memory.0, memory.1, handles.0, handles.1, disk.0, disk.1, last.pages
    ));
    let urls_mib = URL_BYTES * (last.pages - first.pages) as f64 / (1 << 20) as f64;
    ensure!(memory.1 <= memory.0 * GROWTH + urls_mib, "memory grows");
    ensure!(handles.1 <= handles.0 * GROWTH, "file handles grow");
    ensure!(disk.1 <= disk.0 * GROWTH, "disk grows by more than what pages take");
    Ok(())
}

fn look(process: u32, folder: &Path) -> Result<Sample> {
    Ok(Sample {
        memory_mib: private_memory(process)? as f64 / (1 << 20) as f64,
        handles: std::fs::read_dir(format!("/proc/{process}/fd"))?.count() as u64,
        disk_mib: size(folder) as f64 / (1 << 20) as f64,
        ..Sample::default()
    })
}

/// Resident bytes of a process that no file backs (`RssAnon`).
pub(crate) fn private_memory(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.context("/proc without RssAnon")? * 1024)
}

pub(crate) fn size(folder: &Path) -> u64 {
    let mut open = vec![PathBuf::from(folder)];
    let mut all = 0;
    while let Some(next) = open.pop() {
        // Files may appear and disappear meanwhile.
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(data) if data.is_dir() => open.push(entry.path()),
                Ok(data) => all += data.len(),
                Err(_) => {}
            }
        }
    }
    all
}

/// Writes the columns that `cargo xtask plot` draws.
fn write(path: &Path, samples: &[Sample]) -> Result<()> {
    let mut text = String::from(
        "# title: An hour, killed every 30 to 90 seconds\n\
         # x: minutes\n\
         # panels: private memory (MiB) | open files | disk a page (KiB) | pages\n\
         minutes,memory,files,disk,pages\n",
    );
    // One point for 10 seconds.
    for sample in samples.iter().step_by(10) {
        // An empty store's size would dominate the first values.
        let a_page = match sample.pages {
            0..10_000 => String::new(),
            pages => format!("{:.2}", sample.disk_mib * 1024.0 / pages as f64),
        };
        let _ = writeln!(
            text,
            "{:.2},{:.0},{},{a_page},{}",
            sample.seconds / 60.0,
            sample.memory_mib,
            sample.handles,
            sample.pages
        );
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: fn(f64) -> f64) -> Vec<Sample> {
        (1..600u64)
            .map(|second| Sample {
                seconds: second as f64,
                pages: second * 500,
                memory_mib: memory(second as f64),
                handles: 100,
                disk_mib: second as f64 * 2.0,
                kills: 0,
                life: 30.0,
            })
            .collect()
    }

    #[test]
    fn growing_memory_fails_the_soak_test() {
        assert!(judge(&samples(|_| 200.0)).is_ok());
        assert!(judge(&samples(|second| 100.0 + second)).is_err());
        assert!(judge(&[]).is_err());
    }
}

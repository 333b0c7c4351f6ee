//! Whole crawls of the synthetic web with a known answer: with kills, a full disk, or a clock that jumps. Each must
//! end with the pages of an undisturbed crawl.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::report;
use crate::rng::Rng;
use crate::web::Server;

/// Repeated requests allowed for each kill: the default of `--concurrency` in flight.
pub(crate) const AGAIN_PER_KILL: u64 = 64;
/// Milliseconds after its start within which a crawl usually opens its data.
const OPENING: u64 = 100;
/// Maximum percentage of the pages that are fetched before the last kill.
const SHARED_OUT: u64 = 70;
/// A crawl that takes longer counts as hanging.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) server: Server,
    folder: PathBuf,
    program: PathBuf,
}

impl Job {
    pub(crate) fn new(pages: u64) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("hapax-web-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("data"))?;
        let server = Server::start(pages, 0)?;
        std::fs::write(folder.join("seeds.txt"), server.web.seeds())?;
        let program = std::env::current_exe()?.with_file_name("crawl");
        ensure!(program.exists(), "{} is missing: cargo build --release", program.display());
        Ok(Self { server, folder, program })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn crawl(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--seeds").arg(self.folder.join("seeds.txt")).arg("--data").arg(self.data());
        command.args(["--delay", "0s", "--per-host", "4", "--no-progress", "--min-free-disk", "0"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Crawls to the end; its errors appear in the terminal.
    fn finish(&self) -> Result<()> {
        let mut command = self.crawl();
        command.stderr(Stdio::inherit());
        let status = wait(command)?;
        ensure!(status == Some(0), "the last run ended with {status:?}");
        Ok(())
    }

    /// Calls `line` with each JSON line that a command prints.
    fn each_line(&self, args: &[&str], mut line: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--data").arg(self.data());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("a pipe")?;
        for text in BufReader::new(out).lines() {
            line(&serde_json::from_str(&text?)?)?;
        }
        ensure!(child.wait()?.success(), "crawl {args:?} failed");
        Ok(())
    }

    /// Compares the kept and discarded pages with the known answer. Without `whole`, pages may be missing, but those
    /// present must be right.
    ///
    /// # Errors
    /// The first page that is wrong.
    pub(crate) fn verify(&self, whole: bool) -> Result<Outcome> {
        let web = &self.server.web;
        let mut outcome = Outcome::default();
        let mut kept: HashMap<u64, String> = HashMap::new();
        let mut known = HashSet::new();
        let hasher = RandomState::new();
        self.each_line(&["export", "--format", "jsonl"], |page| {
            let url = page["url"].as_str().context("a URL")?;
            let Some(text) = web.text_of(url) else {
                outcome.others += 1;
                return Ok(());
            };
            ensure!(known.insert(hasher.hash_one(url)), "{url} is kept twice");
            if let Some(other) = kept.insert(text, url.to_owned()) {
                bail!("{url} and {other} are the same page, and both are kept");
            }
            // Across hosts the first page is kept; on its host it must be the best address.
            ensure!(!whole || web.is_plain(url), "{url} is kept for a better address of its host");
            outcome.copies += u64::from(!web.is_original(url));
            Ok(())
        })?;
        self.each_line(&["duplicates", "export"], |entry| {
            let (url, of) = (entry["url"].as_str(), entry["of"]["url"].as_str());
            let (url, of) = (url.context("a URL")?, of.context("a URL")?);
            let Some(text) = web.text_of(url) else { return Ok(()) };
            ensure!(web.text_of(of) == Some(text), "{url} was discarded for {of}, another page");
            ensure!(known.insert(hasher.hash_one(url)), "{url} is discarded twice, or kept too");
            outcome.discarded += 1;
            Ok(())
        })?;
        outcome.kept = kept.len() as u64;
        for url in web.pages().filter(|_| whole) {
            ensure!(known.contains(&hasher.hash_one(&url)), "{url} is neither kept nor discarded");
        }
        let seen = &self.server.seen;
        ensure!(seen.forbidden() == 0, "a page was asked for that robots.txt forbids");
        self.check()?;
        outcome.asked = seen.requests();
        outcome.again = seen.again();
        Ok(outcome)
    }

    /// Checks index, tables, logs and archives, and that gzip unpacks every archive.
    fn check(&self) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("check").arg("--data").arg(self.data()).stdout(Stdio::null());
        ensure!(command.status()?.success(), "crawl check found problems");
        for entry in std::fs::read_dir(self.data().join("pages"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "gz") {
                let status = Command::new("gzip").arg("-t").arg(&path).status()?;
                ensure!(status.success(), "{} cannot be unpacked", path.display());
            }
        }
        Ok(())
    }
}

/// A crawl that ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        Ok(Self(command.spawn()?))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// The exit status, once it has ended.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// Interrupts it as Ctrl-C does, and waits for its end.
    pub(crate) fn interrupt(mut self) -> Result<()> {
        let asked = Command::new("kill").args(["-INT", &self.id().to_string()]).status()?;
        ensure!(asked.success(), "kill -INT failed");
        let until = Instant::now() + Duration::from_secs(60);
        while self.ended()?.is_none() {
            ensure!(Instant::now() < until, "the crawl goes on a minute after Ctrl-C");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    pub(crate) fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    kept: u64,
    discarded: u64,
    /// Kept on another host than the original's, because they came first.
    copies: u64,
    /// Pages of traps and dying hosts.
    others: u64,
    asked: u64,
    pub(crate) again: u64,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} kept and {} discarded, one of each text ({} of them on another host, which came first; {} of \
             traps and dying hosts beside them); {} requests, {} of them of what had been answered",
            self.kept, self.discarded, self.copies, self.others, self.asked, self.again
        )
    }
}

fn wait(command: Command) -> Result<Option<i32>> {
    let mut crawl = Running::start(command)?;
    let started = Instant::now();
    while started.elapsed() < LONGEST {
        if let Some(status) = crawl.ended()? {
            return Ok(status.code());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("a crawl went on for {LONGEST:?} and was ended")
}

/// Kills a crawl `cycles` times. Most kills come after a random number of pages, so that the pages suffice on machines of any
/// speed. Every fourth comes while the crawl opens its data.
pub(crate) fn kills(pages: u64, cycles: u64, seed: u64) -> Result<()> {
    let job = Job::new(pages)?;
    let said = job.folder.join("stderr");
    let mut rng = Rng(seed);
    let started = Instant::now();
    for kill in 0..cycles {
        let mut command = job.crawl();
        command.stderr(std::fs::File::create(&said)?);
        let mut crawl = Running::start(command)?;
        let seen = job.server.seen.distinct();
        let rest = (pages * SHARED_OUT / 100).saturating_sub(seen);
        let share = 2 * rest / (cycles - kill);
        let until = seen + if kill % 4 == 3 { 0 } else { rng.below(share.min(rest)) };
        std::thread::sleep(Duration::from_millis(rng.below(OPENING)));
        let longest = Instant::now() + LONGEST;
        while job.server.seen.distinct() < until && crawl.ended()?.is_none() {
            ensure!(Instant::now() < longest, "no page came for {LONGEST:?} before kill {kill}");
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(status) = crawl.ended()? {
            let said = std::fs::read_to_string(&said)?;
            bail!(
                "after {kill} kills of {cycles} the crawl ended with {status}; if by 0, more --pages:\n{said}"
            );
        }
        crawl.kill()?;
    }
    job.finish()?;
    let outcome = job.verify(true)?;
    report(&format!("{cycles} kills in {:.0?}: {outcome}", started.elapsed()));
    ensure!(outcome.again <= cycles * AGAIN_PER_KILL, "more was fetched again than was in flight");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/check-warcs");
    let status = Command::new(script).arg(job.data().join("pages")).status()?;
    ensure!(status.success(), "others do not read the archive");
    Ok(())
}

/// A disk that fills up repeatedly. Needs root to mount a file system.
pub(crate) fn full_disk(pages: u64) -> Result<()> {
    let job = Job::new(pages)?;
    let mount = |options: &str| -> Result<()> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "hapax"]).arg(job.data());
        ensure!(command.status()?.success(), "mount -o {options} (as root?)");
        Ok(())
    };
    // A page takes about 3 KB. The disk begins with space for a tenth of the pages and the fixed files.
    let step = (pages * 3 / 10_000).max(2);
    let mut size = 12 + step;
    mount(&format!("size={size}m"))?;
    let unmount = Unmount(job.data());
    let mut full = 0;
    loop {
        let said = job.folder.join("stderr");
        let mut crawl = job.crawl();
        crawl.stderr(std::fs::File::create(&said)?);
        match wait(crawl)? {
            Some(0) => break,
            Some(6) => full += 1,
            other => {
                let said = std::fs::read_to_string(&said)?;
                bail!("a full disk ended with {other:?}, not with 6:\n{said}");
            }
        }
        ensure!(full < 100, "no end after {full} full disks");
        size += step;
        mount(&format!("remount,size={size}m"))?;
    }
    let outcome = job.verify(true)?;
    drop(unmount);
    report(&format!("{full} times full, {size} MiB at the end: {outcome}"));
    ensure!(full >= 3, "the disk was full {full} times only: more --pages");
    ensure!(outcome.again <= full * AGAIN_PER_KILL, "more was fetched again than was in flight");
    Ok(())
}

#[derive(Debug)]
struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A clock that jumps by up to ten years, forwards and backwards, while the crawl runs and between kills. Needs the
/// package `faketime`.
pub(crate) fn clock(pages: u64, seed: u64) -> Result<()> {
    const LIBRARIES: [&str; 3] = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/faketime/libfaketimeMT.so.1",
    ];
    const JUMPS: [&str; 8] = ["+0", "-10y", "+1h", "-1h", "+10y", "-1d", "+30d", "-61"];
    let library = LIBRARIES.iter().find(|path| Path::new(path).exists());
    let library = library.context("libfaketime is missing: apt-get install faketime")?;
    let job = Job::new(pages)?;
    let time = job.folder.join("time");
    std::fs::write(&time, "+0")?;
    let mut rng = Rng(seed);
    let (mut jumps, mut lives) = (0u64, 0);
    let code = loop {
        let mut command = job.crawl();
        command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &time);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        let mut crawl = Running::start(command)?;
        lives += 1;
        let life = Instant::now() + Duration::from_secs(15);
        let code = loop {
            if let Some(status) = crawl.ended()? {
                break status.code();
            }
            if Instant::now() > life {
                crawl.kill()?;
                break None;
            }
            let jump = JUMPS[rng.below(JUMPS.len() as u64) as usize];
            // Replace the file atomically: the library reads it at each call.
            let next = job.folder.join("time.next");
            std::fs::write(&next, jump)?;
            std::fs::rename(&next, &time)?;
            jumps += 1;
            std::thread::sleep(Duration::from_millis(100 + rng.below(700)));
        };
        ensure!(lives < 1000, "no end after {lives} lives");
        if let Some(code) = code {
            break code;
        }
    };
    ensure!(code == 0, "ended with {code}");
    let outcome = job.verify(true)?;
    report(&format!("{jumps} jumps of the clock, {} kills: {outcome}", lives - 1));
    ensure!(outcome.again <= lives * AGAIN_PER_KILL, "more was fetched again than was in flight");
    Ok(())
}

//! Measures the CPU time of the commit thread and of the whole process for each page, on the HTML files of a folder.
//! Linux only.
//!
//! ```text
//! cargo run --release -p hapax-crawl --example commit_cpu -- FOLDER [--no-site-boilerplate]
//! ```
//!
//! The deciding thread of `Offline` does what the commit thread of a crawl does: decision, archive, index, logs and
//! commits. Bodies are in memory before the measurement. Each cycle fills a new data directory.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use hapax_crawl::{Config, Offline, OfflineParts, StoredPage};
use hapax_data::DataDir;
use hapax_fetch::Response;
use url::Url;

/// The allocator of the program.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ROUNDS: usize = 5;
/// Maximum bytes of bodies in memory: further files are ignored.
const MAX_BYTES: u64 = 512 << 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: commit_cpu FOLDER [--no-site-boilerplate]")?;
    let mut config = Config::default();
    config.storage.site_lines = args.next().as_deref() != Some("--no-site-boilerplate");
    let mut files = Vec::new();
    find(Path::new(&folder), &mut files)?;
    files.sort();
    let mut pages = Vec::new();
    let mut bytes = 0;
    for (number, file) in files.iter().enumerate() {
        bytes += file.metadata()?.len();
        if bytes > MAX_BYTES {
            break;
        }
        let url = Url::parse(&format!("http://a.example/{number}"))?;
        let headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
        let response = Response::stored(url.clone(), 200, headers, std::fs::read(file)?.into());
        pages.push(StoredPage { url, response, time: SystemTime::UNIX_EPOCH, title: None });
    }
    if pages.is_empty() {
        return Err(format!("{folder}: no .html file").into());
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(&pages, &config)?);
    }
    rounds.sort_by(|a, b| a.thread.total_cmp(&b.thread));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} pages; rounds by the commit thread's CPU", pages.len())?;
    for Round { thread, process, wall } in &rounds {
        let each = |seconds: f64| seconds * 1e6 / pages.len() as f64;
        writeln!(
            out,
            "commit thread {:.0} us a page, process {:.0} us a page, wall {wall:.2} s",
            each(*thread),
            each(*process),
        )?;
    }
    Ok(())
}

struct Round {
    thread: f64,
    process: f64,
    wall: f64,
}

fn round(pages: &[StoredPage], config: &Config) -> Result<Round> {
    let folder = std::env::temp_dir().join(format!("hapax-commit-cpu-{}", std::process::id()));
    let parts = OfflineParts { archive: true, index: true, keep_duplicates: false };
    let mut offline = Offline::open(DataDir::open(&folder)?, config, parts, false)?;
    let pages = pages.to_vec();
    let (begun, thread, process) = (Instant::now(), cpu("thread-self")?, cpu_of_all()?);
    for page in pages {
        offline.add(page)?;
    }
    offline.finish()?;
    let round = Round {
        thread: cpu("thread-self")? - thread,
        process: cpu_of_all()? - process,
        wall: begun.elapsed().as_secs_f64(),
    };
    std::fs::remove_dir_all(&folder)?;
    Ok(round)
}

/// Returns the CPU seconds of a thread: `schedstat` counts nanoseconds on a CPU.
fn cpu(thread: &str) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/schedstat"))?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// Returns the CPU seconds of the process, including ended threads, in steps of 10 ms.
fn cpu_of_all() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program may contain spaces, but nothing after its bracket does.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks: Vec<f64> = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // A link to a folder may lead back.
        if path.is_dir() && !path.is_symlink() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            files.push(path);
        }
    }
    Ok(())
}

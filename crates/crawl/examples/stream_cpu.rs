//! Measures the CPU time of `crawl stream --follow` beside a process that commits 1,000 pages a second. Linux only.
//!
//! ```text
//! cargo build --release && cargo run --release -p hapax-crawl --example stream_cpu -- target/release/crawl [SECONDS] [OPTION...]
//! ```
//!
//! The pages have about 500 words of invented text and are committed by `Offline`, which commits as a crawl does. Further
//! options go to `crawl stream`.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hapax_crawl::{Config, Offline, OfflineParts, StoredPage};
use hapax_data::DataDir;
use hapax_fetch::Response;
use url::Url;

/// The allocator of the program.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const PAGES_PER_SECOND: u64 = 1_000;
const WORDS: usize = 500;
/// Pages before the measurement: an empty directory is not the usual case.
const BEFORE: u64 = 5_000;
/// How long the reader may take to read the last event.
const PATIENCE: Duration = Duration::from_secs(30);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("usage: stream_cpu PROGRAM [SECONDS] [OPTION...]")?;
    let seconds: u64 = arguments.next().map_or(Ok(20), |seconds| seconds.parse())?;
    let options: Vec<String> = arguments.collect();
    let folder = std::env::temp_dir().join(format!("hapax-stream-cpu-{}", std::process::id()));
    let measured = measure(Path::new(&program), &folder, seconds, &options);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(program: &Path, folder: &Path, seconds: u64, options: &[String]) -> Result<()> {
    let parts = OfflineParts { archive: true, index: true, keep_duplicates: false };
    let mut offline = Offline::open(DataDir::open(folder)?, &Config::default(), parts, false)?;
    for number in 0..BEFORE {
        offline.add(page(number)?)?;
    }
    let mut reader = Reader::start(program, folder, options)?;
    // The reader first catches up with the pages that are committed already.
    std::thread::sleep(Duration::from_secs(3));
    let (begun, cpu, before) = (Instant::now(), reader.cpu()?, reader.read());
    for number in 0..seconds * PAGES_PER_SECOND {
        let due = Duration::from_micros(number * 1_000_000 / PAGES_PER_SECOND);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        offline.add(page(BEFORE + number)?)?;
    }
    let took = begun.elapsed();
    let cpu_then = reader.cpu()? - cpu;
    let read_then = reader.read() - before;
    offline.finish()?;
    let all = BEFORE + seconds * PAGES_PER_SECOND;
    let waited = Instant::now();
    while reader.read() < all && waited.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    println!(
        "{:.0} pages/s for {:.1} s; the reader used {:.1} % of a core and had read {read_then} events when the last page was \
         added; {} of {all} events were read {:.1} s later",
        (seconds * PAGES_PER_SECOND) as f64 / took.as_secs_f64(),
        took.as_secs_f64(),
        100.0 * cpu_then / took.as_secs_f64(),
        reader.read(),
        waited.elapsed().as_secs_f64(),
    );
    if reader.read() < all {
        return Err("the reader did not keep up".into());
    }
    Ok(())
}

/// `crawl stream --follow`, and a thread that reads its lines.
struct Reader {
    child: Child,
    lines: Arc<AtomicU64>,
}

impl Reader {
    fn start(program: &Path, folder: &Path, options: &[String]) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("stream").arg("--follow").arg("--data").arg(folder).args(options);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let lines = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lines);
        std::thread::spawn(move || {
            let mut out = BufReader::with_capacity(1 << 20, out);
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                counted.fetch_add(1, Ordering::Relaxed);
                line.clear();
            }
        });
        Ok(Self { child, lines })
    }

    /// Returns the number of events that were read.
    fn read(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Returns the CPU seconds of the process, in steps of 10 ms.
    fn cpu(&mut self) -> Result<f64> {
        if let Some(status) = self.child.try_wait()? {
            return Err(format!("crawl stream ended: {status}").into());
        }
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name of the program may contain spaces, but nothing after its bracket does.
        let fields = text.rsplit(") ").next().unwrap_or_default();
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.collect::<std::result::Result<Vec<_>, _>>()?.iter().sum::<f64>() / 100.0)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a page of invented words between frequent ones, different for each number.
fn page(number: u64) -> Result<StoredPage> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let frequent = ["the", "of", "and", "that", "is", "was", "it", "for", "with", "in", "to", "a"];
    let syllables = ["ba", "rin", "to", "lek", "mo", "sta", "vi", "gor", "pe", "nul", "dra", "fi"];
    let mut text = String::new();
    for word in 0..WORDS {
        let frequent = frequent.get(next(30) as usize);
        match frequent {
            Some(word) => text.push_str(word),
            None => {
                for _ in 0..2 + next(2) {
                    text.push_str(syllables.get(next(12) as usize).ok_or("no syllable")?);
                }
            }
        }
        text.push_str(match word % 80 {
            79 => ".</p><p>",
            count if count % 12 == 11 => ". ",
            _ => " ",
        });
    }
    let mut html = String::new();
    write!(html, "<title>Page {number}</title><h1>Page {number}</h1><p>{text}.</p>")?;
    let url = Url::parse(&format!("http://host-{}.example/{number}", number % 50))?;
    let headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
    let response = Response::stored(url.clone(), 200, headers, html.into_bytes().into());
    Ok(StoredPage { url, response, time: SystemTime::UNIX_EPOCH, title: None })
}

//! Measures a growing frontier: ten new and 90 known links, a lease and a completion for each page, and a commit
//! every 1,000 pages. Prints memory, disk space and time. `plain` pushes the links without their page, so that no
//! inlinks are kept.
//!
//! ```text
//! cargo bench -p hapax-frontier --bench urls [-- URLS [FOLDER] [plain]]      default 1000000
//! ```

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made ends")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hapax_frontier::{DiskFrontier, Entry, Frontier, Next, Options, Pushed};
use url::Url;

/// New URLs of a page, and links to known ones.
const NEW: u64 = 10;
const KNOWN: u64 = 90;
const HOSTS: u64 = 1000;

fn main() {
    let mut args: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let plain = args.pop_if(|last| last == "plain").is_some();
    let count: u64 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let folder = args.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("hapax-bench-frontier-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options {
        delay: Duration::ZERO,
        address_delay: Duration::ZERO,
        per_host: 4,
        max_queued_per_host: u64::MAX,
        ..Options::default()
    };
    let frontier = DiskFrontier::open(&folder, options.clone()).unwrap();
    let started = Instant::now();
    let (mut known, mut pages, mut most, mut random) = (0u64, 0u64, 0, 1u64);
    let (mut report, mut since, mut looked) = (count / 10, Instant::now(), 0u64);
    while known < count {
        let page = (!plain).then(|| url(pages));
        for _ in 0..NEW {
            let pushed = frontier.push_link(Entry::page(url(known), 1), page.as_ref()).unwrap();
            assert_eq!(pushed, Pushed::New);
            known += 1;
        }
        for _ in 0..KNOWN {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Most links of a page are its site's navigation.
            let back = (random >> 33) % if random >> 62 == 0 { known } else { known.min(20_000) };
            let pushed = frontier.push_link(Entry::page(url(back), 1), page.as_ref()).unwrap();
            assert_eq!(pushed, Pushed::Known);
            looked += 1;
        }
        if let Next::Lease(lease) = frontier.next(Instant::now()).unwrap() {
            frontier.done(*lease, Duration::ZERO, Instant::now());
        }
        pages += 1;
        if pages % 1000 == 0 {
            frontier.commit(b"position").unwrap();
            most = most.max(anonymous());
        }
        if known >= report {
            println!(
                "{known:>10} known: {:.0} pages/s lately, {:.2} us a link; {} MB of memory at most, {:.0} bytes a URL on disk",
                looked as f64 / KNOWN as f64 / since.elapsed().as_secs_f64(),
                since.elapsed().as_secs_f64() * 1e6
                    / (looked as f64 * (1.0 + NEW as f64 / KNOWN as f64)),
                most / 1_000_000,
                size(&folder) as f64 / known as f64
            );
            (since, looked, report) = (Instant::now(), 0, report + count / 10);
        }
    }
    frontier.commit(b"position").unwrap();
    println!("{:.1} s over all", started.elapsed().as_secs_f64());
    // A copy of the open file is the state after a kill.
    let killed = folder.join("killed");
    std::fs::create_dir(&killed).unwrap();
    std::fs::copy(folder.join("frontier.redb"), killed.join("frontier.redb")).unwrap();
    drop(frontier);
    for (how, folder) in [("again", &folder), ("after a kill", &killed)] {
        let started = Instant::now();
        let frontier = DiskFrontier::open(folder, options.clone()).unwrap();
        let counts = frontier.counts();
        println!(
            "opened {how} in {:.2} s: {} known, {} queued; {} MB of memory",
            started.elapsed().as_secs_f64(),
            counts.known,
            counts.queued,
            anonymous() / 1_000_000
        );
        assert_eq!(counts.known, known);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn url(number: u64) -> Url {
    let host = number.wrapping_mul(2_654_435_761) % HOSTS;
    Url::parse(&format!("http://host{host}.example/section/page-{number}.html?view=full")).unwrap()
}

fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn size(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

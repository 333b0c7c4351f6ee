//! Commands beside a crawl that is killed again and again: what they read is whole.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::helpers::web;
use crate::support::{Bench, Server, code, crawl, text};

const READERS: [&[&str]; 9] = [
    &["search", "the"],
    &["status"],
    &["export", "--format", "jsonl"],
    &["stream"],
    &["changes"],
    &["duplicates", "list"],
    &["duplicates", "causes"],
    &["duplicates", "clusters"],
    &["duplicates", "advise"],
];

/// Runs the commands in turn until the crawls have ended. Returns how many times.
fn read_on(data: &Path, first: usize, ended: &AtomicBool) -> u64 {
    let mut count = 0;
    for args in READERS.iter().cycle().skip(first) {
        if ended.load(SeqCst) {
            break;
        }
        let output = crawl().args(*args).arg("--data").arg(data).output().unwrap();
        let said = text(&output.stderr);
        // Nothing was committed yet.
        let is_early =
            code(&output) == 1 && (said.contains("contains no") || said.contains("no tables"));
        assert!(is_early || code(&output) == 0, "{args:?}: {} {said}", code(&output));
        assert!(!said.contains("WARN"), "{args:?}: {said}");
        count += 1;
    }
    count
}

/// Ends the readers, also after a failed assertion.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn commands_beside_a_crawl_that_is_killed_again_and_again_read_what_was_committed() {
    let server = Server::slow(web(120, 5), Duration::from_millis(20));
    let bench = Bench::new();
    let (seeds, flags) = ([server.url("/")], ["--per-host", "4"]);
    // The readers begin with a directory.
    let mut child = bench.spawn(&seeds, &flags);
    bench.wait_until_committed(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = AtomicBool::new(false);
    let data = bench.data();
    std::thread::scope(|scope| {
        let end = End(&ended);
        let readers = [0, 3, 6].map(|first| {
            let (data, ended) = (&data, &ended);
            scope.spawn(move || read_on(data, first, ended))
        });
        for cycle in 0..16 {
            let before = server.asked().len();
            let mut child = bench.spawn(&seeds, &flags);
            // Every other one is killed while it opens its data.
            let pages = if cycle % 2 == 0 { 1 + cycle * 5 % 17 } else { 0 };
            let opening = Duration::from_millis(cycle as u64 * 7 % 60);
            std::thread::sleep(opening);
            while server.asked().len() < before + pages && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let early = child.try_wait().unwrap();
            assert!(early.is_none_or(|status| status.success()), "{early:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let output = bench.crawl(&seeds, &flags);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        drop(end);
        for reader in readers {
            assert!(reader.join().unwrap() > 2);
        }
    });
    bench.checked();
}

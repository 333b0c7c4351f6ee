//! The dates of a feed decide when its pages are visited again, once they have proved right.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use hapax_warc::format_time;

use crate::helpers::article;
use crate::support::{Bench, Page, Server, code, html, missing, text};

const PAGES: usize = 6;

/// The version of each page, and the date that the feed gives for it.
type Entries = Arc<Mutex<[(usize, SystemTime); PAGES]>>;

/// A site with a feed of six pages.
struct Site {
    server: Server,
    entries: Entries,
    bench: Bench,
}

impl Site {
    fn new() -> Self {
        let before = SystemTime::now() - Duration::from_secs(86_400);
        let entries: Entries = Arc::new(Mutex::new([(0, before); PAGES]));
        let now = Arc::clone(&entries);
        let answer = move |path: &str| {
            let entries = *now.lock().unwrap();
            if path == "/feed" {
                let items = entries.iter().enumerate().map(|(number, (_, date))| {
                    let date = format_time(*date);
                    format!("<item><link>/p{number}</link><pubDate>{date}</pubDate></item>")
                });
                let rss = format!("<rss><channel>{}</channel></rss>", items.collect::<String>());
                return Page {
                    headers: "Content-Type: application/rss+xml\r\n".into(),
                    ..html(rss)
                };
            }
            match path.trim_start_matches("/p").parse::<usize>() {
                Ok(number) if number < PAGES => {
                    article((10 * (number + 1) + entries[number].0) as u64)
                }
                _ => missing(),
            }
        };
        let server = Server::answering(Arc::new(move |path, _| answer(path)), Duration::ZERO);
        let site = Self { server, entries, bench: Bench::new() };
        let flags = ["--concurrency", "1", "--no-sitemaps"];
        assert_eq!(code(&site.bench.crawl(&[site.server.url("/feed")], &flags)), 0);
        assert_eq!(site.bench.kept().len(), PAGES);
        site
    }

    fn change(&self, numbers: &[usize], dated: bool) {
        // Dates have seconds: a change in the second of a visit cannot be seen.
        std::thread::sleep(Duration::from_millis(1100));
        let mut entries = self.entries.lock().unwrap();
        for number in numbers {
            entries[*number].0 += 1;
            if dated {
                entries[*number].1 = SystemTime::now();
            }
        }
    }

    /// Visits the due pages, and returns the requested paths.
    fn visits(&self, shortest: &str, longest: &str, flags: &[&str]) -> Vec<String> {
        // What was visited before is due again, by seconds.
        std::thread::sleep(Duration::from_millis(2100));
        let before = self.server.asked().len();
        let run = ["--recrawl", "--due", "--concurrency", "1", "--no-sitemaps"];
        let pace = ["--revisit-min", shortest, "--revisit-max", longest];
        let flags = [&run[..], &pace, flags].concat();
        let output = self.bench.crawl(&[self.server.url("/feed")], &flags);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let mut asked = self.server.asked()[before..].to_vec();
        asked.sort();
        asked
    }

    /// Lets the feed prove right: nothing has changed, then five pages have.
    fn prove(&self) {
        assert_eq!(self.visits("1s", "1s", &[]).len(), PAGES + 1);
        assert_eq!(self.visits("1s", "1s", &[]).len(), PAGES + 1);
        self.change(&[0, 1, 2, 3, 4], true);
        assert_eq!(self.visits("1s", "1s", &[]).len(), PAGES + 1);
    }
}

#[test]
fn a_believed_date_makes_a_page_due_in_the_same_run() {
    let site = Site::new();
    // Not believed yet.
    site.change(&[5], true);
    assert_eq!(site.visits("1s", "1d", &[]), ["/feed"]);
    site.prove();
    site.change(&[5], true);
    site.change(&[0], false);
    assert_eq!(site.visits("1s", "1d", &[]), ["/feed", "/p5"]);
    assert_eq!(site.bench.summary()["recrawl"]["changed"], 1, "{}", site.bench.summary());
    assert_eq!(site.visits("1s", "1d", &[]), ["/feed"]);
    // A list is not requested more often than a page.
    assert_eq!(site.visits("1h", "1d", &[]), Vec::<String>::new());
    assert!(site.bench.summary()["next_visit"].is_string(), "{}", site.bench.summary());
    site.bench.checked();
}

#[test]
fn a_believed_date_needs_a_visit_of_the_budget() {
    let site = Site::new();
    site.prove();
    site.change(&[2, 3, 4, 5], true);
    let budget = ["--revisits-per-day", "1"];
    assert_eq!(site.visits("1s", "3650d", &budget).len(), 2);
    assert_eq!(site.visits("1s", "3650d", &budget), ["/feed"]);
    assert!(site.bench.summary()["next_visit"].is_string(), "{}", site.bench.summary());
    let budget = ["--revisits-per-day", "none", "--revisits-per-site", "48"];
    assert_eq!(site.visits("1s", "3650d", &budget).len(), 3);
    assert_eq!(site.visits("1s", "3650d", &budget), ["/feed"]);
    site.bench.checked();
}

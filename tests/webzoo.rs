//! A table of real servers' responses: the bytes for one page, the page's outcome, and the requests for it in a second
//! run of the same command.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::{Bench, code, prose, read_head, text};

mod rows;

/// When the same command requests a skipped page again, if it is not a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// In the next run: the page stays queued.
    NextRun,
    /// Not: a recrawl, `--retry` or a changed flag requests it again.
    Recrawl,
}

use Again::{NextRun, Recrawl};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    Kept,
    /// Kept; a line with this reason says that it is incomplete.
    KeptWith(&'static str),
    /// Skipped: the line's reason, and when the page is requested again.
    Skipped(&'static str, Again),
    /// It leads to the page `/target`, which is kept.
    Leads,
}

use Becomes::{Kept, KeptWith, Leads, Skipped};

/// How the crawl finds the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    ByLinks,
    AsSeeds,
}

/// Tries of a page that fails, in one run.
const TRIES: usize = 3;

#[derive(Debug)]
struct Row {
    name: &'static str,
    answer: Vec<u8>,
    becomes: Becomes,
    /// Requests of one try: more than one if it redirects to itself.
    requests_per_try: usize,
}

impl Row {
    /// A host that fails is requested ever more slowly, so such a row has a separate host, and no page links to it.
    fn has_own_host(&self) -> bool {
        matches!(self.becomes, Skipped(_, NextRun))
    }

    fn is_seed(&self, found: Found) -> bool {
        found == Found::AsSeeds || self.has_own_host()
    }

    /// Returns the tries of the page in the second run of the same command.
    ///
    /// | outcome | linked | a seed |
    /// |---|---|---|
    /// | kept, or it leads to a kept page | none | none |
    /// | skipped, requested again by the next run | all | all |
    /// | skipped, requested again by a recrawl | none | one, in every run |
    fn tries_in_second_run(&self, found: Found) -> usize {
        match self.becomes {
            Kept | KeptWith(_) | Leads => 0,
            Skipped(_, NextRun) => TRIES,
            Skipped(_, Recrawl) => usize::from(self.is_seed(found)),
        }
    }

    /// Returns `again` of the page's line.
    fn again(&self, found: Found) -> &'static str {
        match self.becomes {
            Skipped(_, NextRun) => "next-run",
            _ if self.is_seed(found) => "seed",
            _ => "recrawl",
        }
    }

    fn has_its_outcome(&self, url: &str, outcomes: &Outcomes, found: Found) -> bool {
        let (line, is_kept) = (outcomes.lines.get(url), outcomes.kept.contains(url));
        match self.becomes {
            Kept => is_kept && line.is_none(),
            KeptWith(expected) => is_kept && line.is_some_and(|(reason, _)| reason == expected),
            Skipped(expected, _) => {
                let is_right = |(reason, again): &(String, String)| {
                    reason == expected && again == self.again(found)
                };
                !is_kept && line.is_some_and(is_right)
            }
            Leads => outcomes.aliases.contains(url) && !is_kept,
        }
    }
}

/// Rows, each with a different text.
#[derive(Default)]
struct Zoo(Vec<Row>);

impl Zoo {
    fn add(
        &mut self,
        name: &'static str,
        becomes: Becomes,
        answer: impl FnOnce(&str) -> Vec<u8>,
    ) -> &mut Row {
        let answer = answer(&article(self.0.len()));
        self.0.push(Row { name, answer, becomes, requests_per_try: 1 });
        self.0.last_mut().unwrap()
    }

    /// Adds a response with these header lines and a length.
    fn headed(&mut self, name: &'static str, becomes: Becomes, head: &str) -> &mut Row {
        self.add(name, becomes, |body| framed(head, body.as_bytes()))
    }

    /// Adds a page with this element in its head.
    fn page(&mut self, name: &'static str, becomes: Becomes, element: &str) -> &mut Row {
        self.add(name, becomes, |body| {
            framed(HTML, body.replace("<head>", &format!("<head>{element}")).as_bytes())
        })
    }

    fn body(
        &mut self,
        name: &'static str,
        becomes: Becomes,
        head: &str,
        of: impl FnOnce(&str) -> Vec<u8>,
    ) -> &mut Row {
        self.add(name, becomes, |body| framed(head, &of(body)))
    }
}

const HTML: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

fn framed(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    answer
}

/// The text of row `number`; all texts differ.
fn article(number: usize) -> String {
    format!(
        "<html><head><title>Row {number}</title></head><body><h1>Row {number}</h1><p>{}</p></body></html>",
        prose(number as u64 + 1, 12)
    )
}

/// A server of all rows, and the requests that it got, by path.
#[derive(Clone, Debug)]
struct Host {
    port: u16,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Host {
    /// `/` links to each `/rowN` that is not a seed; redirects lead to `/target`.
    fn serve(rows: &Arc<Vec<Row>>, found: Found) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = Self { port, asked: Arc::default() };
        let (rows, asked) = (Arc::clone(rows), Arc::clone(&host.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (rows, asked) = (Arc::clone(&rows), Arc::clone(&asked));
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let Some((path, _)) = read_head(&mut stream) else { return };
                    *asked.lock().unwrap().entry(path.clone()).or_default() += 1;
                    let _ = stream.write_all(&answer(&path, &rows, port, found));
                });
            }
        });
        host
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn requests(&self, path: &str) -> usize {
        self.asked.lock().unwrap().get(path).copied().unwrap_or_default()
    }
}

fn path_of(number: usize) -> String {
    format!("/row{number}")
}

fn answer(path: &str, rows: &[Row], port: u16, found: Found) -> Vec<u8> {
    let row = path.strip_prefix("/row").and_then(|number| number.parse::<usize>().ok());
    match (path, row.and_then(|number| rows.get(number))) {
        (_, Some(row)) => {
            let text = String::from_utf8_lossy(&row.answer);
            match text.contains("PORT") {
                true => text.replace("PORT", &port.to_string()).into_bytes(),
                false => row.answer.clone(),
            }
        }
        ("/", _) => {
            let links: String = (0..rows.len())
                .filter(|number| !rows[*number].is_seed(found))
                .map(|number| format!("<a href={}>{number}</a> ", path_of(number)))
                .collect();
            framed(HTML, format!("<title>Zoo</title><p>{}</p>{links}", prose(5_000, 12)).as_bytes())
        }
        ("/target", _) => framed(HTML, article(9_999).as_bytes()),
        _ => framed("HTTP/1.1 404 Not Found\r\n", b"no"),
    }
}

/// The outcomes of a run, by URL.
struct Outcomes {
    kept: BTreeSet<String>,
    /// Reason and `again` of each skipped page.
    lines: BTreeMap<String, (String, String)>,
    /// Redirects to the target.
    aliases: BTreeSet<String>,
}

impl Outcomes {
    fn of(bench: &Bench, target: &str) -> Self {
        let mut lines = BTreeMap::new();
        for line in bench.log("skipped.jsonl") {
            let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            lines.insert(field("url"), (field("reason"), field("again")));
        }
        let discarded = bench.log("discarded.jsonl");
        let leads = |line: &&serde_json::Value| {
            let to = line["of"]["url"].as_str().unwrap_or_default();
            line["kind"] == "alias" && to.trim_end_matches('?') == target
        };
        let aliases = discarded.iter().filter(leads);
        let aliases = aliases.map(|line| line["url"].as_str().unwrap().to_owned()).collect();
        Self { kept: bench.kept().into_iter().collect(), lines, aliases }
    }
}

/// Runs the same command twice. Checks the outcome of each row, then the requests for it in the second run.
fn check(found: Found) {
    let rows = Arc::new(rows::zoo());
    assert!(rows.len() >= 150, "{}", rows.len());
    let common = Host::serve(&rows, found);
    let host_of = |row: &Row| match row.has_own_host() {
        true => Host::serve(&rows, found),
        false => common.clone(),
    };
    let hosts: Vec<Host> = rows.iter().map(host_of).collect();
    let url = |number: usize| hosts[number].url(&path_of(number));
    let mut seeds = vec![common.url("/")];
    seeds.extend((0..rows.len()).filter(|number| rows[*number].is_seed(found)).map(url));
    let bench = Bench::new();
    // All hosts share one IP address.
    let flags = ["--give-up-after", "1000"];
    let output = bench.crawl(&seeds, &flags);
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let target = common.url("/target");
    let outcomes = Outcomes::of(&bench, &target);
    let mut wrong = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let url = url(number);
        if !row.has_its_outcome(&url, &outcomes, found) {
            let (is_kept, line) = (outcomes.kept.contains(&url), outcomes.lines.get(&url));
            wrong.push(format!(
                "{number} {}: {:?}, found kept {is_kept}, line {line:?}",
                row.name, row.becomes
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(outcomes.kept.contains(&target), "{:?}", outcomes.kept);

    let requests = |number: usize| hosts[number].requests(&path_of(number));
    let kept = || ["/", "/target"].map(|path| common.requests(path));
    let (before, kept_before) = ((0..rows.len()).map(requests).collect::<Vec<_>>(), kept());
    bench.crawl(&seeds, &flags);
    for (number, row) in rows.iter().enumerate() {
        let expected = row.tries_in_second_run(found) * row.requests_per_try;
        let made = requests(number) - before[number];
        if made != expected {
            wrong.push(format!(
                "{number} {}: {:?}, {made} requests in the second run, not {expected}",
                row.name, row.becomes
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert_eq!(kept(), kept_before, "pages that are kept");
}

#[test]
fn each_server_response_has_its_documented_outcome() {
    check(Found::ByLinks);
}

#[test]
fn each_server_response_to_a_seed_has_its_documented_outcome() {
    check(Found::AsSeeds);
}

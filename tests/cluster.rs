use std::collections::{BTreeMap, HashMap};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::redis::RedisCluster;
use crate::support::{Bench, Page, Server, clock_library, code, html, json_lines, prose, text};

/// Hosts that share pages: text `n` is on two hosts, on one of them twice.
fn hosts(count: usize, pages: u64, wait: Duration) -> Vec<Server> {
    let web = |host: usize| -> HashMap<String, Page> {
        (0..pages)
            .map(|number| {
                let seed = match number % 3 {
                    // Texts of this host, twice, and of the next host.
                    0 => host as u64 * 1000 + number / 6,
                    1 => host as u64 * 1000 + 500 + number,
                    _ => (host as u64 + 1) % count as u64 * 1000 + 499 + number,
                };
                let next: String = [number * 2 + 1, number * 2 + 2]
                    .iter()
                    .filter(|next| **next < pages)
                    .map(|next| format!("<a href=/p{next}>n</a> "))
                    .collect();
                let path = if number == 0 { "/".to_owned() } else { format!("/p{number}") };
                let body = prose(seed + 1, 12);
                (path, html(format!("<nav>{next}</nav><main><p>{body}</p></main>")))
            })
            .collect()
    };
    (0..count).map(|host| Server::slow(web(host), wait)).collect()
}

fn seeds(servers: &[Server]) -> Vec<String> {
    servers.iter().map(|server| server.url("/")).collect()
}

/// The texts of all kept pages with their URLs, and the number of discarded pages.
fn kept(benches: &[&Bench]) -> (BTreeMap<String, Vec<String>>, usize) {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut discarded = 0;
    for bench in benches {
        for page in json_lines(bench.run(&["export", "--format", "jsonl"]).as_bytes()) {
            let text = page["text"].as_str().unwrap().to_owned();
            texts.entry(text).or_default().push(page["url"].as_str().unwrap().to_owned());
        }
        discarded += bench.log("discarded.jsonl").len();
    }
    (texts, discarded)
}

fn flags<'a>(address: &'a str, name: &'a str) -> Vec<&'a str> {
    vec!["--cluster", address, "--cluster-name", name, "--cluster-lease", "3s", "--delay", "10ms"]
}

fn finish(mut child: std::process::Child) -> i32 {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap();
        }
        if began.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("a worker does not come to an end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn three_workers_fetch_each_page_once_and_keep_each_text_once() {
    let Some(cluster) = RedisCluster::start() else { return };
    let address = cluster.address();
    let alone = {
        let servers = hosts(9, 18, Duration::ZERO);
        let bench = Bench::new();
        let output = bench.crawl(&seeds(&servers), &["--delay", "0s"]);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        kept(&[&bench])
    };
    let servers = hosts(9, 18, Duration::from_millis(3));
    let benches: Vec<Bench> = (0..3).map(|_| Bench::new()).collect();
    let flags = flags(&address, "three");
    let workers: Vec<_> = benches.iter().map(|b| b.spawn(&seeds(&servers), &flags)).collect();
    for worker in workers {
        assert_eq!(finish(worker), 0);
    }
    for server in &servers {
        let mut asked = server.asked();
        let all = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!((asked.len(), all), (18, 18), "each page of a host once");
    }
    let together = kept(&benches.iter().collect::<Vec<_>>());
    let twice: Vec<_> = together.0.values().filter(|urls| urls.len() > 1).collect();
    assert!(twice.is_empty(), "kept by two workers: {twice:?}");
    assert_eq!(together.0.keys().collect::<Vec<_>>(), alone.0.keys().collect::<Vec<_>>());
    assert_eq!(together.1, alone.1, "discarded");
    let worked = benches.iter().filter(|b| b.summary()["pages"]["fetched"] != 0).count();
    assert!(worked >= 2, "the work was shared");
    // Each discarded page names its kept page, even if another worker has it.
    let all: Vec<String> = together.0.values().flatten().cloned().collect();
    for line in benches.iter().flat_map(|bench| bench.log("discarded.jsonl")) {
        assert!(all.contains(&line["of"]["url"].as_str().unwrap().to_owned()), "{line}");
    }
    for bench in &benches {
        bench.run(&["check"]);
    }
    read_as_one(&benches, &together.0, together.1);
    let status = crate::support::printed(&[
        "status",
        "--cluster",
        &address,
        "--cluster-name",
        "three",
        "--json",
    ]);
    let status = &json_lines(status.as_bytes())[0];
    assert_eq!(
        (&status["queued_urls"], &status["documents"]),
        (&0.into(), &(9 * 18).into()),
        "{status}"
    );
    // A finished crawl is finished for new workers too.
    let late = Bench::new();
    let output = late.crawl(&seeds(&servers), &flags);
    assert_eq!(code(&output), 0);
    assert_eq!(late.summary()["pages"]["fetched"], 0, "{}", text(&output.stderr));
}

/// Reading commands treat several data directories as one.
fn read_as_one(benches: &[Bench], kept: &BTreeMap<String, Vec<String>>, discarded: usize) {
    let dirs: Vec<String> = benches
        .iter()
        .flat_map(|bench| ["--data".to_owned(), bench.data().display().to_string()])
        .collect();
    let run = |args: &[&str]| {
        let all: Vec<&str> = args.iter().copied().chain(dirs.iter().map(String::as_str)).collect();
        json_lines(crate::support::printed(&all).as_bytes())
    };
    let hits = run(&["search", "the", "--json"]);
    assert_eq!(hits.len(), kept.len());
    let copies: u64 = hits.iter().map(|hit| hit["copies"].as_u64().unwrap()).sum();
    assert_eq!(copies as usize, discarded);
    assert!(hits.is_sorted_by(|a, b| a["score"].as_f64() >= b["score"].as_f64()));
    let rows = run(&["duplicates", "list", "--json"]);
    assert_eq!(rows.len(), discarded);
    assert!(rows.is_sorted_by_key(|row| row["time"].as_str().unwrap().to_owned()));
    let clusters = run(&["duplicates", "clusters", "--json"]);
    let all: u64 = clusters.iter().map(|cluster| cluster["copies"].as_u64().unwrap()).sum();
    assert_eq!(all as usize, discarded);
    let stats = run(&["duplicates", "stats", "--json"]);
    assert_eq!(stats[0]["discarded"], discarded as u64);
    let status = run(&["status", "--json"]);
    assert_eq!(status[0]["pages"]["indexed"], kept.len() as u64);
    for row in &rows {
        let shown = run(&["duplicates", "show", row["url"].as_str().unwrap(), "--json"]);
        assert_eq!(shown[0]["text"], shown[0]["of_text"], "equal, wherever the other one lies");
        assert!(shown[0]["text"].as_str().unwrap().len() > 100, "{row}");
    }
    // One export of all directories is one corpus.
    let pages = run(&["export"]);
    let texts: BTreeMap<&str, &str> = pages
        .iter()
        .map(|page| (page["text"].as_str().unwrap(), page["url"].as_str().unwrap()))
        .collect();
    assert_eq!((pages.len(), texts.len()), (kept.len(), kept.len()), "no text twice");
    for page in &pages {
        let (url, host) = (page["url"].as_str().unwrap(), page["host"].as_str().unwrap());
        let own: Vec<_> = rows.iter().filter(|row| row["of"]["url"] == url).collect();
        let hosts = own.iter().map(|row| row["host"].as_str().unwrap()).chain([host]);
        let hosts: std::collections::BTreeSet<&str> = hosts.collect();
        assert_eq!(
            (&page["copies"], &page["hosts"]),
            (&own.len().into(), &hosts.len().into()),
            "{page}"
        );
        let times = own.iter().map(|row| &row["time"]).chain([&page["fetched"]]);
        let last = times.filter_map(|time| time.as_str()).max();
        assert!(
            page["last_seen"].as_str() <= last
                && page["fetched"].as_str() <= page["last_seen"].as_str(),
            "{page}"
        );
    }
    let copies: u64 = pages.iter().map(|page| page["copies"].as_u64().unwrap()).sum();
    assert_eq!(copies as usize, discarded);
    assert!(pages.iter().any(|page| page["hosts"].as_u64() > Some(1)), "some are on two hosts");
    // So is the stream: its pages are those of the export.
    let mut streamed = std::collections::BTreeSet::new();
    for event in run(&["stream"]) {
        let url = event["url"].as_str().unwrap().to_owned();
        match event["event"].as_str().unwrap() {
            "kept" | "changed" | "restored" => {
                // A better page may have replaced it later; then a later event removes it.
                if let Some(page) = pages.iter().find(|page| page["url"] == url.as_str()) {
                    for name in
                        ["copies", "hosts", "first_seen", "last_seen", "fingerprint", "data"]
                    {
                        assert_eq!(event[name], page[name], "{name}: {event}");
                    }
                }
                streamed.insert(url)
            }
            _ => streamed.remove(&url),
        };
    }
    assert_eq!(streamed, texts.values().map(|url| (*url).to_owned()).collect());
    let restore =
        crate::support::crawl().args(["duplicates", "restore", "1"]).args(&dirs).output().unwrap();
    assert_eq!(code(&restore), 1, "a change is one directory's");
}

#[test]
fn a_killed_worker_and_a_killed_master_lose_nothing() {
    let Some(mut cluster) = RedisCluster::start() else { return };
    let address = cluster.address();
    let servers = hosts(8, 40, Duration::from_millis(5));
    let benches: Vec<Bench> = (0..2).map(|_| Bench::new()).collect();
    let flags = flags(&address, "killed");
    let first = benches[0].spawn(&seeds(&servers), &flags);
    let mut second = benches[1].spawn(&seeds(&servers), &flags);
    std::thread::sleep(Duration::from_millis(700));
    second.kill().unwrap();
    second.wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let master = cluster.masters()[0];
    cluster.kill(master);
    let second = benches[1].spawn(&seeds(&servers), &flags);
    assert_eq!(finish(first), 0);
    assert_eq!(finish(second), 0);
    let all: usize = servers
        .iter()
        .map(|server| {
            let mut asked = server.asked();
            asked.sort();
            asked.dedup();
            asked.len()
        })
        .sum();
    let summaries = benches.iter().map(Bench::summary).collect::<Vec<_>>();
    assert_eq!(all, 8 * 40, "every page was fetched: {summaries:?}");
    let (texts, discarded) = kept(&benches.iter().collect::<Vec<_>>());
    let alone = {
        let servers = hosts(8, 40, Duration::ZERO);
        let bench = Bench::new();
        bench.crawl(&seeds(&servers), &["--delay", "0s"]);
        kept(&[&bench])
    };
    assert_eq!(texts.keys().collect::<Vec<_>>(), alone.0.keys().collect::<Vec<_>>());
    let kept_pages: usize = texts.values().map(Vec::len).sum();
    assert!(kept_pages + discarded >= 8 * 40, "{kept_pages} and {discarded}");
    assert!(kept_pages <= texts.len() + 8, "{kept_pages} pages of {} texts", texts.len());
}

#[test]
fn a_returning_worker_drops_the_pages_that_others_took_over() {
    let Some(cluster) = RedisCluster::start() else { return };
    let address = cluster.address();
    let flags = flags(&address, "back");
    let servers = hosts(3, 12, Duration::ZERO);
    let benches: Vec<Bench> = (0..2).map(|_| Bench::new()).collect();
    assert_eq!(code(&benches[0].crawl(&seeds(&servers), &flags)), 0);
    let alone = kept(&[&benches[0]]);
    // The cluster has lost all results, and another worker repeats them.
    for master in cluster.masters() {
        cluster.cli(master, &["flushall"]);
    }
    assert_eq!(code(&benches[1].crawl(&seeds(&servers), &flags)), 0);
    assert_eq!(kept(&[&benches[1]]).0.len(), alone.0.len());
    assert_eq!(code(&benches[0].crawl(&seeds(&servers), &flags)), 0);
    let both = kept(&[&benches[0], &benches[1]]).0;
    let twice: Vec<_> = both.values().filter(|urls| urls.len() > 1).collect();
    assert_eq!((twice, both.len()), (Vec::new(), alone.0.len()));
    let given_up = benches[0].log("skipped.jsonl");
    let given_up = given_up.iter().filter(|line| line["reason"] == "lease-lost").count();
    assert_eq!(given_up, alone.0.len(), "each says why");
    benches[0].run(&["check"]);
    // Its pages remain when the worker returns.
    assert_eq!(code(&benches[1].crawl(&seeds(&servers), &flags)), 0);
    assert_eq!(kept(&[&benches[1]]).0.len(), alone.0.len());
}

#[test]
fn clocks_that_are_off_by_a_minute_break_no_politeness() {
    let Some(library) = clock_library() else { return };
    let Some(cluster) = RedisCluster::start() else { return };
    let address = cluster.address();
    let servers = hosts(4, 12, Duration::ZERO);
    let benches: Vec<Bench> = (0..3).map(|_| Bench::new()).collect();
    let flags = ["--cluster", &address, "--cluster-name", "clocks", "--delay", "200ms"];
    let workers: Vec<_> = benches
        .iter()
        .zip(["+60s", "-60s", "+0s"])
        .map(|(bench, skew)| {
            let mut command = bench.command(&seeds(&servers), &flags);
            command.env("LD_PRELOAD", library).env("FAKETIME", skew);
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for worker in workers {
        assert_eq!(finish(worker), 0);
    }
    for server in &servers {
        let asked = server.asked_at();
        assert_eq!(asked.len(), 12, "each page once");
        for (first, second) in asked.iter().zip(asked.iter().skip(1)) {
            let pause = second.1.duration_since(first.1);
            // Network delay may shorten the observed pause.
            assert!(pause >= Duration::from_millis(170), "{first:?}, {second:?}: {pause:?}");
        }
    }
}

#[test]
fn a_cluster_that_cannot_be_used_is_an_error_before_anything_is_fetched() {
    let server = Server::start(HashMap::from([("/".to_owned(), html("<p>x"))]));
    let bench = Bench::new();
    for (address, said) in
        [("localhost:7000", "redis://HOST:PORT"), ("redis://127.0.0.1:1", "could not be used")]
    {
        let output = bench.crawl(&[server.url("/")], &["--cluster", address]);
        assert_eq!(code(&output), 1, "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
    assert_eq!(server.asked().len(), 0);
    let Some(mut cluster) = RedisCluster::start() else { return };
    let address = cluster.address();
    let flags = flags(&address, "other");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    let other = Bench::new();
    let output = other
        .crawl(&[server.url("/")], &[&flags[..], &["--recipe", "character-4-grams-5"]].concat());
    let error = text(&output.stderr);
    assert_eq!(code(&output), 1, "{error}");
    assert!(error.contains("recipe"), "{error}");
    // Masters that refuse writes, then half of a cluster.
    let refused = |why: &[&str]| {
        let output = other.crawl(&[server.url("/")], &flags);
        let error = text(&output.stderr);
        assert_eq!(code(&output), 1, "{error}");
        assert!(
            error.contains("could not be used") && why.iter().any(|why| error.contains(why)),
            "{error}"
        );
    };
    for master in cluster.masters() {
        cluster.cli(master, &["config", "set", "min-replicas-to-write", "9"]);
    }
    refused(&["NOREPLICAS"]);
    (0..4).for_each(|node| cluster.kill(node));
    refused(&["CLUSTERDOWN", "refused", "NOREPLICAS"]);
    assert_eq!(server.asked().len(), 1, "by the first crawl alone");
}

#[test]
fn a_worker_that_loses_its_cluster_ends_as_one_that_cannot_write() {
    let Some(mut cluster) = RedisCluster::start() else { return };
    let servers = hosts(1, 200, Duration::from_millis(100));
    let bench = Bench::new();
    let address = cluster.address();
    let mut command = bench.command(&seeds(&servers), &flags(&address, "lost"));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let worker = command.spawn().unwrap();
    let began = Instant::now();
    while servers[0].asked().len() < 5 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is fetched");
        std::thread::sleep(Duration::from_millis(20));
    }
    (0..6).for_each(|node| cluster.kill(node));
    let output = worker.wait_with_output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(code(&output), 6, "{error}");
    assert!(error.contains("could not be used") && error.contains("to continue"), "{error}");
}

#[test]
fn a_later_run_requests_deferred_pages_and_lifted_refusals_but_no_failed_seed() {
    let Some(cluster) = RedisCluster::start() else { return };
    let page = |seed: u64, links: &str| {
        html(format!("<title>Page {seed}</title><p>{}</p>{links}", prose(seed, 12)))
    };
    let site = Server::start(HashMap::from([
        ("/".to_owned(), page(1, "<a href=/a>a</a>")),
        ("/a".to_owned(), page(2, "<a href=/deep>deep</a>")),
        ("/deep".to_owned(), page(3, "")),
    ]));
    let busy = Page { status: "503 Busy", headers: String::new(), body: b"busy".to_vec() };
    let busy = Server::start(HashMap::from([("/".to_owned(), busy)]));
    let seeds = [site.url("/"), site.url("/gone"), busy.url("/")];
    let address = cluster.address();
    let flags = flags(&address, "later");
    let [first, other] = [Bench::new(), Bench::new()];
    let asked = |bench: &Bench, depth: &str| {
        let output = bench.crawl(&seeds, &[&flags[..], &["--max-depth", depth]].concat());
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let count = |path: &str| site.asked().iter().filter(|asked| *asked == path).count();
        [count("/"), count("/gone"), count("/deep"), busy.asked().len()]
    };
    assert_eq!(asked(&first, "1"), [1, 1, 0, 3]);
    assert_eq!(asked(&first, "1"), [1, 1, 0, 6], "only the deferred page");
    assert_eq!(asked(&other, "2"), [1, 1, 0, 9], "another worker's refusals are not lifted");
    assert_eq!(asked(&first, "2"), [1, 1, 1, 12]);
    assert_eq!(first.exported().len(), 3);
}

#[test]
fn bounds_of_the_queue_are_refused_where_many_workers_share_it() {
    for flag in [["--max-queued-per-host", "10"], ["--max-queue", "1MiB"]] {
        let bench = Bench::new();
        let flags = [&["--cluster", "redis://127.0.0.1:1"][..], &flag[..]].concat();
        let output = bench.crawl(&["http://127.0.0.1:1/".to_owned()], &flags);
        let said = text(&output.stderr);
        assert_eq!(code(&output), 1, "{said}");
        assert!(said.contains(flag[0]) && said.contains("--cluster"), "{said}");
    }
}

#[test]
fn references_are_refused_where_many_workers_share_a_crawl() {
    let bench = Bench::new();
    let flags = ["--cluster", "redis://127.0.0.1:1", "--against", "store"];
    let output = bench.crawl(&["http://127.0.0.1:1/".to_owned()], &flags);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("--against") && said.contains("--cluster"), "{said}");
}

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::helpers::pipe;
use crate::support::{Bench, Server, code, crawl, html, json_lines, printed, prose, text, write};

#[test]
fn the_demo_keeps_each_text_once() {
    let bench = Bench::new();
    let output = crawl().arg("demo").arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("Complete."));
    // What the README says that it prints.
    for page in [include_str!("../README.md"), include_str!("../docs/start/stored-archives.md")] {
        let counts = |text: &str| {
            let from = text.find("exact ").unwrap();
            text[from..].split([';', '\n']).next().unwrap().to_owned()
        };
        assert_eq!(counts(&said), counts(page));
    }
    for (query, expected) in
        [("winch harbour", 1), ("quarry customers", 1), ("邮递员", 1), ("heather beekeeper", 1)]
    {
        let found = bench.run(&["search", query, "--json"]);
        assert_eq!(found.lines().count(), expected, "{query}: {found}");
    }
    assert!(bench.log("skipped.jsonl").iter().any(|line| line["reason"] == "robots"));
    // `demo` may overwrite a folder that it made.
    let output = crawl().arg("demo").arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    // `check` also reads the log of skipped pages.
    let path = bench.data().join("skipped.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    let lines = format!("skipped   {} lines", log.lines().count());
    assert!(bench.run(&["check"]).contains(&lines), "{}", bench.run(&["check"]));
    let check = || crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
    std::fs::write(&path, log.replacen('{', "[", 1)).unwrap();
    assert_eq!(code(&check()), 2);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code(&check()), 2);
}

#[test]
fn extract_says_why_and_fingerprint_names_the_file() {
    let bench = Bench::new();
    let page = bench.path("page.html");
    write(
        &page,
        format!(
            "<title>T</title><nav><a href=../up.html>Up</a><a href=/root>Home</a></nav><div class=related>See also this and that</div><p>{}</p>",
            prose(1, 8)
        ),
    );
    let output = crawl().arg("extract").arg(&page).output().unwrap();
    let row = &json_lines(&output.stdout)[0];
    assert_eq!((row["title"].as_str(), row["language"].as_str()), (Some("T"), Some("en")));
    let blocks = row["blocks"].as_array().unwrap();
    assert!(
        blocks
            .iter()
            .any(|b| b["kept"] == false && b["reason"].as_str().unwrap().contains("class")),
        "{row}"
    );
    assert_eq!(row["links"], serde_json::json!(["../up.html", "/root"]));
    let output = crawl().arg("fingerprint").arg(&page).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        format!("{}\t{}\n", row["fingerprint"].as_str().unwrap(), page.display())
    );
    let output =
        crawl().args(["extract", "--text"]).arg(&page).arg(bench.path("missing")).output().unwrap();
    assert_eq!(code(&output), 7);
    assert!(
        text(&output.stdout).starts_with("When the") && text(&output.stderr).contains("missing")
    );
}

/// If a change alters a recipe's fingerprints, the recipe needs a new name.
#[test]
fn fingerprints_of_a_recipe_never_change() {
    let bench = Bench::new();
    let (english, chinese) = (bench.path("en.html"), bench.path("zh.html"));
    let river = "When the river rose in the spring, the people of the village moved their animals to the hill. \
                 The river had risen before, and the hill had kept the animals of the village dry.";
    write(
        &english,
        format!(
            "<title>River</title><h1>The river</h1><p>{river}</p><p>{river} So it went in each of the years.</p><p><img src=/a.png alt=hill><img src=/b.png alt=boat><img src=/c.png alt=cows></p>"
        ),
    );
    let water = "春天河水上涨的时候，村里的人把牲口赶到山上，在那里等到河水退去，因为他们每年都是这样做的。";
    write(&chinese, format!("<title>河水</title><p>{water}</p><p>{water}山上很冷。</p>"));
    for (recipe, en, zh) in [
        ("content-words-tf-4", "89c8284d28eaa91f", "b9fbbf6379aafdc4"),
        ("segmented-words-fnv1-utf16-4", "d89cc01ceafbac7e", "0f63bd07b501f057"),
        ("stopword-shingles-4", "80c9bfb56ff14d8f", "e5d61e0b08bb4d3c"),
        ("token-window-4-4", "f13fd0d6e6216b91", "941ca8951ea4a845"),
        ("character-4-grams-4", "20595344acd94e7d", "0adbb9389ba3700a"),
        ("characters-and-values-4", "cb0e747db888fa11", "99d6b86123552ad8"),
        ("content-words-images-4", "8948684d28caa91f", "b9fbbf6379aafdc4"),
        ("content-words-tf-5", "89c8284d28eaa91f", "b9fbbf6379aafdc4"),
        ("segmented-words-fnv1-utf16-5", "d89cc01ceafbac7e", "0f63bd07b501f057"),
        ("stopword-shingles-5", "80c9bfb56ff14d8f", "e5d61e0b08bb4d3c"),
        ("token-window-4-5", "f13fd0d6e6216b91", "941ca8951ea4a845"),
        ("character-4-grams-5", "20595344acd94e7d", "0adbb9389ba3700a"),
        ("characters-and-values-5", "cb0e747db888fa11", "99d6b86123552ad8"),
        ("content-words-images-5", "8948684d28caa91f", "b9fbbf6379aafdc4"),
        ("content-words-tf-6", "89c8284d28eaa91f", "b9fbbf6379aafdc4"),
        ("segmented-words-fnv1-utf16-6", "d89cc01ceafbac7e", "0f63bd07b501f057"),
        ("stopword-shingles-6", "80c9bfb56ff14d8f", "e5d61e0b08bb4d3c"),
        ("token-window-4-6", "f13fd0d6e6216b91", "941ca8951ea4a845"),
        ("character-4-grams-6", "20595344acd94e7d", "0adbb9389ba3700a"),
        ("characters-and-values-6", "cb0e747db888fa11", "99d6b86123552ad8"),
        ("content-words-images-6", "8948684d28caa91f", "b9fbbf6379aafdc4"),
    ] {
        let args = ["fingerprint", "--recipe", recipe];
        let output = crawl().args(args).args([&english, &chinese]).output().unwrap();
        let printed = text(&output.stdout);
        let found: Vec<&str> = printed.split_whitespace().step_by(2).collect();
        assert_eq!(found, [en, zh], "{recipe}");
    }
}

#[test]
fn stored_pages_take_the_same_way() {
    let bench = Bench::new();
    let folder = bench.path("tree");
    std::fs::create_dir(&folder).unwrap();
    write(&folder.join("a.html"), format!("<title>A</title><p>{}</p>", prose(1, 9)));
    write(
        &folder.join("b.html"),
        format!("<title>A</title><div>Ad</div><p>{}</p><p>End.</p>", prose(1, 9)),
    );
    write(&folder.join("c.txt"), prose(2, 9));
    let args = ["pages", folder.to_str().unwrap()];
    let out = bench.run(&args);
    assert!(out.starts_with("3 pages"), "{out}");
    assert_eq!(bench.log("discarded.jsonl").len(), 1);
    assert!(bench.run(&["search", "when", "--json"]).lines().count() == 2);
    // The second time every page is known.
    assert!(bench.run(&args).contains("known before             3"));
    // The name in the line has priority over the page's content.
    let line = serde_json::json!({
        "id": "x", "url": "http://a.example/x", "title": "Given", "html": format!("<title>Own</title><p>{}</p>", prose(5, 9)),
    });
    let data = bench.path("lines");
    let (code, _, error) = pipe(&["pages", "-"], Some(&data), &format!("{line}\n"));
    assert_eq!(code, 0, "{error}");
    let found = crawl().args(["search", "given", "--data"]).arg(&data).output().unwrap();
    assert!(text(&found.stdout).contains("Given"), "{}", text(&found.stdout));
}

#[test]
fn a_missing_data_directory_is_no_success() {
    let bench = Bench::new();
    for args in [["search", "x"], ["duplicates", "list"], ["status", "--json"]] {
        let output = crawl().args(args).arg("--data").arg(bench.path("none")).output().unwrap();
        assert_eq!(code(&output), 1);
        assert!(text(&output.stderr).contains("not a data directory"), "{}", text(&output.stderr));
    }
}

/// Similar numbers, more than fit into the least memory.
#[cfg(target_os = "linux")]
fn many_near(bench: &Bench) -> std::path::PathBuf {
    let mut lines = String::new();
    for number in 0..120_000u64 {
        let base = (number / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        lines += &format!("{}\n", base ^ (1 << (number % 4)));
    }
    let path = bench.path("numbers");
    std::fs::write(&path, lines).unwrap();
    path
}

#[cfg(target_os = "linux")]
#[test]
fn a_search_ends_where_its_results_cannot_be_written() {
    let bench = Bench::new();
    let numbers = many_near(&bench);
    let search = |command: &str, output: &str, memory: &str| {
        let mut search = crawl();
        search.args([command, "--memory", memory, "--output", output, "--input"]).arg(&numbers);
        let output = search.output().unwrap();
        (code(&output), text(&output.stderr))
    };
    let (exit, said) = search("find-all", "/dev/null", "64KiB");
    assert_eq!(exit, 0, "{said}");
    for (command, memory) in
        [("find-all", "64KiB"), ("find-all", "1GiB"), ("find-clusters", "1GiB")]
    {
        let (exit, said) = search(command, "/dev/full", memory);
        assert_eq!((exit, said.contains("No space left")), (6, true), "{command}: {said}");
    }
    // A reader that closes the pipe early is not an error.
    let mut search = crawl();
    search.args(["find-all", "--memory", "64KiB", "--input"]).arg(&numbers);
    let mut child = search.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((code(&ended), text(&ended.stderr).as_str()), (0, ""));
}

#[test]
fn find_all_and_find_clusters_speak_the_known_format() {
    let (exit, out, _) =
        pipe(&["find-all", "--blocks", "5", "--distance", "4"], None, "10\n20\n10\n");
    assert_eq!((exit, out.as_str()), (0, "[10, 10]\n[10, 20]\n"));
    let (exit, out, _) =
        pipe(&["find-clusters", "-b", "5", "-d", "4"], None, "10\n20\n10\n99999999\n");
    assert_eq!((exit, out.as_str()), (0, "[10, 10, 20]\n"));
    let (exit, _, err) = pipe(&["find-all"], None, "1\nx\n");
    assert_eq!(exit, 1);
    assert!(err.contains("stdin:2: not a number below 2^64: \"x\""), "{err}");
    let (exit, _, err) = pipe(&["find-all", "-b", "3"], None, "1\n");
    assert!(exit == 1 && err.contains("--blocks 3"), "{err}");

    // The examples of those tools, from a file into a file.
    let bench = Bench::new();
    let (input, output) = (bench.path("in"), bench.path("out"));
    let lane = [0xff_u64, 0xef, 0xee, 0xce, 0x33];
    let lines = (0..4).flat_map(|shift| lane.map(|byte| format!("{}\n", byte << (8 * shift))));
    std::fs::write(&input, lines.collect::<String>()).unwrap();
    for (command, lines, line) in
        [("find-all", 24, "[206, 238]"), ("find-clusters", 4, "[206, 238, 239, 255]")]
    {
        let mut run = crawl();
        run.args([command, "--blocks", "6", "--distance", "3", "--input"]).arg(&input);
        let run = run.arg("--output").arg(&output).output().unwrap();
        assert_eq!((code(&run), text(&run.stdout)), (0, String::new()), "{}", text(&run.stderr));
        let found = std::fs::read_to_string(&output).unwrap();
        assert_eq!(found.lines().count(), lines, "{found}");
        assert!(found.lines().any(|found| found == line), "{found}");
    }
}

#[test]
fn explain_shows_every_stage_and_why_two_pages_are_one() {
    let bench = Bench::new();
    let page = |name: &str, text: &str, ad: &str| {
        let path = bench.path(name);
        write(
            &path,
            format!(
                "<title>The river</title><nav><a href=/>Home</a></nav><p>{text}</p><div class=ad>{ad}</div>"
            ),
        );
        path.display().to_string()
    };
    let (a, b, c) = (
        page("a", &prose(1, 12), "x"),
        page("b", &prose(1, 12), "y"),
        page("c", &prose(2, 12), "x"),
    );
    let one = printed(&["explain", &a]);
    for wanted in [
        "charset",
        "language     en",
        "keep ",
        "navigation, footer or aside",
        "fingerprint",
        "weights",
        "table 3",
    ] {
        assert!(one.contains(wanted), "{wanted}: {one}");
    }
    let same =
        printed(&["explain", &a, &b, "--url", "http://x.example/1", "--url", "http://y.example/2"]);
    assert!(
        same.contains("text         equal") && same.contains("verdict      duplicates"),
        "{same}"
    );
    let other: serde_json::Value =
        serde_json::from_str(&printed(&["explain", &a, &c, "--json"])).unwrap();
    assert_eq!(other["duplicates"], false, "{other}");
    assert!(other["why"].as_str().unwrap().starts_with("different pages"), "{other}");
    // An oversized file is refused before it is read.
    let large = bench.path("large.html");
    std::fs::File::create(&large).unwrap().set_len((32 << 20) + 1).unwrap();
    let large = crawl().args(["explain", large.to_str().unwrap()]).output().unwrap();
    assert_eq!(code(&large), 7);
    assert!(text(&large.stderr).contains("larger than 32 MiB"), "{}", text(&large.stderr));
    let missing = crawl().args(["explain", "no-such-file"]).output().unwrap();
    assert_eq!(code(&missing), 7);
    assert!(text(&missing.stderr).contains("no-such-file"), "{}", text(&missing.stderr));
}

#[test]
fn calibrate_samples_the_archive_of_a_crawl() {
    let page = |at: u64| html(format!("<p>{}</p><a href=/{}>next</a>", prose(at, 12), at + 1));
    let server = Server::start((0..30).map(|at| (format!("/{at}"), page(at))).collect());
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/0")], &[])), 0);
    let measured = |flags: &[&str]| -> serde_json::Value {
        serde_json::from_str(&bench.run(&[&["calibrate", "--json"], flags].concat())).unwrap()
    };
    assert_eq!(measured(&[])["pages"], 30);
    let sample = measured(&["--sample", "10"]);
    assert_eq!(sample["pages"], 10);
    assert_eq!(sample, measured(&["--sample", "10"]), "the same pages on every run");
    // The folder itself has no pages to read as files.
    let output = crawl().arg("calibrate").arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("crawl calibrate --data"), "{}", text(&output.stderr));
}

#[test]
fn calibrate_measures_ones_own_pages() {
    let bench = Bench::new();
    let folder = bench.path("pages");
    std::fs::create_dir(&folder).unwrap();
    for seed in 0..30u64 {
        for (copy, more) in
            ["", "And one more sentence that was not there before."].iter().enumerate()
        {
            write(
                &folder.join(format!("{seed}-{copy}.html")),
                format!("<p>{}</p><p>{more}</p>", prose(seed, 12)),
            );
        }
    }
    write(&folder.join("empty.html"), "<p></p>");
    let folder = folder.display().to_string();
    let all: serde_json::Value =
        serde_json::from_str(&printed(&["calibrate", &folder, "--json"])).unwrap();
    assert_eq!((all["pages"].as_u64(), all["alike_pairs"].as_u64()), (Some(60), Some(30)), "{all}");
    assert!(all["advice"]["similarity"].is_number(), "{all}");
    assert_eq!(all["without_text"], 1);
    // Another recipe results in other distances.
    let other = ["calibrate", &folder, "--json", "--recipe", "character-4-grams"];
    let other: serde_json::Value = serde_json::from_str(&printed(&other)).unwrap();
    assert_eq!(other["pages"], all["pages"]);
    assert_ne!(other, all);
    let wrong = crawl().args(["calibrate", &folder, "--recipe", "none"]).output().unwrap();
    assert_eq!(code(&wrong), 1);
    let told = printed(&["calibrate", &folder, "--pages", "1e6"]);
    for wanted in ["recall", "in 1,000,000 pages", "tables for 1,000,000 pages", "default policy:"]
    {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    // Too few pages give no advice.
    let few =
        ["0-0.html", "0-1.html", "1-0.html", "1-1.html"].map(|name| format!("{folder}/{name}"));
    let few: Vec<&str> =
        std::iter::once("calibrate").chain(few.iter().map(String::as_str)).collect();
    let told = printed(&few);
    assert!(told.contains("only 2 alike pairs") && !told.contains("default policy"), "{told}");
    assert!(told.contains("tables for 4 pages at distance 3"), "{told}");
    let told = printed(&[&few[..], &["--json"]].concat());
    assert!(told.contains("\"advice\":null"), "{told}");
    let nothing =
        crawl().args(["calibrate", &bench.path("none").display().to_string()]).output().unwrap();
    assert_eq!(code(&nothing), 7);
}

#[test]
fn a_data_directory_keeps_to_one_recipe() {
    let bench = Bench::new();
    let line = serde_json::json!({"id": "a", "text": prose(1, 10)}).to_string();
    let data = bench.data();
    let (exit, _, err) = pipe(&["dedup", "--recipe", "token-window-4"], Some(&data), &line);
    assert_eq!(exit, 0, "{err}");
    let (exit, _, err) = pipe(&["dedup"], Some(&data), &line);
    assert_eq!(exit, 1, "{err}");
    assert!(
        err.contains("--recipe token-window-4-6") && err.contains("content-words-tf-6"),
        "{err}"
    );
    // `check` accepts any recipe.
    assert!(bench.run(&["check"]).contains("1 in the journal"), "{}", bench.run(&["check"]));
    let (exit, _, err) = pipe(&["dedup", "--recipe", "nothing"], Some(&data), &line);
    assert_eq!(exit, 1);
    assert!(err.contains("unknown recipe. Recipes: content-words-tf-6"), "{err}");
    let file = bench.path("a.txt");
    write(&file, prose(1, 10));
    let fingerprint =
        |recipe: &str| printed(&["fingerprint", "--recipe", recipe, &file.display().to_string()]);
    assert_ne!(fingerprint("character-4-grams"), fingerprint("content-words-tf"));
}

/// Limits the address space so that a page of 10 MiB has 256 MiB in addition to the program's own need.
#[cfg(target_os = "linux")]
#[test]
fn a_page_of_ten_megabytes_takes_256_at_most() {
    let bench = Bench::new();
    let mut lines = String::new();
    // Distinct words of five letters.
    let letter =
        |number: u32, place: u32| char::from(b'a' + (number / 24u32.pow(place) % 24) as u8);
    let distinct = (0..1u32 << 21).map(|number| {
        let word: String = (0..5).map(|place| letter(number, place)).collect();
        word + " "
    });
    let distinct: String = distinct.collect();
    // One byte a character that takes three in UTF-8, and no word separators.
    let (thai, ..) = encoding_rs::WINDOWS_874.encode("กขคฆงจ");
    for (name, piece) in [
        ("distinct", &distinct.as_bytes()[..10 << 20]),
        ("paragraphs", b"<p>a b"),
        ("attributes", b"<p a=1 b=2 c=3>x</p>"),
        ("words", b"the cat sat on a mat "),
        ("han", "天地玄黄宇宙洪荒".as_bytes()),
        ("items", b"<li>the cat sat"),
        ("thai", &thai),
    ] {
        let path = bench.path(name);
        std::fs::write(&path, piece.repeat((10 << 20) / piece.len())).unwrap();
        let kind = if name == "thai" { "text/html; charset=windows-874" } else { "text/html" };
        let line = serde_json::json!({
            "id": name, "url": format!("http://a.example/{name}"), "path": path, "content_type": kind
        });
        lines.push_str(&format!("{line}\n"));
    }
    let mut child = crawl()
        .arg("dedup")
        .arg("--root")
        .arg(bench.path(""))
        .arg("--data")
        .arg(bench.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    // Sample private memory while it runs.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0u64;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let anonymous = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = anonymous.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(peak < 256 << 10, "{} MiB", peak >> 10);
    assert_eq!(text(&output.stdout).lines().count(), 7);
}

#[test]
fn a_running_crawl_serves_metrics_and_writes_its_log_file() {
    use std::io::{Read, Write};
    let pages = (0..30).map(|n| {
        let path = if n == 0 { "/".to_owned() } else { format!("/p{n}") };
        (path, html(format!("<a href=/p{}>next</a><p>{}</p>", n + 1, prose(n + 1, 12))))
    });
    let server = Server::slow(pages.collect(), std::time::Duration::from_millis(60));
    let bench = Bench::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (address, log) = (format!("127.0.0.1:{port}"), bench.path("crawl.log"));
    let flags = ["--metrics", &address, "--log-file", log.to_str().unwrap()];
    let mut child = bench.spawn(&[server.url("/")], &flags);
    let mut told = String::new();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let Ok(mut stream) = std::net::TcpStream::connect(&address) else { continue };
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        told.clear();
        stream.read_to_string(&mut told).unwrap();
        if !told.contains("hapax_responses_total 0\n") {
            break;
        }
    }
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    for name in [
        "hapax_urls_queued ",
        "hapax_discarded{kind=\"near\"} ",
        "# TYPE hapax_pages_fetched_total counter",
    ] {
        assert!(told.contains(name), "{name}: {told}");
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("complete: 30 fetched, 30 indexed, 0 discarded"), "{log}");
    assert!(!log.contains('\u{1b}'), "no colours in a file");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = bench.crawl(&[server.url("/")], &["--metrics", &address]);
    assert_eq!(code(&output), 1);
    assert!(
        text(&output.stderr).contains("--metrics: cannot listen on"),
        "{}",
        text(&output.stderr)
    );
    let nowhere = bench.path("no/such/folder/log");
    let output = bench.crawl(&[server.url("/")], &["--log-file", nowhere.to_str().unwrap()]);
    assert_eq!(code(&output), 1);
}

#[test]
fn the_status_names_each_host_with_its_counts() {
    let server = Server::start(
        [("/", html(format!("<p>{}</p><a href=/gone>x</a>", prose(1, 10))))]
            .map(|(path, page)| (path.to_owned(), page))
            .into(),
    );
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let host = server.url("").replace("http://", "");
    let line = |text: &str| {
        let line = text.lines().find(|line| line.trim_end().ends_with(&host)).unwrap().to_owned();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line(&bench.run(&["status"]))[..4], ["0", "1", "0", "1"], "queued to failed");
    // The next run continues these counts.
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(line(&bench.run(&["status"]))[..4], ["0", "1", "0", "1"]);
}

#[test]
fn the_help_of_each_command_has_an_example() {
    let mut checked = 0;
    let mut groups = vec![vec![]];
    while let Some(group) = groups.pop() {
        let help = printed(&[&group[..], &["--help"]].concat());
        let names = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
        let names = names.take_while(|line| !line.is_empty());
        let names = names.filter(|line| !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            let command = [&group[..], &[name.to_owned().leak() as &str]].concat();
            let help = printed(&[&command[..], &["--help"]].concat());
            assert!(help.contains("Example"), "{command:?}");
            checked += 1;
            if help.lines().any(|line| line.starts_with("Commands:")) {
                groups.push(command);
            }
        }
    }
    assert!(checked > 35, "{checked}");
}

#[test]
fn single_stages_agree_on_what_a_file_is_and_refuse_what_is_no_page() {
    let bench = Bench::new();
    let body = format!("{} <b>bold</b> words", prose(3, 12));
    for name in ["t.txt", "t.html", "t"] {
        write(&bench.path(name), &body);
    }
    let fingerprints = |name: &str| -> Vec<String> {
        let path = bench.path(name).display().to_string();
        let row = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let extracted = row(printed(&["extract", &path]))["fingerprint"].clone();
        let explained = row(printed(&["explain", &path, "--json"]))["fingerprint"].clone();
        let alone = printed(&["fingerprint", &path]);
        let given = serde_json::json!({"id": name, "path": path}).to_string();
        write(&bench.path("lines"), &given);
        let lines = std::fs::File::open(bench.path("lines")).unwrap();
        let data = bench.path(&format!("{name}-data"));
        let mut command = crawl();
        command.arg("dedup").arg("--root").arg(bench.path("")).arg("--data").arg(data);
        let dedup = command.stdin(lines).output().unwrap();
        let decided = row(text(&dedup.stdout))["fingerprint"].clone();
        let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
        vec![word(extracted), word(explained), alone[..16].to_owned(), word(decided)]
    };
    for name in ["t.txt", "t.html", "t"] {
        let all = fingerprints(name);
        assert!(all.iter().all(|one| *one == all[0]), "{name}: {all:?}");
    }
    assert_eq!(fingerprints("t.txt"), fingerprints("t"), "its bytes say text");
    let picture = bench.path("p.png").display().to_string();
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let page = bench.path("t.html").display().to_string();
    for command in ["extract", "fingerprint"] {
        let output = crawl().args([command, &picture, &page]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((code(&output), text(&output.stdout).lines().count()), (7, 1), "{command}");
        assert!(said.contains("p.png: not HTML or text"), "{said}");
    }
    let given = serde_json::json!({"id": "p", "path": picture}).to_string();
    write(&bench.path("lines"), &given);
    let lines = std::fs::File::open(bench.path("lines")).unwrap();
    let mut command = crawl();
    command.arg("dedup").arg("--root").arg(bench.path("")).arg("--data").arg(bench.data());
    let output = command.stdin(lines).output().unwrap();
    assert_eq!(code(&output), 7);
    assert!(text(&output.stdout).contains("not HTML or text"), "{}", text(&output.stdout));
}

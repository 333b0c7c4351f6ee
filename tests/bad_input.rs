use std::collections::HashMap;
use std::process::Command;

use crate::helpers::pipe;
use crate::support::{Bench, Page, Server, code, crawl, html, json_lines, prose, text, write};

#[test]
fn bad_seeds_are_reported_before_any_request() {
    let bench = Bench::new();
    let run = |content: Option<&str>| {
        let path = bench.path("s.txt");
        let _ = std::fs::remove_file(&path);
        if let Some(content) = content {
            write(&path, content);
        }
        let output =
            crawl().arg("--seeds").arg(&path).arg("--data").arg(bench.data()).output().unwrap();
        assert_eq!(code(&output), 1);
        assert!(!bench.data().exists(), "nothing is made for a crawl that cannot begin");
        text(&output.stderr)
    };
    assert!(run(None).contains("cannot read the seeds in"));
    assert!(run(Some("")).contains("holds no URL"));
    assert!(
        run(Some("http://a.example/\nnot a url"))
            .contains("s.txt, line 2: \"not a url\" is no URL")
    );
    assert!(run(Some("ftp://a.example/")).contains("line 1"));
}

#[test]
fn wrong_words_get_a_hint_and_exit_1() {
    let output = crawl().args(["search", "  "]).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("the query is empty"), "{}", text(&output.stderr));
    let output = crawl().args(["--seed", "x"]).output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("--seeds"), "{}", text(&output.stderr));
    let bench = Bench::new();
    let config = bench.path("c.toml");
    write(&config, "max-page = 3\n");
    let output = crawl()
        .arg("--config")
        .arg(&config)
        .arg("--seeds")
        .arg(bench.seeds(&["http://127.0.0.1:9/".into()]))
        .output()
        .unwrap();
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("did you mean `max-pages`"), "{}", text(&output.stderr));
    let output = bench.crawl(&["http://127.0.0.1:9/".into()], &["--distance", "9"]);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
}

fn small_site() -> Server {
    Server::start(HashMap::from([("/".to_owned(), html(format!("<p>{}</p>", prose(1, 8))))]))
}

#[test]
fn a_directory_of_another_version_or_damaged_is_refused() {
    let server = small_site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let settings = bench.data().join("crawl.toml");
    let good = std::fs::read_to_string(&settings).unwrap();
    write(&settings, good.replace("version = 2", "version = 9"));
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("of version 9"), "{}", text(&output.stderr));
    write(&settings, good);

    let page = server.url("/");
    let index = std::fs::read_dir(bench.data().join("index")).unwrap();
    let mut files: Vec<_> = index.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "idx" || end == "store"));
    assert_eq!(files.len(), 2);
    for path in files {
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 5, whole.len() - 1] {
            write(&path, &whole[..length]);
            for words in [&["search", "when"][..], &["check"], &["export"], &["forget", &page]] {
                let output = crawl().args(words).arg("--data").arg(bench.data()).output().unwrap();
                let said = text(&output.stderr);
                assert_eq!(code(&output), 2, "{words:?}, {length} of {path:?}: {said}");
                assert!(!said.contains("panicked"), "{words:?}, {length} of {path:?}: {said}");
            }
        }
        write(&path, whole);
    }

    let journal = bench.data().join("dedup/journal-1");
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    write(&journal, bytes);
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("damaged at byte"), "{}", text(&output.stderr));

    let output = bench.crawl(&[server.url("/")], &["--fresh"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("Add --yes"), "{}", text(&output.stderr));
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--fresh", "--yes"])), 0);
}

#[test]
fn a_directory_held_by_another_process_is_refused_and_can_be_read() {
    let server = Server::slow(
        HashMap::from([("/".to_owned(), html("<p>x</p>"))]),
        std::time::Duration::from_secs(2),
    );
    let bench = Bench::new();
    let mut first = bench.spawn(&[server.url("/")], &[]);
    server.wait_for(0);
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 5, "{}", text(&output.stderr));
    assert!(bench.run(&["status"]).contains("is running here"));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(bench.run(&["status"]).contains("was interrupted by a kill"));
}

#[test]
fn a_place_that_cannot_be_written_is_exit_6() {
    let bench = Bench::new();
    let seeds = bench.seeds(&["http://127.0.0.1:9/".into()]);
    let file = bench.path("file");
    write(&file, "in the way");
    let output =
        crawl().arg("--seeds").arg(seeds).arg("--data").arg(file.join("data")).output().unwrap();
    assert_eq!(code(&output), 6, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write"), "{}", text(&output.stderr));
}

#[test]
fn a_full_disk_loses_nothing() {
    // A file size limit simulates the full disk: every write beyond it fails.
    let pages: HashMap<String, Page> = (0..60u64)
        .map(|n| {
            let path = if n == 0 { "/".to_owned() } else { format!("/p{n}") };
            (path, html(format!("<p>{}</p><a href=/p{}>next</a>", prose(n + 1, 400), n + 1)))
        })
        .collect();
    let server = Server::start(pages);
    let bench = Bench::new();
    let seeds = bench.seeds(&[server.url("/")]);
    let data = bench.data();
    let command = format!(
        "trap '' XFSZ; ulimit -f 3000; exec {} --seeds {} --data {} --delay 0s",
        env!("CARGO_BIN_EXE_crawl"),
        seeds.display(),
        data.display()
    );
    let mut stopped = None;
    // The frontier's file alone exceeds a small limit, so raise it until the crawl starts.
    for blocks in [600, 1200, 2500, 5000] {
        let command = command.replace("3000", &blocks.to_string());
        let output = Command::new("bash").arg("-c").arg(command).output().unwrap();
        if code(&output) == 6 {
            stopped = Some(text(&output.stderr));
        }
    }
    let message = stopped.expect("no limit stopped the crawl");
    assert!(message.contains("run the same command to continue"), "{message}");
    assert!(message.contains("File too large") || message.contains("cannot write"), "{message}");
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let summary = bench.summary();
    assert_eq!(
        (summary["pages"]["fetched"].as_u64(), &summary["complete"]),
        (Some(60), &true.into()),
        "{summary}"
    );
}

#[test]
fn seeds_that_cannot_be_fetched_are_exit_4() {
    let bench = Bench::new();
    let output = bench.crawl(&["http://127.0.0.1:9/".into()], &[]);
    assert_eq!(code(&output), 4, "{}", text(&output.stderr));
    let forbidden = Server::start(HashMap::from([(
        "/robots.txt".to_owned(),
        Page {
            status: "200 OK",
            headers: String::new(),
            body: b"User-agent: *\nDisallow: /".to_vec(),
        },
    )]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[forbidden.url("/")], &[])), 4);
    assert_eq!(bench.log("skipped.jsonl")[0]["reason"], "robots");
}

#[test]
fn a_page_cannot_lead_into_the_private_network() {
    let inside = small_site();
    let outside = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(format!(
                "<a href='http://127.0.0.1:{0}/'>1</a><a href='http://localhost:{0}/'>2</a><a href=/r>3</a>",
                inside.port
            )),
        ),
        (
            "/r".to_owned(),
            crate::support::redirect(&format!("http://[::ffff:127.0.0.1]:{}/", inside.port)),
        ),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[outside.url("/")], &["--scope", "any"])), 0);
    assert!(inside.asked().is_empty(), "{:?}", inside.asked());
    let refused = bench
        .log("skipped.jsonl")
        .iter()
        .filter(|line| line["reason"] == "private-address")
        .count();
    assert_eq!(refused, 3);
    let bench = Bench::new();
    bench.crawl(&[outside.url("/")], &["--scope", "any", "--allow-private", "127.0.0.0/8"]);
    assert!(!inside.asked().is_empty());
}

#[test]
fn an_invalid_setting_is_reported_before_anything_is_saved_or_removed() {
    let server = small_site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let wrong: [&[&str]; 11] = [
        &["--include", "["],
        &["--recipe", "none"],
        &["--allow-private", "here"],
        &["--proxy", "here"],
        &["--header", "nothing"],
        &["--header", "Host: b.example"],
        &["--header", "user-agent: other"],
        &["--insecure", "https://a.example/"],
        &["--ignore-robots", "http://a.example:8080/"],
        &["--fresh", "--yes", "--recipe", "none"],
        &["--delay", "9999999999999999999s"],
    ];
    for flags in wrong {
        let output = bench.crawl(&[server.url("/")], flags);
        assert_eq!(code(&output), 1, "{flags:?}: {}", text(&output.stderr));
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0, "after {flags:?}");
        assert_eq!(bench.summary()["pages"]["fetched"], 1, "after {flags:?}");
    }
}

#[test]
fn files_that_no_crawl_wrote_are_never_removed() {
    let server = small_site();
    let bench = Bench::new();
    let own = bench.data().join("thesis.txt");
    std::fs::create_dir_all(bench.data()).unwrap();
    write(&own, "mine");
    let demo = crawl().arg("demo").arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&demo), 1, "{}", text(&demo.stderr));
    assert!(text(&demo.stderr).contains("is not empty"), "{}", text(&demo.stderr));
    // Nor are crawls of this machine's pages or crawls without seeds removed.
    let seeds = [server.url("/")];
    let local = Bench::new();
    assert_eq!(code(&local.crawl(&seeds, &[])), 0);
    let demo = crawl().arg("demo").arg("--data").arg(local.data()).output().unwrap();
    assert_eq!(code(&demo), 1, "{}", text(&demo.stderr));
    assert_eq!(local.summary()["pages"]["fetched"], 1);
    // A user's folders may have any name.
    let project = Bench::new();
    for name in ["hapax-demo", "demo", "pages"] {
        std::fs::create_dir_all(project.data().join(name)).unwrap();
        write(&project.data().join(name).join("own.txt"), "mine");
    }
    let demo = crawl().arg("demo").arg("--data").arg(project.data()).output().unwrap();
    assert_eq!(code(&demo), 1, "{}", text(&demo.stderr));
    assert!(project.data().join("pages/own.txt").exists());
    let output = bench.crawl(&seeds, &["--fresh"]);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    assert_eq!(code(&bench.crawl(&seeds, &["--fresh", "--yes"])), 0);
    assert_eq!(code(&bench.crawl(&seeds, &["--fresh", "--yes"])), 0);
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(bench.data().join("crawl.toml")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it may hold secrets");
    }
}

#[test]
fn refused_settings_are_not_saved_and_a_folder_without_a_crawl_is_an_error() {
    let server = small_site();
    let bench = Bench::new();
    let seeds = [server.url("/")];
    if cfg!(not(feature = "cluster")) {
        let output = bench.crawl(&seeds, &["--cluster", "redis://127.0.0.1:1"]);
        assert_eq!(code(&output), 1, "{}", text(&output.stderr));
        assert!(!bench.data().join("crawl.toml").exists());
    }
    std::fs::create_dir_all(bench.data()).unwrap();
    for words in [&["duplicates", "list"][..], &["duplicates", "stats"], &["inspect"]] {
        let output = crawl().args(words).arg("--data").arg(bench.data()).output().unwrap();
        assert_eq!(code(&output), 1, "{words:?}");
        assert!(text(&output.stderr).contains("contains no crawl"), "{words:?}");
    }
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
    // A setting that another build of the program saved can be reset.
    let path = bench.data().join("crawl.toml");
    let saved = std::fs::read_to_string(&path).unwrap();
    let cluster = "[settings]\ncluster = \"redis://127.0.0.1:1\"";
    std::fs::write(&path, saved.replacen("[settings]", cluster, 1)).unwrap();
    assert_eq!(code(&bench.crawl(&seeds, &["--cluster="])), 0);
    assert_eq!(code(&bench.crawl(&seeds, &[])), 0);
}

#[test]
fn check_finds_damage_in_every_part() {
    let server = small_site();
    let bench = Bench::new();
    let check = || crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
    std::fs::create_dir_all(bench.data()).unwrap();
    assert_eq!(code(&check()), 1, "no crawl");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert_eq!(code(&check()), 0, "{}", text(&check().stdout));
    let moved = bench.path("moved");
    for (name, file) in [
        ("frontier", "frontier/frontier.redb"),
        ("pages", "pages/pages-00001.warc.gz"),
        ("index", "index"),
    ] {
        let path = bench.data().join(file);
        std::fs::rename(&path, &moved).unwrap();
        if path.extension().is_some() {
            write(&path, "noise");
        }
        let output = check();
        let said = text(&output.stdout);
        assert_eq!(code(&output), 2, "{file}: {said}{}", text(&output.stderr));
        assert!(said.lines().any(|l| l.starts_with("DAMAGED") && l.contains(name)), "{said}");
        if path.is_file() {
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::rename(&moved, &path).unwrap();
    }
    assert_eq!(code(&check()), 0, "{}", text(&check().stdout));
}

#[test]
fn a_log_shorter_than_what_was_committed_is_refused_and_nothing_is_written() {
    let server = Server::start(HashMap::from([
        (
            "/".to_owned(),
            html(format!("<p>{}</p><a href=/copy>c</a><a href=/none>n</a>", prose(1, 9))),
        ),
        ("/copy".to_owned(), html(format!("<p>{}</p>", prose(1, 9)))),
    ]));
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    for name in ["discarded.jsonl", "skipped.jsonl"] {
        let path = bench.data().join(name);
        let whole = std::fs::read(&path).unwrap();
        assert!(!whole.is_empty(), "{name}");
        for left in [Some(&whole[..whole.len() - 1]), Some(&b""[..]), None] {
            match left {
                Some(left) => std::fs::write(&path, left).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let output = bench.crawl(&[server.url("/")], &[]);
            let said = text(&output.stderr);
            assert_eq!(code(&output), 2, "{name}: {said}");
            assert!(
                said.contains(name) && said.contains("Restore the file from a backup"),
                "{said}"
            );
            let there = std::fs::read(&path).ok();
            assert_eq!(there.as_deref(), left, "{name} was touched");
            let check = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
            assert_eq!((code(&check), text(&check.stdout).contains(name)), (2, true), "{name}");
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
}

#[test]
fn an_id_that_is_too_long_is_one_bad_line_among_others() {
    let bench = Bench::new();
    let line =
        |id: &str| format!("{{\"id\":\"{id}\",\"text\":\"{}\"}}\n", prose(id.len() as u64, 9));
    let input = [line("a"), line("b"), line(&"x".repeat(65_536)), line("c")].concat();
    let (code, out, err) = pipe(&["dedup"], Some(&bench.data()), &input);
    assert_eq!(code, 7, "{err}");
    let lines = json_lines(out.as_bytes());
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[2]["line"], lines[3]["id"].as_str()), (&3.into(), Some("c")));
    assert!(lines[2]["error"].as_str().unwrap().contains("65535"), "{}", lines[2]);
}

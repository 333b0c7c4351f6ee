//! Settings by flag, environment and file, and how to reset them.

use std::collections::HashMap;

use crate::helpers::article;
use crate::support::{Bench, Server, code, crawl, html, prose, text};

#[test]
fn environment_variables_set_lists_and_switches_and_flags_override_them() {
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html(format!("<p>{}</p><a href=/b>b</a><a href=/c>c</a>", prose(1, 9)))),
        ("/b".to_owned(), article(2)),
        ("/c".to_owned(), article(3)),
    ]));
    let bench = Bench::new();
    let run = |flags: &[&str]| {
        let mut command = bench.command(&[server.url("/")], flags);
        command.env("HAPAX_EXCLUDE", "/b$\n/never").env("HAPAX_NO_WARC", "true").output().unwrap()
    };
    assert_eq!(code(&run(&[])), 0);
    assert!(!bench.data().join("pages").exists());
    assert_eq!(server.asked(), ["/", "/c"]);
    // Flags override the environment and crawl.toml.
    assert_eq!(code(&run(&["--no-warc=false", "--exclude", ""])), 0);
    assert!(bench.data().join("pages").exists());
    assert_eq!(server.asked(), ["/", "/c", "/b"]);
    let wrong = crawl().args(["--seeds", "x"]).env("HAPAX_NO_INDEX", "perhaps").output().unwrap();
    assert_eq!(code(&wrong), 1, "{}", text(&wrong.stderr));
    assert!(text(&wrong.stderr).contains("--no-index"), "{}", text(&wrong.stderr));
}

#[test]
fn concurrency_limits_accept_any_number_from_one() {
    let server = Server::start(HashMap::from([("/".to_owned(), article(1))]));
    let bench = Bench::new();
    for flag in ["--concurrency", "--per-host"] {
        let refused = bench.crawl(&[server.url("/")], &[flag, "0"]);
        assert_eq!(code(&refused), 1, "{}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(flag), "{}", text(&refused.stderr));
    }
    let most = usize::MAX.to_string();
    let flags = ["--concurrency", &most, "--per-host", &most];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    assert_eq!(server.asked(), ["/"]);
}

#[test]
fn a_limit_can_be_removed_and_misspelt_environment_variables_are_reported() {
    let server = Server::start(HashMap::from([
        ("/".to_owned(), html(format!("<p>{}</p><a href=/b>b</a>", prose(1, 9)))),
        ("/b".to_owned(), article(2)),
    ]));
    let bench = Bench::new();
    let run = |flags: &[&str]| {
        let mut command = bench.command(&[server.url("/")], flags);
        // An empty variable counts as unset.
        command.env("HAPAX_MAX_BYTES", "").env("HAPAX_MAX_PAGE", "5").output().unwrap()
    };
    let output = run(&["--max-pages", "1", "--time-limit", "1h", "--max-bytes", "1GiB"]);
    assert_eq!(code(&output), 3, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("a larger --max-pages, or --max-pages none"));
    let said = text(&output.stderr);
    assert!(said.contains("did you mean HAPAX_MAX_PAGES?") && !said.contains("BYTES"), "{said}");
    assert_eq!(code(&run(&[])), 3, "it is remembered");
    let none = ["--max-pages", "none", "--time-limit", "none", "--max-bytes", "none"];
    assert_eq!(code(&run(&none)), 0);
    assert_eq!(code(&run(&[])), 0, "that too");
    assert_eq!(server.asked(), ["/", "/b"]);
    // A moved directory is reported by its new path.
    let moved = bench.path("moved");
    std::fs::rename(bench.data(), &moved).unwrap();
    let said = crawl().args(["status", "--data"]).arg(&moved).output().unwrap();
    let list = format!("crawl duplicates list --data {}", moved.display());
    assert!(text(&said.stdout).contains(&list), "{}", text(&said.stdout));
}

#[test]
fn a_file_says_where_data_and_log_go_below_environment_and_flag() {
    let bench = Bench::new();
    let page = bench.path("a.html");
    std::fs::write(&page, format!("<p>{}</p>", prose(1, 9))).unwrap();
    let [file, variable, flag, log] =
        ["file", "variable", "flag", "a.log"].map(|name| bench.path(name));
    let config = bench.path("c.toml");
    let quoted =
        |path: &std::path::Path| serde_json::Value::from(path.to_str().unwrap()).to_string();
    let text = format!("data = {}\nlog-file = {}\n", quoted(&file), quoted(&log));
    std::fs::write(&config, text).unwrap();
    let run = |set: Option<&std::path::Path>, flags: &[&str]| {
        let mut command = crawl();
        command.arg("pages").arg(&page).arg("--config").arg(&config).args(flags);
        command.env("HAPAX_DATA", set.unwrap_or(std::path::Path::new("")));
        assert_eq!(code(&command.output().unwrap()), 0);
    };
    run(None, &[]);
    assert!(file.join("crawl.toml").exists() && log.exists());
    run(Some(&variable), &[]);
    assert!(variable.join("crawl.toml").exists());
    run(Some(&variable), &["--data", flag.to_str().unwrap()]);
    assert!(flag.join("crawl.toml").exists());
    // These settings are not the crawl's, and are not saved.
    let saved = std::fs::read_to_string(file.join("crawl.toml")).unwrap();
    assert!(!saved.contains("data =") && !saved.contains("log-file"), "{saved}");
}

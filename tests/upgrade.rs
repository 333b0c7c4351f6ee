//! Data directories of earlier versions (tests/golden): they open, decide as before, and are upgraded.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::helpers::pipe;
use crate::support::{code, crawl, json_lines, text};

struct Golden {
    folder: tempfile::TempDir,
}

impl Golden {
    fn unpacked() -> Self {
        Self::of("format-3")
    }

    fn of(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = format!("tests/golden/{format}.tar.gz");
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(archive);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(archive).arg("-C").arg(folder.path());
        assert!(tar.status().unwrap().success());
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        json_lines(&std::fs::read(self.path(name)).unwrap())
    }

    /// `crawl COMMAND ARGS --data NAME`: exit code, output, errors.
    fn run(&self, name: &str, args: &[&str]) -> (i32, String, String) {
        let output = crawl().args(args).arg("--data").arg(self.path(name)).output().unwrap();
        (code(&output), text(&output.stdout), text(&output.stderr))
    }

    /// The page that contains a hidden word, with another address and another word.
    fn notes_with(&self, word: &str, id: &str) -> String {
        let lines = self.lines("pages.jsonl");
        let notes = lines.iter().find(|line| line["id"] == "http://valley.example/notes").unwrap();
        let html = notes["html"].as_str().unwrap().replace(WORD, word);
        json!({"id": id, "html": html}).to_string()
    }
}

/// A word of the golden pages, and one with the same 64-bit FNV-1a hash.
const WORD: &str = "jdkhlcfllcbaloji";
const TWIN: &str = "ooeaiibffnigdcni";

const CRAWLS: [&str; 4] = ["crawl", "stopped", "nowarc", "pages"];
/// Those that accept further pages; the other one has reached its `--max-pages`.
const OPEN: [&str; 3] = ["crawl", "nowarc", "pages"];

#[test]
fn a_directory_of_before_opens_with_everything_it_held() {
    let golden = Golden::unpacked();
    for name in CRAWLS.into_iter().chain(["dedup"]) {
        let (exit, out, err) = golden.run(name, &["check"]);
        assert_eq!(exit, 0, "{name}: {out}{err}");
        let (exit, out, err) = golden.run(name, &["status"]);
        assert!(exit == 0 && out.contains("crawl upgrade --data"), "{name}: {out}{err}");
    }
    for name in CRAWLS {
        let (exit, out, _) = golden.run(name, &["search", "--json", "valley"]);
        assert!(exit == 0 && json_lines(out.as_bytes()).len() >= 8, "{name}: {out}");
        let (exit, _, err) = golden.run(name, &["search", "--host", "valley.example", "valley"]);
        assert!(exit == 1 && err.contains("Run `crawl upgrade`"), "{name}: {err}");
        let (_, out, _) = golden.run(name, &["status"]);
        assert!(out.contains("finds main texts only"), "{name}: {out}");
        let logged = golden.lines(&format!("{name}/discarded.jsonl"));
        let (_, out, _) = golden.run(name, &["duplicates", "list", "--json"]);
        assert_eq!(json_lines(out.as_bytes()).len(), logged.len(), "{name}");
    }
    let (_, out, _) = golden.run("crawl", &["search", "石匠"]);
    assert!(out.contains("/zh"), "{out}");
}

#[test]
fn until_the_upgrade_pages_are_compared_by_the_digest_of_before() {
    let golden = Golden::unpacked();
    for name in OPEN {
        let line = golden.notes_with(WORD, "http://copy.example/notes");
        let (exit, out, err) = pipe(&["pages", "-"], Some(&golden.path(name)), &line);
        assert_eq!(exit, 0, "{name}: {out}{err}");
        let rows = golden.lines(&format!("{name}/discarded.jsonl"));
        let row = rows.last().unwrap();
        assert_eq!((&row["kind"], &row["level"]), (&"exact".into(), &"text".into()), "{name}");
        assert_eq!(row["url"], "http://copy.example/notes", "{name}");
        // New pages have today's digest: two that differ in the twin words are not equal.
        let two =
            [(WORD, "http://one.example/"), (TWIN, "http://two.example/")].map(|(word, id)| {
                let text =
                    format!("{word} once again, among {WORD} and other words of one new page.");
                json!({"id": id, "html": format!("<p>{text}</p>").replace(WORD, word)}).to_string()
            });
        let (exit, ..) = pipe(&["pages", "-"], Some(&golden.path(name)), &two.join("\n"));
        assert_eq!(exit, 0);
        let rows = golden.lines(&format!("{name}/discarded.jsonl"));
        let twin = rows.iter().find(|row| row["url"] == "http://two.example/");
        assert!(twin.is_none_or(|row| row["kind"] != "exact"), "{name}: {twin:?}");
        assert_eq!(golden.run(name, &["check"]).0, 0, "{name}");
    }
    // Documents of `crawl dedup`, also with all matches.
    let line = golden.notes_with(WORD, "copy");
    let (_, out, _) = pipe(&["dedup", "--all-matches"], Some(&golden.path("dedup")), &line);
    let row = &json_lines(out.as_bytes())[0];
    assert_eq!((&row["verdict"], &row["of"]["id"]), (&"duplicate".into(), &"doc/notes".into()));
    assert_eq!(row["matches"][0]["id"], "doc/notes");
}

#[test]
fn an_upgrade_replaces_the_digests_and_is_done_once() {
    let golden = Golden::unpacked();
    for name in CRAWLS {
        let before = golden.lines(&format!("{name}/discarded.jsonl"));
        let (exit, out, err) = golden.run(name, &["upgrade"]);
        assert!(exit == 0 && out.contains("digest of this version"), "{name}: {out}{err}");
        assert!(!golden.path(name).join("upgrade").exists());
        let (_, out, _) = golden.run(name, &["status"]);
        assert!(!out.contains("crawl upgrade"), "{name}: {out}");
        assert!(!golden.path(name).join("index-new").exists());
        let (_, out, _) =
            golden.run(name, &["search", "--json", "--after", "2026-01-01", "valley"]);
        let found = json_lines(out.as_bytes()).len();
        let (_, out, _) = golden.run(name, &["search", "--json", "valley"]);
        assert!(found >= 8 && found == json_lines(out.as_bytes()).len(), "{name}: {out}");
        let (exit, out, _) = golden.run(name, &["upgrade"]);
        assert!(exit == 0 && out.contains("up to date"), "{name}: {out}");
        let (exit, out, _) = golden.run(name, &["check"]);
        assert_eq!(exit, 0, "{name}: {out}");
        assert_eq!(golden.lines(&format!("{name}/discarded.jsonl")), before, "{name}");
        if !OPEN.contains(&name) {
            continue;
        }
        // The kept page is found by its new digest; its forged twin is not.
        let copies = [(WORD, "http://copy.example/notes"), (TWIN, "http://twin.example/notes")]
            .map(|(word, id)| golden.notes_with(word, id));
        let (exit, ..) = pipe(&["pages", "-"], Some(&golden.path(name)), &copies.join("\n"));
        assert_eq!(exit, 0);
        let rows = golden.lines(&format!("{name}/discarded.jsonl"));
        let kind =
            |url: &str| rows.iter().find(|row| row["url"] == url).map(|row| row["kind"].clone());
        assert_eq!(kind("http://copy.example/notes"), Some("exact".into()), "{name}");
        assert_ne!(kind("http://twin.example/notes"), Some("exact".into()), "{name}");
    }
}

#[test]
fn documents_whose_text_is_not_stored_keep_the_digest_of_before() {
    let golden = Golden::unpacked();
    let (exit, out, err) = golden.run("dedup", &["upgrade"]);
    assert!(exit == 0 && out.contains("Not upgraded"), "{out}{err}");
    let (_, out, _) = golden.run("dedup", &["status"]);
    assert!(!out.contains("crawl upgrade"), "{out}");
    let line = golden.notes_with(WORD, "copy");
    let (_, out, _) = pipe(&["dedup"], Some(&golden.path("dedup")), &line);
    assert_eq!(json_lines(out.as_bytes())[0]["of"]["id"], "doc/notes");
    assert_eq!(golden.run("dedup", &["check"]).0, 0);
}

#[test]
fn an_upgrade_without_an_index_reads_the_archive() {
    let golden = without_index();
    let (exit, out, err) = golden.run("pages", &["upgrade"]);
    assert!(exit == 0 && !out.contains("Not upgraded"), "{out}{err}");
    // Pages of equal text too: their bodies differ, so they are archived whole.
    assert!(out.contains("19 documents"), "{out}");
}

/// Without an index, so that the archive is read.
fn without_index() -> Golden {
    let golden = Golden::unpacked();
    std::fs::remove_dir_all(golden.path("pages/index")).unwrap();
    let settings = golden.path("pages/crawl.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replace("[settings]\n", "[settings]\nno-index = true\n"))
        .unwrap();
    golden
}

#[test]
fn an_upgrade_over_a_damaged_archive_says_so_and_can_be_repeated() {
    let golden = without_index();
    let archive = golden.path("pages/pages/pages-00001.warc.gz");
    let whole = std::fs::read(&archive).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 200].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&archive, damaged).unwrap();
    for _ in 0..2 {
        let (exit, _, err) = golden.run("pages", &["upgrade"]);
        assert!(exit == 2 && err.contains("pages-00001.warc.gz"), "{err}");
        assert!(
            err.contains("1 kept page could not") || err.contains("kept pages could not"),
            "{err}"
        );
        // Pages after the damage were upgraded.
        assert!(!err.contains("19 kept pages"), "{err}");
    }
    std::fs::write(&archive, whole).unwrap();
    let (exit, out, err) = golden.run("pages", &["upgrade"]);
    assert_eq!(exit, 0, "{out}{err}");
    let (_, out, _) = golden.run("pages", &["upgrade"]);
    assert!(out.contains("up to date"), "{out}");
}

#[cfg(unix)]
#[test]
fn an_upgrade_writes_through_no_link_and_waits_for_no_pipe() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let golden = Golden::unpacked();
    let (folder, victim) = (golden.path("crawl/upgrade"), golden.path("victim"));
    std::fs::write(&victim, "victim").unwrap();
    symlink(golden.folder.path(), &folder).unwrap();
    assert_eq!(golden.run("crawl", &["upgrade"]).0, 6, "the folder is a link");
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    symlink(&victim, folder.join("digests")).unwrap();
    assert_eq!(golden.run("crawl", &["upgrade"]).0, 6, "the file is a link");
    std::fs::remove_file(folder.join("digests")).unwrap();
    let pipe = folder.join("digests");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (exit, _, err) = golden.run("crawl", &["upgrade"]);
    assert!(exit == 6 && err.contains("digests"), "{err}");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "victim");
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0);
    std::fs::remove_file(&pipe).unwrap();
    assert_eq!(golden.run("crawl", &["upgrade"]).0, 0);
    // An upgrade that was killed just before its end left the folder.
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("digests"), "").unwrap();
    let (exit, out, _) = golden.run("crawl", &["upgrade"]);
    assert!(exit == 0 && out.contains("up to date") && !folder.exists(), "{out}");
}

/// Directories that need no upgrade.
const CURRENT: [&str; 8] =
    ["crawl", "stopped", "nowarc", "refused", "dropped", "fed", "pages", "dedup"];

#[test]
fn a_directory_of_format_4_opens_with_everything_it_held() {
    let golden = Golden::of("format-4");
    for name in CURRENT {
        let (exit, out, err) = golden.run(name, &["check"]);
        assert_eq!(exit, 0, "{name}: {out}{err}");
        let (exit, out, err) = golden.run(name, &["status"]);
        assert!(exit == 0 && !out.contains("older digests"), "{name}: {out}{err}");
        let logged = golden.lines(&format!("{name}/discarded.jsonl"));
        let (exit, out, err) = golden.run(name, &["duplicates", "list", "--json"]);
        let listed = json_lines(out.as_bytes());
        assert_eq!(exit, 0, "{name}: {err}");
        assert_eq!(listed.len(), logged.len(), "{name}");
    }
    // Its index lacks text outside the main text.
    let (_, out, _) = golden.run("crawl", &["status", "--json"]);
    assert_eq!(json_lines(out.as_bytes())[0]["needs_upgrade"], true, "{out}");
    let (_, out, _) = golden.run("crawl", &["search", "--json", "valley"]);
    let found: Vec<String> = json_lines(out.as_bytes())
        .iter()
        .map(|page| page["url"].as_str().unwrap().to_owned())
        .collect();
    let has = |path: &str| found.contains(&format!("http://127.77.3.9:18473{path}"));
    assert!(has("/print/0") && has("/listed/6") && !has("/listed/2"), "{found:?}");
    let line = r#"{"id": "x", "html": "<p>new</p>"}"#;
    for name in ["pages", "dedup"] {
        let command = if name == "pages" { &["pages", "-"][..] } else { &["dedup"] };
        let line = line.replace("\"x\"", "\"http://new.example/x\"");
        let (exit, out, err) = pipe(command, Some(&golden.path(name)), &line);
        assert_eq!(exit, 0, "{name}: {out}{err}");
    }
}

/// The server is gone, so all URLs stay queued.
#[test]
fn wider_rules_queue_what_a_version_before_has_refused() {
    let golden = Golden::of("format-4");
    let seeds = golden.path("seeds.txt");
    std::fs::write(&seeds, "http://127.77.3.9:18473/\n").unwrap();
    let summary = |name: &str| -> Value {
        let path = golden.path(name).join("summary.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    assert_eq!(summary("refused")["queued_urls"], 0);
    let wider = ["--scope", "any", "--max-depth", "none", "--allow-private", "127.0.0.0/8"];
    let seeds = seeds.display().to_string();
    golden.run("refused", &[&["--seeds", &seeds, "--time-limit", "20s"], &wider[..]].concat());
    // The far page, the 130 pages of the sitemap, a sitemap, and the page below depth 2.
    let queued = summary("refused")["queued_urls"].as_u64().unwrap();
    assert_eq!(queued, 131 + 1 + 1, "{}", summary("refused"));
}

#[test]
fn an_upgrade_finds_the_inlinks_of_earlier_versions_in_the_archive() {
    let golden = Golden::unpacked();
    let rows = golden.lines("crawl/discarded.jsonl");
    let moved = rows[0]["url"].as_str().unwrap();
    let explained = || -> Value {
        let (exit, out, err) = golden.run("crawl", &["explain", "--json", moved]);
        assert_eq!(exit, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    };
    let before = explained();
    assert_eq!(before["from"], json!([]));
    assert!(before["inlinks"].as_str().unwrap().contains("`crawl upgrade`"), "{before}");
    let (exit, out, err) = golden.run("crawl", &["upgrade"]);
    assert!(exit == 0 && out.contains("inlinks of 29 URLs"), "{out}{err}");
    let after = explained();
    let home = moved.replace("/moved", "/");
    assert_eq!((&after["from"], &after["inlinks"]), (&json!([home]), &Value::Null));
}

/// Recipes of version 5 know fewer languages and stop lists than those of today.
#[test]
fn a_directory_of_recipe_5_goes_on_with_it() {
    let golden = Golden::of("format-5");
    for name in ["dedup", "pages"] {
        assert_eq!(golden.run(name, &["check"]).0, 0, "{name}");
        assert_eq!(golden.run(name, &["status"]).0, 0, "{name}");
    }
    let later = std::fs::read_to_string(golden.path("later.jsonl")).unwrap();
    let answers = |name: &str| {
        let data = golden.path(name);
        let (exit, out, err) = pipe(&["dedup", "--all-matches"], Some(&data), &later);
        assert_eq!(exit, 0, "{name}: {err}");
        json_lines(out.as_bytes())
    };
    // Extraction is the same in all recipes: with the weights of today, the Icelandic pages have one line more.
    let before = golden.lines("later.out");
    let now = answers("dedup");
    for (now, before) in now.iter().zip(&before) {
        if now["id"].as_str().unwrap().starts_with("is/") {
            assert_eq!(now["verdict"], before["verdict"], "{now}");
        } else {
            assert_eq!(now, before);
        }
    }
    assert_eq!(now.len(), before.len());
    let (exit, _, err) = pipe(&["pages", "-"], Some(&golden.path("pages")), &later);
    assert_eq!(exit, 0, "{err}");
    let rows = golden.lines("pages/discarded.jsonl");
    assert!(rows.iter().all(|row| row["recipe"] == "content-words-tf-5"), "{rows:?}");
    assert!(rows.iter().any(|row| row["of"]["url"] == "http://first.example/lt/first"));

    // A new directory has the lists of today.
    let docs = std::fs::read_to_string(golden.path("docs.jsonl")).unwrap();
    let (exit, _, err) = pipe(&["dedup"], Some(&golden.path("new")), &docs);
    assert_eq!(exit, 0, "{err}");
    for (new, old) in answers("new").iter().zip(&now) {
        let id = new["id"].as_str().unwrap();
        let has_list_of_before = ["en/", "de/", "zh/"].iter().any(|code| id.starts_with(code));
        assert_eq!(new["fingerprint"] == old["fingerprint"], has_list_of_before, "{id}");
        let (new, old) = (&new["tokens"], &old["tokens"]);
        assert!(new == old || new.as_u64() < old.as_u64(), "{id}: {new} {old}");
    }
}

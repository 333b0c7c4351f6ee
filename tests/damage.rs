use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::helpers::typed;
use crate::support::{Bench, Server, code, crawl, html, prose, redirect, text, write};

fn site() -> Server {
    let link = |to: &str| format!("<a href={to}>on</a>");
    let page = |n: u64, more: &str| html(format!("<h1>Page {n}</h1><p>{}</p>{more}", prose(n, 12)));
    Server::start(HashMap::from([
        ("/".to_owned(), page(1, &(link("/copy") + &link("/other") + &link("/picture")))),
        ("/copy".to_owned(), page(1, "")),
        ("/other".to_owned(), page(2, "")),
        ("/picture".to_owned(), typed("image/png", "x")),
    ]))
}

/// Every file below a folder with its content, except locks, which readers open too.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if !entry.to_string_lossy().contains("LOCK") {
                found.push((entry.display().to_string(), std::fs::read(&entry).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn without_its_store_a_data_directory_is_damaged_and_left_as_it_is() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let kept = bench.path("dedup");
    std::fs::rename(bench.data().join("dedup"), &kept).unwrap();
    let before: Vec<_> = ["pages", "index"].map(|part| content(&bench.data().join(part))).into();
    let logs = || {
        ["discarded.jsonl", "skipped.jsonl"]
            .map(|name| std::fs::read(bench.data().join(name)).unwrap())
    };
    // The order of the two pages, and so the kept one, is not fixed.
    let id = bench.log("discarded.jsonl")[0]["id"].to_string();
    let (logs_before, page) = (logs(), bench.path("page.html"));
    write(&page, format!("<p>{}</p>", prose(9, 9)));
    let page = page.to_str().unwrap().to_owned();
    for args in [
        vec!["pages", &page],
        vec!["dedup"],
        vec!["forget", "http://a.example/"],
        vec!["duplicates", "restore", &id],
    ] {
        let output = crawl()
            .args(&args)
            .arg("--data")
            .arg(bench.data())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(code(&output), 2, "{args:?}: {said}");
        assert!(said.contains("dedup/"), "{args:?}: {said}");
    }
    let output = bench.crawl(&[server.url("/")], &[]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    let output = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(text(&output.stdout).contains("DAMAGED dedup"), "{}", text(&output.stdout));
    let after: Vec<_> = ["pages", "index"].map(|part| content(&bench.data().join(part))).into();
    assert!(before == after && logs_before == logs());
    std::fs::remove_dir_all(bench.data().join("dedup")).ok();
    std::fs::rename(&kept, bench.data().join("dedup")).unwrap();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    bench.run(&["check"]);
}

#[test]
fn each_part_that_is_missing_or_broken_is_damage_by_its_name() {
    let server = site();
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let breaks: [Damage<'_>; 4] = [
        ("frontier", &|data| std::fs::remove_dir_all(data.join("frontier")).unwrap()),
        ("index", &|data| std::fs::remove_file(data.join("index/meta.json")).unwrap()),
        ("pages", &|data| std::fs::remove_file(data.join("pages/pages-00001.warc.gz")).unwrap()),
        ("summary", &|data| write(&data.join("summary.json"), "{garbage")),
    ];
    for (part, damage) in breaks {
        let bench = Bench::new();
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
        damage(&bench.data());
        let output = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(code(&output), 2, "{part}: {said}");
        assert!(said.lines().any(|line| line.starts_with(&format!("DAMAGED {part}"))), "{said}");
        if part == "pages" {
            let output = bench.crawl(&[server.url("/")], &[]);
            assert_eq!(code(&output), 2, "{}", text(&output.stderr));
        }
    }
}

#[test]
fn crash_leftovers_after_the_committed_archive_are_not_damage() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let archive = bench.data().join("pages/pages-00001.warc.gz");
    let whole = std::fs::read(&archive).unwrap();
    let half = &whole[..whole.len() / 2 + 7];
    std::fs::OpenOptions::new().append(true).open(&archive).unwrap().write_all(half).unwrap();
    write(&bench.data().join("pages/pages-00002.warc.gz"), half);
    let said = bench.run(&["check"]);
    let left = format!("{} bytes from a crash", 2 * half.len());
    assert!(said.contains(&left), "{said}");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert!(!bench.run(&["check"]).contains("from a crash"));
}

#[test]
fn a_folder_of_ones_own_is_no_damage_and_a_log_outlives_its_frontier() {
    let (server, bench) = (site(), Bench::new());
    std::fs::create_dir_all(bench.data().join("pages")).unwrap();
    write(&bench.data().join("pages/notes.html"), "mine");
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-depth", "0"])), 0);
    assert!(!bench.log("skipped.jsonl").is_empty());
    let log = std::fs::read(bench.data().join("skipped.jsonl")).unwrap();
    std::fs::remove_dir_all(bench.data().join("frontier")).unwrap();
    let page = bench.path("page.html");
    write(&page, format!("<p>{}</p>", prose(9, 9)));
    bench.run(&["pages", page.to_str().unwrap()]);
    bench.run(&["forget", &server.url("/other")]);
    let now = std::fs::read(bench.data().join("skipped.jsonl")).unwrap();
    assert!(now.starts_with(&log));
}

#[test]
fn a_half_created_frontier_file_is_replaced_after_a_kill() {
    let (server, bench) = (site(), Bench::new());
    std::fs::create_dir_all(bench.data().join("frontier")).unwrap();
    write(&bench.data().join("frontier/frontier.new"), vec![0; 4096]);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    assert!(!bench.data().join("frontier/frontier.new").exists());
}

#[test]
fn a_page_and_an_archive_come_through_a_pipe_whole() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let long = format!("<title>Beginning</title><p>STARTWORD {}</p>", prose(7, 200));
    let archive = std::fs::read(bench.data().join("pages/pages-00001.warc.gz")).unwrap();
    for (input, word) in [(long.into_bytes(), "STARTWORD"), (archive, "Page 2")] {
        let data = Bench::new();
        let mut child = crawl()
            .args(["pages", "/dev/stdin", "--data"])
            .arg(data.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(data.run(&["export"]).contains(word), "{word}");
    }
}

#[test]
fn a_seed_that_was_excluded_comes_back_and_a_second_look_keeps_to_what_is_included() {
    let server = site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--exclude", "127"])), 4);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--exclude", "never"])), 0);
    assert_eq!(bench.summary()["pages"]["indexed"], 2);
    let before = server.asked().len();
    let flags = ["--recrawl", "--include", "other"];
    assert_eq!(code(&bench.crawl(&[server.url("/")], &flags)), 0);
    let mut again = server.asked()[before..].to_vec();
    again.sort();
    assert_eq!(again, ["/", "/other"]);
}

#[test]
fn half_a_line_of_the_log_of_another_job_is_cut_off() {
    let bench = Bench::new();
    let (page, broken) = (bench.path("page.html"), bench.path("broken.warc"));
    write(&page, format!("<p>{}</p>", prose(9, 9)));
    let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    let head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/x\r\nContent-Type: application/http";
    let length = answer.len();
    write(&broken, format!("{head}\r\nContent-Length: {length}\r\n\r\n{answer}\r\n\r\n"));
    let job = || {
        crawl()
            .arg("pages")
            .args([&page, &broken])
            .arg("--data")
            .arg(bench.data())
            .output()
            .unwrap()
    };
    assert_eq!(code(&job()), 0, "{}", text(&job().stderr));
    let log = bench.data().join("skipped.jsonl");
    let lines = bench.log("skipped.jsonl").len();
    assert!(lines > 0);
    std::fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(b"{\"time\":\"2026")
        .unwrap();
    assert_eq!(code(&job()), 0);
    assert!(bench.log("skipped.jsonl").len() >= lines);
    bench.run(&["check"]);
}

#[test]
fn a_refused_recipe_is_not_what_the_next_run_takes_up() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    let refused = ["--recipe", "token-window-4"];
    let output = bench.crawl(&[server.url("/")], &refused);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    let page = bench.path("page.html");
    write(&page, format!("<p>{}</p>", prose(9, 9)));
    let pages = |flags: &[&str]| {
        crawl()
            .arg("pages")
            .arg(&page)
            .args(flags)
            .arg("--data")
            .arg(bench.data())
            .output()
            .unwrap()
    };
    assert_eq!(code(&pages(&refused)), 1);
    assert_eq!(code(&pages(&[])), 0);
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
}

#[test]
fn where_no_seed_gave_a_page_the_exit_code_is_4() {
    let failing = |status: &'static str| {
        let mut page = html("no");
        page.status = status;
        page
    };
    let server = Server::start(HashMap::from([
        ("/private".to_owned(), redirect("http://10.0.0.1/")),
        ("/round".to_owned(), redirect("/about")),
        ("/about".to_owned(), redirect("/round")),
        ("/forbidden".to_owned(), failing("403 Forbidden")),
    ]));
    for path in ["/private", "/round", "/missing", "/forbidden"] {
        let output = Bench::new().crawl(&[server.url(path)], &[]);
        assert_eq!(code(&output), 4, "{path}: {}", text(&output.stdout));
        assert!(text(&output.stdout).contains("No seed could be fetched."), "{path}");
    }
    let server = site();
    // `--exclude` applies to seeds; `--include` applies to links only.
    let output = Bench::new().crawl(&[server.url("/copy")], &["--exclude", "copy$"]);
    assert_eq!(code(&output), 4, "{}", text(&output.stdout));
    assert!(!server.asked().contains(&"/copy".to_owned()), "{:?}", server.asked());
    for flags in [&["--include", "other"][..], &["--include", "other", "--dry-run"]] {
        assert_eq!(code(&Bench::new().crawl(&[server.url("/")], flags)), 0, "{flags:?}");
    }
    assert_eq!(server.asked(), ["/", "/other"]);
}

#[test]
fn a_closed_output_pipe_changes_no_exit_code_and_causes_no_panic() {
    let (server, bench) = (site(), Bench::new());
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let run = |seed: String, flags: &[&str]| {
        let mut command = bench.command(&[seed], flags);
        command.stdout(closed()).stderr(closed()).status().unwrap().code()
    };
    assert_eq!(run(server.url("/"), &["--max-pages", "1", "-v"]), Some(3));
    assert_eq!(run(server.url("/"), &["--max-pages", "none", "-vv"]), Some(0));
    write(&bench.data().join("summary.json"), "{garbage");
    let mut check = crawl();
    let status = check.arg("check").arg("--data").arg(bench.data()).stdout(closed()).status();
    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn an_unusable_log_line_is_damage() {
    let server = site();
    let swap = |data: &Path, name: &str, from: &str, to: &str| {
        let path = data.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        write(&path, text.replacen(from, to, 1));
    };
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let breaks: [Damage<'_>; 7] = [
        // Readers accept the line, but it differs from the one written.
        ("discarded", &|data| swap(data, "discarded.jsonl", "\"distance\":0", "\"distance\":1")),
        ("skipped", &|data| swap(data, "skipped.jsonl", "\"time\":\"2", "\"time\":\"3")),
        ("discarded", &|data| swap(data, "discarded.jsonl", "\"exact\"", "\"exatt\"")),
        ("discarded", &|data| swap(data, "discarded.jsonl", "/copy\"", "/cope\"")),
        ("decisions", &|data| swap(data, "decisions.jsonl", "\"restore\"", "\"restorf\"")),
        ("skipped", &|data| swap(data, "skipped.jsonl", "\"reason\"", "\"reasom\"")),
        ("settings", &|data| std::fs::remove_file(data.join("crawl.toml")).unwrap()),
    ];
    for (part, damage) in breaks {
        let bench = Bench::new();
        assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
        if part == "decisions" {
            let id = bench.log("discarded.jsonl")[0]["id"].to_string();
            bench.run(&["duplicates", "restore", &id]);
        }
        assert!(bench.run(&["check"]).lines().all(|line| line.starts_with("ok")));
        damage(&bench.data());
        let output = crawl().arg("check").arg("--data").arg(bench.data()).output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(code(&output), 2, "{part}: {said}");
        assert!(said.lines().any(|line| line.starts_with(&format!("DAMAGED {part}"))), "{said}");
        if part == "settings" {
            let output = crawl().arg("status").arg("--data").arg(bench.data()).output().unwrap();
            assert_eq!(code(&output), 2, "it is no store of documents");
            assert!(text(&output.stderr).contains("crawl.toml is missing"));
        }
    }
}

/// Every command that reads the index; `id` names a discarded page.
fn reading(id: &str) -> [Vec<&str>; 6] {
    [
        vec!["check"],
        vec!["search", "river"],
        vec!["export"],
        vec!["status"],
        vec!["duplicates", "show", id],
        vec!["duplicates", "report", "/dev/null"],
    ]
}

fn run_on(data: &Path, args: &[&str]) -> Output {
    crawl().args(args).arg("--data").arg(data).stdin(Stdio::null()).output().unwrap()
}

/// A crawl with several index segments, and its index files.
fn crawled(server: &Server) -> (Bench, Vec<PathBuf>) {
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &[])), 0);
    for number in 20..23 {
        let page = bench.path("page.html");
        write(&page, format!("<h1>{number}</h1><p>{}</p>", prose(number, 12)));
        bench.run(&["pages", page.to_str().unwrap()]);
    }
    let entries = std::fs::read_dir(bench.data().join("index")).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.metadata().unwrap().len() > 0)
        .collect();
    files.sort();
    (bench, files)
}

#[test]
fn a_damaged_index_ends_every_command_with_2_and_its_file_or_changes_no_answer() {
    let server = site();
    let (bench, files) = crawled(&server);
    // Ids follow the order of the answers, which is not fixed.
    let id = bench.log("discarded.jsonl")[0]["id"].to_string();
    let commands = reading(&id);
    let right: Vec<Vec<u8>> = commands
        .iter()
        .map(|args| {
            let output = run_on(&bench.data(), args);
            assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
            output.stdout
        })
        .collect();
    let mut damaged = 0;
    for (number, path) in files.iter().enumerate() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let whole = std::fs::read(path).unwrap();
        let store = path.extension().is_some_and(|extension| extension == "store");
        // The offset index of a document store is near the end, before a footer of about 100 bytes.
        let ends: &[usize] = if store { &[100, 125, 131, 150, 170, 190] } else { &[150] };
        let ends = ends.iter().filter_map(|end| whole.len().checked_sub(*end));
        for place in ends.chain([number * 7 % whole.len(), whole.len() / 2]) {
            let mut changed = whole.clone();
            changed[place] ^= 0xff;
            write(path, &changed);
            for (args, right) in commands.iter().zip(&right) {
                let output = run_on(&bench.data(), args);
                let said = text(&output.stderr) + &text(&output.stdout);
                let end = output.status.code();
                assert!(
                    end == Some(2) || end == Some(0) && output.stdout == *right,
                    "{args:?} {name} {place}: {end:?} {said}"
                );
                if end == Some(2) {
                    damaged += 1;
                    assert!(said.contains("index/"), "{args:?} {name}: {said}");
                    assert!(said.contains("crawl pages "), "{args:?} {name}: {said}");
                    assert!(!said.contains("panicked"), "{args:?} {name}: {said}");
                }
            }
            if store && place == whole.len() / 2 {
                let said = text(&run_on(&bench.data(), &["check"]).stdout);
                assert!(said.contains(name), "{name}: {said}");
                for output in [
                    bench.crawl(&[server.url("/")], &["--recrawl"]),
                    run_on(&bench.data(), &["inspect", "--listen", "127.0.0.1:0"]),
                ] {
                    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
                    assert!(text(&output.stderr).contains(name), "{}", text(&output.stderr));
                }
            }
        }
        write(path, &whole);
    }
    assert!(damaged > 60, "{damaged}");
    // Follow the advice of the error message.
    let path = files.iter().find(|path| path.extension().is_some_and(|e| e == "store")).unwrap();
    write(path, "garbage");
    let (pages, new) = (bench.data().join("pages"), bench.path("new"));
    let output = run_on(&new, &["pages", pages.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(!run_on(&new, &["search", "river"]).stdout.is_empty());
    assert_eq!(code(&run_on(&new, &["check"])), 0);
}

#[test]
fn a_damaged_frontier_never_asks_for_the_same_command_again() {
    let server = site();
    let bench = Bench::new();
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "1"])), 3);
    let whole_folder = bench.path("whole");
    copy(&bench.data(), &whole_folder);
    let whole = std::fs::read(bench.data().join("frontier/frontier.redb")).unwrap();
    let mut seed = 11u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) as usize % below
    };
    let mut damaged = 0;
    for trial in 0..40 {
        std::fs::remove_dir_all(bench.data()).unwrap();
        copy(&whole_folder, &bench.data());
        let mut bytes = whole.clone();
        // The header and first pages are needed to find all others.
        let below = if trial % 2 == 0 { 4096.min(bytes.len()) } else { bytes.len() };
        let start = random(below);
        let end = (start + [1, 8, 64, 4096][trial % 4]).min(bytes.len());
        bytes[start..end].iter_mut().for_each(|byte| *byte = random(256) as u8);
        if trial % 5 == 4 {
            bytes.truncate(start.max(1));
        }
        write(&bench.data().join("frontier/frontier.redb"), &bytes);
        let before = content(&bench.data());
        let check = run_on(&bench.data(), &["check"]);
        let said = text(&check.stdout) + &text(&check.stderr);
        assert!(matches!(code(&check), 0 | 2), "trial {trial}: {said}");
        assert!(before == content(&bench.data()), "trial {trial}: check has written");
        let output = bench.crawl(&[server.url("/")], &["--max-pages", "none"]);
        let said = text(&output.stderr);
        assert!(matches!(code(&output), 0 | 2), "trial {trial}: {}: {said}", code(&output));
        if code(&output) == 2 {
            damaged += 1;
            assert!(said.contains("frontier"), "trial {trial}: {said}");
        }
    }
    assert!(damaged > 5, "{damaged}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, target).unwrap();
        }
    }
}

#[test]
fn check_writes_nothing_and_needs_no_lock_file() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "1"])), 3);
    for name in ["LOCK", "dedup/LOCK"] {
        std::fs::remove_file(bench.data().join(name)).unwrap();
    }
    let before = content(&bench.data());
    assert!(bench.run(&["check"]).lines().all(|line| line.starts_with("ok")));
    assert!(before == content(&bench.data()));
    assert!(!bench.data().join("dedup/LOCK").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn check_works_on_a_read_only_file_system() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/")], &["--max-pages", "1"])), 3);
    // Mount it read-only, visible to this command only.
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" || exit 99; \
                  touch \"$1/probe\" 2>/dev/null && exit 99; exec \"$0\" check --data \"$1\"";
    let run = || {
        std::process::Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", script])
            .arg(env!("CARGO_BIN_EXE_crawl"))
            .arg(bench.data())
            .output()
    };
    let Ok(output) = run() else { return crate::support::say("no unshare here: not tested") };
    let said = text(&output.stdout) + &text(&output.stderr);
    if output.status.code() == Some(99) || said.contains("unshare") {
        return crate::support::say("nothing may be mounted here: not tested");
    }
    assert_eq!(code(&output), 0, "{said}");
    assert!(said.lines().all(|line| line.starts_with("ok")), "{said}");
    let store = std::fs::read_dir(bench.data().join("index")).unwrap();
    let store = store.map(|entry| entry.unwrap().path());
    let store = store.into_iter().find(|path| path.extension().is_some_and(|e| e == "store"));
    write(&store.unwrap(), "garbage");
    assert_eq!(code(&run().unwrap()), 2);
}

//! Files named by input, symbolic links and pipes in the way, and permissions of written files.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Bench, Server, code, crawl, html, json_lines, prose, text, write};

/// A word that no output may contain.
const SECRET: &str = "zyxwvsecret";
/// Longer than any of these commands takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn page(seed: u64, title: &str) -> String {
    format!("<html lang=en><title>{title}</title><body><p>{}</p></body></html>", prose(seed, 20))
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The output of a command that must end by itself.
fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn run(command: &mut Command) -> Output {
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all.extend(below(&path));
        }
        all.push(path);
    }
    all
}

/// A folder with a page, a secret next to it, and lines that name both in every way.
struct Lines {
    bench: Bench,
    good: Vec<String>,
    bad: Vec<String>,
}

fn lines() -> Lines {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name).display().to_string();
    std::fs::create_dir_all(bench.path("in/sub")).unwrap();
    let secret = page(1, SECRET).replace("When", SECRET);
    write(&bench.path("secret.html"), &secret);
    std::fs::create_dir(bench.path("in2")).unwrap();
    write(&bench.path("in2/secret.html"), &secret);
    for (seed, name) in [(2, "a.html"), (3, "sub/b.html"), (4, "sub/c.html")] {
        write(&bench.path("in").join(name), page(seed, name));
    }
    symlink("../secret.html", bench.path("in/link.html")).unwrap();
    symlink("sub/c.html", bench.path("in/inner.html")).unwrap();
    symlink("..", bench.path("in/up")).unwrap();
    fifo(&bench.path("in/pipe"));
    let good = ["a.html".into(), "./sub/b.html".into(), at("in/sub/c.html")].to_vec();
    let bad = [
        "../secret.html".into(),
        "sub/../../secret.html".into(),
        at("secret.html"),
        at("in/../secret.html"),
        at("in2/secret.html"),
        "/proc/self/environ".into(),
        "/dev/zero".into(),
        "link.html".into(),
        "inner.html".into(),
        "up/secret.html".into(),
        "pipe".into(),
        "sub".into(),
        "".into(),
        "no-such-file".into(),
    ]
    .to_vec();
    Lines { bench, good, bad }
}

impl Lines {
    fn jsonl(&self) -> String {
        let all = self.good.iter().chain(&self.bad).enumerate();
        all.map(|(number, path)| {
            let url = format!("http://a.example/{number}");
            format!("{}\n", json!({"id": number.to_string(), "url": url, "path": path, "content_type": "text/html"}))
        })
        .collect()
    }

    /// Checks that neither the data directory nor the output contains refused content.
    fn is_clean(&self, output: &Output) {
        for bytes in [&output.stdout, &output.stderr] {
            assert!(!text(bytes).contains(&format!("{SECRET} the")), "{}", text(bytes));
        }
        let exported = crawl().args(["export", "--data"]).arg(self.bench.data()).output().unwrap();
        assert!(!text(&exported.stdout).contains(SECRET));
    }
}

#[test]
fn a_json_line_reads_only_regular_files_below_the_folder_of_its_file() {
    let lines = lines();
    write(&lines.bench.path("in/lines.jsonl"), lines.jsonl());
    // The folder may be a symbolic link.
    symlink("in", lines.bench.path("way")).unwrap();
    for (round, folder) in ["in", "way"].into_iter().enumerate() {
        let mut command = crawl();
        command.env("HAPAX_HEADER", format!("X-A: {SECRET}"));
        let file = lines.bench.path(folder).join("lines.jsonl");
        let output = run(command.arg("pages").arg(file).arg("--data").arg(lines.bench.data()));
        let said = text(&output.stderr);
        assert_eq!(code(&output), 7, "{said}");
        let told = said.matches("lines.jsonl: line ").count();
        assert_eq!(told, lines.bad.len(), "{said}");
        assert!(said.contains("--root DIR") && said.contains("symbolic link"), "{said}");
        lines.is_clean(&output);
        if round == 0 {
            let kept = text(
                &crawl()
                    .args(["export", "--data"])
                    .arg(lines.bench.data())
                    .output()
                    .unwrap()
                    .stdout,
            );
            assert_eq!(json_lines(kept.as_bytes()).len(), lines.good.len());
        }
    }
}

#[test]
fn lines_from_stdin_read_files_only_below_root() {
    let lines = lines();
    for command in ["pages", "dedup"] {
        for with_root in [false, true] {
            let data = lines.bench.path(&format!("{command}-{with_root}"));
            write(&lines.bench.path("given"), lines.jsonl());
            let mut job = crawl();
            job.arg(command).current_dir(lines.bench.path("in"));
            job.args((command == "pages").then_some("-")).arg("--data").arg(&data);
            if with_root {
                job.arg("--root").arg(".");
            }
            job.stdin(std::fs::File::open(lines.bench.path("given")).unwrap());
            let output = run(&mut job);
            let said = text(&output.stderr) + &text(&output.stdout);
            assert_eq!(code(&output), 7, "{said}");
            let refused =
                if with_root { lines.bad.len() } else { lines.good.len() + lines.bad.len() };
            let told = match command {
                "pages" => said.matches("stdin: line ").count(),
                _ => said.matches("\"error\":").count(),
            };
            assert_eq!(told, refused, "{command} {with_root}: {said}");
            assert!(said.contains("--root DIR"), "{said}");
            assert!(!said.contains(&format!("{SECRET} the")), "{said}");
        }
    }
    let output = run(crawl()
        .args(["dedup", "--root", "no-such-folder", "--data"])
        .arg(lines.bench.data())
        .stdin(Stdio::null()));
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-such-folder"), "{}", text(&output.stderr));
}

#[test]
fn links_and_pipes_in_a_folder_are_left_out() {
    let lines = lines();
    symlink(lines.bench.path("in2"), lines.bench.path("in/folder")).unwrap();
    let mut command = crawl();
    command.arg("pages").arg(lines.bench.path("in")).arg("--data").arg(lines.bench.data());
    let output = run(&mut command);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("3 pages"), "{said}");
    assert!(said.contains("5   symbolic links"), "{said}");
    lines.is_clean(&output);
    let output = run(crawl().arg("calibrate").arg(lines.bench.path("in")));
    assert!(!text(&output.stdout).is_empty(), "{}", text(&output.stderr));
}

#[test]
fn one_signal_ends_the_wait_for_a_pipe_that_a_person_named() {
    // SIGINT only for commands that handle it: a shell that runs the tests in the background ignores it for the
    // others.
    for (job, signal) in [
        (&["pages", "PIPE"][..], "-TERM"),
        (&["pages", "PIPE"], "-INT"),
        (&["pages", "page.html", "-"], "-TERM"),
        (&["dedup"], "-TERM"),
        (&["extract", "PIPE"], "-TERM"),
        (&["fingerprint", "PIPE"], "-TERM"),
        (&["explain", "PIPE"], "-TERM"),
        (&["calibrate", "PIPE"], "-TERM"),
    ] {
        let bench = Bench::new();
        fifo(&bench.path("PIPE"));
        write(&bench.path("page.html"), page(1, "one"));
        let mut command = crawl();
        command.args(job).current_dir(bench.path("")).stdin(Stdio::piped());
        if matches!(job[0], "pages" | "dedup") {
            command.arg("--data").arg(bench.data());
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _kept_open = child.stdin.take();
        // The command waits once it has locked the data directory, or soon after.
        std::thread::sleep(Duration::from_millis(1500));
        assert!(child.try_wait().unwrap().is_none(), "{job:?} waits");
        Command::new("kill").arg(signal).arg(child.id().to_string()).status().unwrap();
        let output = ended(child);
        if job[0] == "pages" {
            assert_eq!(code(&output), 3, "{job:?}: {}", text(&output.stderr));
            assert!(text(&output.stderr).contains("interrupted"), "{}", text(&output.stderr));
        }
        if job.len() == 3 {
            let kept = text(
                &crawl().args(["export", "--data"]).arg(bench.data()).output().unwrap().stdout,
            );
            assert_eq!(json_lines(kept.as_bytes()).len(), 1, "what was read is committed");
        }
    }
}

#[test]
fn pipes_that_a_person_named_are_read_to_their_end() {
    let bench = Bench::new();
    fifo(&bench.path("pipe.jsonl"));
    let given: String = (0..300)
        .map(|seed| {
            format!(
                "{}\n",
                json!({"url": format!("http://a.example/{seed}"), "text": prose(seed + 1, 20)})
            )
        })
        .collect();
    let pipe = bench.path("pipe.jsonl");
    let writer = std::thread::spawn(move || write(&pipe, given));
    let mut command = crawl();
    command.arg("pages").arg(bench.path("pipe.jsonl")).arg("--data").arg(bench.data());
    let output = run(&mut command);
    writer.join().unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("300 pages"), "{}", text(&output.stdout));
}

#[test]
fn a_content_type_cannot_add_headers_or_a_body_to_the_archive() {
    let bench = Bench::new();
    let forged = "text/html\r\nSet-Cookie: forged=1\r\n\r\n<p>FORGED BODY</p>";
    let lines = [
        json!({"url": "http://a.example/1", "content_type": forged, "html": page(1, "one")}),
        json!({"url": "http://a.example/2", "content_type": "text/html\n\nFORGED", "html": page(2, "two")}),
        json!({"url": "http://a.example/3", "content_type": "text/html\0\rX-Forged: 1", "html": page(3, "three")}),
    ];
    write(&bench.path("in.jsonl"), lines.map(|line| format!("{line}\n")).concat());
    let mut command = crawl();
    run(command.arg("pages").arg(bench.path("in.jsonl")).arg("--data").arg(bench.data()));
    let archive = std::fs::File::open(bench.data().join("pages/pages-00001.warc.gz")).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(archive), &mut bytes)
        .unwrap();
    let archive = text(&bytes);
    for line in archive.split(['\r', '\n']) {
        assert!(
            !["Set-Cookie", "X-Forged", "FORGED", "<p>FORGED"]
                .iter()
                .any(|start| line.starts_with(start)),
            "{line}"
        );
    }
    // Importing the archive again gives the texts of the index.
    let again = bench.path("again");
    run(crawl().arg("pages").arg(bench.data().join("pages")).arg("--data").arg(&again));
    let texts = |data: &Path| {
        let output = crawl().args(["export", "--data"]).arg(data).output().unwrap();
        let rows = json_lines(&output.stdout);
        rows.into_iter().map(|row| row["text"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&bench.data()), texts(&again));
}

/// Whether group or others have any permission on a file.
fn is_open(path: &Path) -> bool {
    let meta = path.symlink_metadata().unwrap();
    meta.permissions().mode() & 0o077 != 0
}

fn site() -> Server {
    let pages = (0..4).map(|seed| {
        let links = "<a href=/0>0</a> <a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>";
        (format!("/{seed}"), html(page(seed + 1, "p").replace("</body>", links)))
    });
    Server::start(pages.collect())
}

#[test]
fn pages_fetched_with_a_header_or_cookies_are_for_their_owner_alone() {
    let server = site();
    for flags in [&["--header", "Authorization: Bearer x"][..], &["--cookies"]] {
        for open_before in [false, true] {
            let bench = Bench::new();
            if open_before {
                assert_eq!(code(&bench.crawl(&[server.url("/0")], &["--max-pages", "1"])), 3);
                assert!(is_open(&bench.data().join("pages/pages-00001.warc.gz")), "as ever");
            }
            assert_eq!(
                code(&bench.crawl(&[server.url("/0")], &[flags, &["--max-pages", "3"]].concat())),
                3
            );
            let closed = |when: &str| {
                for path in below(&bench.data()) {
                    let name = path.file_name().unwrap();
                    assert!(
                        name == "LOCK" && path.parent() == Some(&bench.data()) || !is_open(&path),
                        "{when}: {path:?}"
                    );
                }
            };
            closed("after the crawl");
            // The setting is saved.
            assert_eq!(code(&bench.crawl(&[server.url("/0")], &["--max-pages", "10"])), 0);
            closed("after the next run");
            assert_eq!(json_lines(bench.run(&["export"]).as_bytes()).len(), 4);
            let (notes, report) = (bench.path("notes"), bench.path("report.html"));
            bench.run(&["export", "--format", "markdown", "-o", notes.to_str().unwrap()]);
            bench.run(&["duplicates", "report", report.to_str().unwrap()]);
            assert!(below(&notes).iter().all(|path| !is_open(path)) && !is_open(&report));
        }
    }
}

#[test]
fn output_is_never_written_through_a_symlink() {
    let (server, bench) = (site(), Bench::new());
    let victim = bench.path("victim");
    write(&victim, "precious");
    std::fs::create_dir(bench.data()).unwrap();
    for name in ["crawl.toml.tmp", "summary.json.tmp", "summary.json"] {
        symlink(&victim, bench.data().join(name)).unwrap();
    }
    assert_eq!(code(&bench.crawl(&[server.url("/0")], &[])), 0);
    let notes = bench.path("notes");
    let out = |name: &str| bench.path(name).display().to_string();
    let export = || bench.run(&["export", "--format", "markdown", "-o", &out("notes")]);
    export();
    let files = |path: &PathBuf| !path.is_dir();
    let names: Vec<PathBuf> = below(&notes).into_iter().filter(files).collect();
    // Four pages, two index pages, the list of files.
    assert_eq!(names.len(), 7);
    let names: Vec<PathBuf> =
        names.into_iter().filter(|name| name.extension().is_some_and(|end| end == "md")).collect();
    for (number, name) in names.iter().enumerate() {
        std::fs::remove_file(name).unwrap();
        if number == 0 { fifo(name) } else { symlink(&victim, name).unwrap() }
    }
    export();
    assert!(names.iter().all(|name| name.symlink_metadata().unwrap().is_file()));
    for (name, job) in [
        ("report", &["duplicates", "report"][..]),
        ("rows", &["export", "-o"]),
        ("table", &["export", "--format", "csv", "-o"]),
        ("log", &["duplicates", "export", "-o"]),
        ("feed", &["duplicates", "export", "--feed"]),
    ] {
        symlink(&victim, bench.path(name)).unwrap();
        bench.run(&[job, &[&*out(name)]].concat());
        assert!(bench.path(name).symlink_metadata().unwrap().is_file(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert!(bench.run(&["export", "-o", "/dev/stdout"]).starts_with('{'));
    let left =
        below(&bench.path("")).into_iter().filter(|path| path.extension() == Some("tmp".as_ref()));
    assert_eq!(left.count(), 0, "nothing unfinished is left");
    assert_eq!(code(&run(crawl().args(["check", "--data"]).arg(bench.data()))), 0);
}

#[test]
fn a_pipe_in_the_spool_holds_up_no_command() {
    let (server, bench) = (site(), Bench::new());
    assert_eq!(code(&bench.crawl(&[server.url("/0")], &[])), 0);
    let spool = bench.data().join("spool");
    for name in ["0.json", "9.json", "9.answer"] {
        std::fs::create_dir_all(&spool).unwrap();
        fifo(&spool.join(name));
    }
    let output = run(crawl().args(["forget", &server.url("/3"), "--data"]).arg(bench.data()));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(&spool).unwrap().count(), 0);
    fifo(&spool.join("1.json"));
    write(&bench.path("a.html"), page(9, "nine"));
    let output =
        run(crawl().arg("pages").arg(bench.path("a.html")).arg("--data").arg(bench.data()));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn exported_markdown_holds_no_markup_of_a_page() {
    let bench = Bench::new();
    let hostile = format!(
        "{} <img src=x onerror=alert(1)> ![](http://evil.example/beacon) [a](javascript:b) {}",
        prose(1, 10),
        prose(2, 10)
    );
    let title = "a\u{7f}\u{85}\u{9b}\u{fffe}\u{2028}\"\n---\nevil: 1";
    let line = json!({"url": "http://a.example/1", "title": title, "text": hostile});
    write(&bench.path("in.jsonl"), format!("{line}\n"));
    run(crawl().arg("pages").arg(bench.path("in.jsonl")).arg("--data").arg(bench.data()));
    let notes = bench.path("notes");
    bench.run(&["export", "--format", "markdown", "-o", notes.to_str().unwrap()]);
    let text = std::fs::read_to_string(notes.join("a.example/1.md")).unwrap();
    let parts: Vec<&str> = text.splitn(3, "---\n").collect();
    assert_eq!(parts.len(), 3, "{text}");
    assert!(
        parts[1]
            .chars()
            .all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{2028}')),
        "{text}"
    );
    let fields = json_lines(bench.run(&["export"]).as_bytes())[0].as_object().unwrap().len();
    assert_eq!(parts[1].lines().count(), fields - 1, "every field but the text: {text}");
    assert!(parts[2].contains(r"\<img src=x onerror=alert(1)>"), "{text}");
    assert!(parts[2].contains(r"!\[\](http://evil.example/beacon)"), "{text}");
    assert!(parts[2].contains(r"\[a\](javascript:b)"), "{text}");
}

/// Memory mounted as a folder below /dev contains ordinary files.
#[cfg(target_os = "linux")]
#[test]
fn a_result_in_shared_memory_is_a_file_like_any_other() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let at = |name: &str| folder.path().join(name);
    write(&at("page.html"), page(3, "one"));
    write(
        &at("lines.jsonl"),
        json!({"url": "http://a.example/", "path": "page.html", "content_type": "text/html"})
            .to_string(),
    );
    let bench = Bench::new();
    let pages = |name: &str| run(crawl().arg("pages").arg(name).arg("--data").arg(bench.data()));
    let output = pages(&at("lines.jsonl").display().to_string());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    std::fs::write(at("victim"), "victim").unwrap();
    symlink(at("victim"), at("link.jsonl")).unwrap();
    for name in ["new.jsonl", "link.jsonl"] {
        let mut export = crawl();
        export.args(["export", "--data"]).arg(bench.data()).arg("--output").arg(at(name));
        let output = run(&mut export);
        assert_eq!(code(&output), 0, "{name}: {}", text(&output.stderr));
        assert_eq!(json_lines(&std::fs::read(at(name)).unwrap()).len(), 1, "{name}");
    }
    assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "victim");
    // Standard output by its path is not a file to replace.
    let mut export = crawl();
    export.args(["export", "--output", "/dev/stdout", "--data"]).arg(bench.data());
    assert_eq!(json_lines(&run(&mut export).stdout).len(), 1);
}

#[test]
fn errors_about_bad_lines_are_short_and_show_no_password() {
    let bench = Bench::new();
    let long = "x".repeat(1 << 20);
    write(
        &bench.path("lines.jsonl"),
        json!({"url": "http://a.example/", "path": long, "content_type": "text/html"}).to_string()
            + "\n"
            + &json!({"url": long, "html": "<p>a</p>"}).to_string(),
    );
    let output =
        run(crawl().arg("pages").arg(bench.path("lines.jsonl")).arg("--data").arg(bench.data()));
    assert_eq!(code(&output), 7);
    assert!(output.stderr.len() < 4_000, "{} bytes", output.stderr.len());
    let seeds = bench.path("seeds.txt");
    write(&seeds, "http://127.0.0.1:1/\n");
    for flag in [["--proxy", "socks5://me:hunter2@h:1"], ["--header", "Authorization hunter2"]] {
        let output =
            run(crawl().args(flag).arg("--seeds").arg(&seeds).arg("--data").arg(bench.data()));
        let said = text(&output.stderr);
        assert!(code(&output) == 1 && !said.contains("hunter2"), "{said}");
    }
}

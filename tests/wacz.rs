//! `crawl export --format wacz`: the archive in one file, as other programs read it.

use std::process::Command;

use crate::helpers::{crawled, pipe, web};
use crate::support::{Bench, Server, code, crawl, json_lines, prose, text, write};

/// Reads a WACZ file with the standard library of Python only: digests, order of the index, and the record at each of its
/// places. Prints `URL status mime` of each line of the index.
const READER: &str = r#"
import gzip, hashlib, json, sys, zipfile
file = zipfile.ZipFile(sys.argv[1])
assert file.testzip() is None
package = json.loads(file.read("datapackage.json"))
assert package["wacz_version"] == "1.1.1" and package["profile"] == "data-package"
digest = lambda path: "sha256:" + hashlib.sha256(file.read(path)).hexdigest()
assert json.loads(file.read("datapackage-digest.json")) == {"path": "datapackage.json", "hash": digest("datapackage.json")}
listed = {entry["path"]: entry for entry in package["resources"]}
assert set(file.namelist()) == set(listed) | {"datapackage.json", "datapackage-digest.json"}
for path, entry in listed.items():
    assert entry["hash"] == digest(path) and entry["bytes"] == file.getinfo(path).file_size, path
    assert file.getinfo(path).compress_type == zipfile.ZIP_STORED, path
lines = gzip.decompress(file.read("indexes/index.cdx.gz")).decode().splitlines()
assert lines == sorted(lines)
for line in lines:
    key, time, entry = line.split(" ", 2)
    entry = json.loads(entry)
    start = int(entry["offset"])
    member = file.read("archive/" + entry["filename"])[start:start + int(entry["length"])]
    head = gzip.decompress(member).decode("utf-8", "replace")
    assert "WARC-Target-URI: " + entry["url"] + "\r\n" in head, line
    assert "".join(c for c in head.split("WARC-Date: ")[1][:20] if c.isdigit()) == time, line
    print(entry["url"], entry.get("status"), entry["mime"])
print("pages")
print(file.read("pages/pages.jsonl").decode(), end="")
"#;

/// The lines of the index, and the list of pages. `None` without python3.
fn read(bench: &Bench, file: &str) -> Option<(Vec<String>, Vec<serde_json::Value>)> {
    let output =
        Command::new("python3").args(["-c", READER]).arg(bench.path(file)).output().ok()?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    let (lines, pages) = out.split_once("pages\n").unwrap();
    Some((lines.lines().map(str::to_owned).collect(), json_lines(pages.as_bytes())))
}

#[test]
fn a_packed_archive_has_every_record_by_its_index_and_the_kept_pages() {
    let (bench, server) = crawled();
    let file = bench.path("crawl.wacz");
    bench.run(&["export", "--format", "wacz", "--to", file.to_str().unwrap()]);
    let Some((lines, pages)) = read(&bench, "crawl.wacz") else { return };
    for (path, mime) in [
        ("/one", "text/html"),
        ("/copy/one", "warc/revisit"),
        ("/print/one", "text/html"),
        ("/two", "text/html"),
    ] {
        let line = format!("{} 200 {mime}", server.url(path));
        assert!(lines.contains(&line), "{line} in {lines:?}");
    }
    assert_eq!(pages[0]["format"], "json-pages-1.0");
    let mut urls: Vec<&str> = pages[1..].iter().map(|page| page["url"].as_str().unwrap()).collect();
    urls.sort_unstable();
    assert_eq!(urls, bench.exported());
    assert!(pages[1..].iter().all(|page| page["ts"].as_str().unwrap().ends_with('Z')));
}

#[test]
fn a_filter_selects_pages_with_their_copies() {
    let (bench, server) = crawled();
    let file = bench.path("some.wacz");
    let pack = |filter: &[&str]| {
        let all = ["export", "--format", "wacz", "--to", file.to_str().unwrap()];
        let (exit, _, err) = pipe(&[&all, filter].concat(), Some(&bench.data()), "");
        assert_eq!(exit, 0, "{err}");
        let read = read(&bench, "some.wacz");
        let url = |line: &String| line.split_once(' ').unwrap().0.to_owned();
        read.map(|(lines, pages)| (lines.iter().map(url).collect::<Vec<_>>(), pages.len() - 1, err))
    };
    let Some((urls, pages, _)) = pack(&["--min-copies", "2"]) else { return };
    assert_eq!(urls, ["/copy/one", "/one", "/print/one"].map(|path| server.url(path)));
    assert_eq!(pages, 1);
    let all = pack(&["--min-words", "1"]).unwrap();
    let every = pack(&[]).unwrap();
    assert!(all.0 == every.0 && all.1 == every.1 && all.1 > 1, "{all:?} {every:?}");
    let (urls, pages, err) = pack(&["--host", "other.example"]).unwrap();
    assert!(urls.is_empty() && pages == 0 && err.contains("no page passes the filters"), "{err}");
    // A restored page is no copy any more.
    bench.run(&["duplicates", "restore", &server.url("/print/one")]);
    let (urls, _, _) = pack(&["--min-copies", "1"]).unwrap();
    let is_there = |path: &str| urls.contains(&server.url(path));
    assert!(is_there("/copy/one") && is_there("/two") && !is_there("/print/one"), "{urls:?}");
}

#[test]
fn an_archive_is_packed_beside_a_crawl_and_without_the_tail_of_a_killed_one() {
    let server = Server::slow(web(20, 6), std::time::Duration::from_millis(15));
    let bench = Bench::new();
    let mut child = bench.spawn(&[server.url("/")], &["--per-host", "2"]);
    bench.wait_until_committed(20);
    let packed = |name: &str| {
        let file = bench.path(name);
        bench.run(&["export", "--format", "wacz", "--to", file.to_str().unwrap()]);
        read(&bench, name).map_or(0, |(lines, _)| lines.len())
    };
    let beside = packed("beside.wacz");
    child.kill().unwrap();
    child.wait().unwrap();
    let archive = bench.data().join("pages/pages-00001.warc.gz");
    let mut bytes = std::fs::read(&archive).unwrap();
    bytes.extend(b"half a record of the killed crawl");
    write(&archive, &bytes);
    let after = packed("after.wacz");
    assert!(after >= beside, "{after} records after {beside}");
    // The export reports a damaged record and indexes all other records.
    let at = bytes.len() / 3;
    bytes[at..at + 40].fill(0);
    write(&archive, &bytes);
    let file = bench.path("damaged.wacz");
    let (exit, _, err) = pipe(
        &["export", "--format", "wacz", "--to", file.to_str().unwrap()],
        Some(&bench.data()),
        "",
    );
    assert!(exit == 0 && err.contains("pages-00001.warc.gz, byte "), "{exit}: {err}");
    let lines = read(&bench, "damaged.wacz").map_or(0, |(lines, _)| lines.len());
    assert!(lines <= after && lines + 3 >= after, "{lines} of {after}");
    assert!(err.contains("; not in the index"), "{err}");
    // Neither does a file end the export that is shorter than committed.
    let cut = std::fs::read(&archive).unwrap();
    write(&archive, &cut[..cut.len() / 2]);
    let (exit, _, err) = pipe(
        &["export", "--format", "wacz", "--to", file.to_str().unwrap()],
        Some(&bench.data()),
        "",
    );
    assert!(exit == 0 && err.contains(" committed bytes; not in the index"), "{exit}: {err}");
    let half = read(&bench, "damaged.wacz").map_or(0, |(lines, _)| lines.len());
    assert!(half < after, "{half} of {after}");
    write(&archive, &cut);
    // A directory without an archive is left out.
    let other = Bench::new();
    assert_eq!(code(&other.crawl(&[server.url("/")], &["--no-warc", "--max-pages", "3"])), 3);
    let file = bench.path("two.wacz");
    let output = crawl()
        .args(["export", "--format", "wacz", "--to"])
        .arg(&file)
        .args(["--data".into(), other.data(), "--data".into(), bench.data()])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(code(&output) == 0 && said.contains("no archive, left out"), "{said}");
    assert_eq!(read(&bench, "two.wacz").map_or(0, |(lines, _)| lines.len()), lines);
}

#[test]
fn the_archives_of_several_directories_are_packed_side_by_side() {
    let ((first, one), (second, two)) = (crawled(), crawled());
    let file = first.path("both.wacz");
    let output = crawl()
        .args(["export", "--format", "wacz", "--to"])
        .arg(&file)
        .args(["--data".into(), first.data(), "--data".into(), second.data()])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let Some((lines, pages)) = read(&first, "both.wacz") else { return };
    for server in [&one, &two] {
        let line = format!("{} 200 text/html", server.url("/one"));
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
    // A header, and the kept pages of both.
    let ids: Vec<&str> = pages.iter().skip(1).map(|page| page["id"].as_str().unwrap()).collect();
    let of = |number: &str| ids.iter().filter(|id| id.starts_with(number)).count();
    assert!(of("1-") > 1 && of("1-") == of("2-") && ids.len() == 2 * of("1-"), "{ids:?}");
}

#[test]
fn a_pack_without_an_archive_or_a_file_is_refused() {
    let (bench, _server) = crawled();
    let refused = |bench: &Bench, args: &[&str], why: &str| {
        let all = [&["export", "--format", "wacz"], args].concat();
        let (exit, out, err) = pipe(&all, Some(&bench.data()), "");
        assert!(exit == 1 && out.is_empty() && err.contains(why), "{args:?}: {exit} {err}");
    };
    let file = bench.path("a.wacz");
    let file = file.to_str().unwrap();
    refused(&bench, &[], "name it with --to");
    refused(&bench, &["--to", "-"], "name it with --to");
    let other = Bench::new();
    let server = Server::start(std::collections::HashMap::from([(
        "/".to_owned(),
        crate::support::html(format!("<p>{}</p>", prose(1, 10))),
    )]));
    assert_eq!(code(&other.crawl(&[server.url("/")], &["--no-warc"])), 0);
    refused(&other, &["--to", file], "has no archive");
    assert!(!std::path::Path::new(file).exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_while_packing_is_one_error_and_names_the_cause() {
    let (bench, _server) = crawled();
    let all = ["export", "--format", "wacz", "--to", "/dev/full"];
    let (exit, _, err) = pipe(&all, Some(&bench.data()), "");
    assert_eq!(exit, 6, "{err}");
    assert!(err.starts_with("crawl: /dev/full: ") && err.contains("No space left"), "{err}");
    assert!(!err.contains("Zip"), "the library prints nothing: {err}");
}

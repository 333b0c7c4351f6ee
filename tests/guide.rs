//! Runs the commands of the guide: each page of docs/start, docs/how-to and docs/understand in a fresh folder, against a
//! site on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Bench, text, write};

/// The pages of the guide that have commands.
fn pages() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut files: Vec<PathBuf> = ["start", "how-to", "understand"]
        .iter()
        .flat_map(|part| std::fs::read_dir(docs.join(part)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let named = files.iter().map(|file| {
        let name = file.strip_prefix(&docs).unwrap().display().to_string();
        (name, script(&std::fs::read_to_string(file).unwrap()))
    });
    named.filter(|(_, script)| !script.is_empty()).collect()
}

/// The blocks marked `sh`, in order.
fn script(page: &str) -> String {
    let blocks = page.split("```sh\n").skip(1);
    blocks.filter_map(|block| Some(block.split_once("```")?.0)).collect()
}

#[test]
fn the_commands_of_the_guide_work() {
    let server = crate::helpers::site();
    let crawl = Path::new(env!("CARGO_BIN_EXE_crawl")).parent().unwrap();
    let path = std::env::join_paths(
        [crawl.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let pages = pages();
    assert!(pages.len() >= 12, "{} pages", pages.len());
    std::thread::scope(|scope| {
        let runs = pages.iter().map(|(name, script)| {
            let (path, seed) = (&path, server.url("/"));
            scope.spawn(move || {
                let bench = Bench::new();
                let folder = bench.path("guide");
                std::fs::create_dir(&folder).unwrap();
                write(&folder.join("seeds.txt"), seed);
                let output = Command::new("bash")
                    .args(["-euxo", "pipefail", "-c", script])
                    .current_dir(&folder)
                    .env("PATH", path)
                    // The pause between requests is the default of the program.
                    .env("HAPAX_DELAY", "0s")
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{name}: {}", text(&output.stderr));
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

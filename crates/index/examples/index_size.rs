//! Compares an index of main texts alone, as versions 1 and 2 wrote it, with one of all visible text: size, time to
//! write it, and time of a search for two words of a title. Times are the shortest of three rounds, in turn.
//!
//! `cargo run --release -p hapax-index --example index_size -- FOLDER`: the HTML files of a folder and its subfolders.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hapax_extract::{Document, Limits, extract, jieba};
use hapax_index::{Index, Page, Searcher};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROUNDS: usize = 3;
/// Maximum number of searches.
const SEARCHES: usize = 500;
/// tantivy's default, which versions 1 and 2 used.
const FORMER_BLOCK_BYTES: usize = 16_384;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("usage: index_size FOLDER")?;
    let mut files = Vec::new();
    find(Path::new(&folder), &mut files)?;
    files.sort();
    let base = url::Url::parse("http://a.example/")?;
    let mut documents = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&folder)?.to_string_lossy().into_owned();
        documents.push((name, extract(&base, None, &std::fs::read(file)?, &Limits::default())));
    }
    let below = std::env::temp_dir().join(format!("hapax-index-size-{}", std::process::id()));
    let sizes = [
        ("main text, blocks of 16 KiB, LZ4", true, false),
        ("all text, blocks of 16 KiB, LZ4", true, true),
        ("all text", false, true),
    ];
    let mut times = [[f64::MAX; 2]; 3];
    for round in 0..ROUNDS {
        for (number, (_, is_former, with_other)) in sizes.into_iter().enumerate() {
            let folder = below.join(format!("{number}-{round}"));
            let began = Instant::now();
            fill(&folder, &documents, is_former, with_other)?;
            let written = began.elapsed().as_secs_f64();
            let searched = search(&folder, &documents)?;
            if let Some(times) = times.get_mut(number) {
                *times = [times[0].min(written), times[1].min(searched)];
            }
        }
    }
    let mut first = 0;
    for (number, ((name, ..), [written, searched])) in sizes.into_iter().zip(times).enumerate() {
        let sizes = sizes_of(&below.join(format!("{number}-0")))?;
        let all: u64 = sizes.values().sum();
        first = if number == 0 { all } else { first };
        println!(
            "{name}: {all} bytes, {:.3} times the first; {:.0} pages/s written, {:.3} ms a search; {sizes:?}",
            all as f64 / first as f64,
            documents.len() as f64 / written,
            1000.0 * searched
        );
    }
    std::fs::remove_dir_all(&below)?;
    println!("{} pages", documents.len());
    Ok(())
}

/// Returns the seconds of a search for the two longest words of a title, as an average.
fn search(folder: &Path, documents: &[(String, Document)]) -> Result<f64> {
    let searcher = Searcher::open(folder, jieba)?;
    let queries = documents.iter().take(SEARCHES).map(|(_, document)| {
        let words = document.title.split(|c: char| !c.is_alphanumeric());
        let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.truncate(2);
        words.join(" ")
    });
    let queries: Vec<String> = queries.filter(|query| !query.is_empty()).collect();
    let began = Instant::now();
    for query in &queries {
        searcher.search(query, 10)?;
    }
    Ok(began.elapsed().as_secs_f64() / queries.len().max(1) as f64)
}

fn fill(
    folder: &Path,
    documents: &[(String, Document)],
    is_former: bool,
    with_other: bool,
) -> Result<()> {
    let mut index = Index::open(folder, jieba)?;
    if is_former {
        index.close()?;
        former(&folder.join("meta.json"))?;
        index = Index::open(folder, jieba)?;
    }
    // As a crawl that knows all pages: lines that three of them have.
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for (_, document) in documents {
        let lines: HashSet<&str> = document.text.split('\n').collect();
        lines.into_iter().for_each(|line| *counts.entry(line).or_default() += 1);
    }
    let is_of_site = |(_, line): &(usize, &str)| counts.get(line).is_some_and(|count| *count > 2);
    for (id, (name, document)) in documents.iter().enumerate() {
        let other = if with_other {
            document.other_text(document.comparison_text(|_| 0).thin)
        } else {
            String::new()
        };
        let lines: Vec<usize> = match with_other && !is_former {
            true => {
                document.text.split('\n').enumerate().filter(is_of_site).map(|(at, _)| at).collect()
            }
            false => Vec::new(),
        };
        index.add(&Page {
            site_lines: &lines,
            id: id as u64,
            url: name,
            title: &document.title,
            text: &document.text,
            other: &other,
            host: "a.example",
            site: "a.example",
            language: document.language,
            fetched: "2026-11-28T00:00:00Z",
            ..Page::default()
        })?;
    }
    index.commit()?;
    index.close()?;
    Ok(())
}

/// Makes an empty index one of an earlier version: its stored texts are compressed otherwise, and its meta.json has no checksum.
fn former(meta: &Path) -> Result<()> {
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(meta)?)?;
    let object = value.as_object_mut().ok_or("meta.json is not an object")?;
    object.remove("crc32");
    if let Some(settings) = object.get_mut("index_settings").and_then(|s| s.as_object_mut()) {
        settings.insert("docstore_blocksize".into(), FORMER_BLOCK_BYTES.into());
        settings.insert("docstore_compression".into(), "lz4".into());
    }
    Ok(std::fs::write(meta, serde_json::to_vec_pretty(&value)?)?)
}

/// Returns the bytes of an index by the ending of its files: `store` has the texts, `pos` positions of words.
fn sizes_of(folder: &Path) -> Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        *sizes.entry(kind).or_insert(0) += path.metadata()?.len();
    }
    Ok(sizes)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            files.push(path);
        }
    }
    Ok(())
}

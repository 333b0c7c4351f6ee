//! A toy crawler around the store: fetch, decide, index or discard, commit in groups.
//!
//!   cargo run -p hapax-dedup --example crawler_loop
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::collections::{BTreeMap, HashSet, VecDeque};

use hapax_dedup::{Document, FeatureHash, Options, Simhash, Sketch, Store, Verdict};

/// A web of four pages, two of which have nearly the same text.
fn web() -> BTreeMap<&'static str, (String, &'static [&'static str])> {
    let river = "the river rose in the spring and the people of the village moved to the hill until it fell ".repeat(4);
    let bread = "a baker who works for a village gets up at night and shapes the loaves before the first train ".repeat(4);
    BTreeMap::from([
        (
            "/",
            (
                "welcome to the smallest web there is".to_owned(),
                &["/river", "/bread", "/print/river"][..],
            ),
        ),
        ("/river", (river.clone(), &["/"][..])),
        ("/print/river", (format!("{river} printed for you"), &[][..])),
        ("/bread", (bread, &["/river"][..])),
    ])
}

fn document<'a>(url: &'a str, text: &str) -> Document<'a> {
    let hash = FeatureHash::default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut simhash = Simhash::new();
    for word in &words {
        simhash.add(hash.hash(word.as_bytes()), 1);
    }
    Document {
        sketch: Sketch::from_hashes(words.windows(3).map(|w| hash.hash(w.join(" ").as_bytes()))),
        tokens: u32::try_from(words.len()).unwrap_or(u32::MAX),
        ..Document::new(url.as_bytes(), simhash.finish())
    }
}

fn main() -> hapax_dedup::Result<()> {
    let web = web();
    let store = Store::in_memory(Options::default())?; // Store::open("folder", ...) keeps it
    let mut queue = VecDeque::from(["/"]);
    let mut seen = HashSet::from(["/"]);
    while let Some(url) = queue.pop_front() {
        let Some((text, links)) = web.get(url) else { continue };
        match store.offer(&document(url, text))? {
            Verdict::New(_) => println!("index    {url}"),
            Verdict::Known(_) => println!("known    {url}"),
            Verdict::Duplicate { of, .. } => {
                println!("discard  {url}: like number {}, distance {}", of.id, of.distance);
            }
        }
        // The crawler also follows links of discarded pages.
        queue.extend(links.iter().filter(|link| seen.insert(link)));
        store.commit(b"")?; // a real crawler commits in groups
    }
    Ok(())
}

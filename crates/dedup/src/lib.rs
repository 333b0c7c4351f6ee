/*!
Persistent near-duplicate detection: 64-bit simhash, permuted Hamming tables, a crash-safe store.

# Brief overview

- [`Simhash`] turns weighted, hashed features into a [`Fingerprint`]; [`FeatureHash`] names the hash.
- [`Sketch`] estimates the similarity of two texts and proposes what the Hamming distance misses.
- [`Layout`] says how 64 bits are cut into permuted tables; [`Tables`] looks fingerprints up in them.
- [`Store`] keeps documents: [`Store::offer`] answers new, known or duplicate, with the evidence, and
  [`Store::commit`] makes the answers durable.
- [`find_all`] and [`find_clusters`] work on a whole set at once.
- [`Policy`] holds the thresholds of the decision.

# Example

```
use hapax_dedup::{Document, FeatureHash, Options, Simhash, Sketch, Store, Verdict};

fn document<'a>(url: &'a str, text: &str) -> Document<'a> {
    let hash = FeatureHash::default();
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut simhash = Simhash::new();
    for word in &words {
        simhash.add(hash.hash(word.as_bytes()), 1);
    }
    Document {
        sketch: Sketch::from_hashes(words.windows(3).map(|w| hash.hash(w.join(" ").as_bytes()))),
        tokens: words.len() as u32,
        ..Document::new(url.as_bytes(), simhash.finish())
    }
}

# fn main() -> hapax_dedup::Result<()> {
let text = "one of two pages that say nearly the same about the weather of a long grey day in spring ".repeat(4);
let store = Store::in_memory(Options::default())?; // or Store::open("folder", ...)
assert!(matches!(store.offer(&document("http://a/", &text))?, Verdict::New(0)));
let copy = format!("{text} Today.");
match store.offer(&document("http://b/", &copy))? {
    Verdict::Duplicate { of, .. } => assert_eq!(of.id, 0),
    other => panic!("{other:?}"),
}
store.commit(b"")?; // durable when it returns
# Ok(())
# }
```
*/
#![warn(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")
)]

mod cluster;
mod dir;
mod error;
mod fingerprint;
mod hash;
mod layout;
mod plan;
mod policy;
mod record;
mod reference;
mod simhash;
mod sketch;
mod store;
mod tables;

pub use cluster::{
    BatchOptions, Clusters, Found, Pair, Progress, Source, Spool, find_all, find_clusters,
    find_each,
};
pub use dir::{Contents, Directory, FsDirectory, Guard, MemDirectory, Output};
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use hash::{FeatureHash, mix64};
pub use layout::{Layout, LayoutError, Lead, MAX_DISTANCE, MAX_OWN_TABLES};
pub use plan::{Plan, plans, published_designs};
pub use policy::{Level, Neighbour, Policy, Side, Verdict};
pub use record::{DocId, Document, Record};
pub use reference::{ExpandedSet, MAX_VARIANT_DISTANCE, near_by_probing, near_by_scan};
pub use simhash::{Simhash, TieRule};
pub use sketch::{BANDS, SKETCH_SIZE, Sketch};
pub use store::{MAX_BAND_BUCKET, MAX_KEY, Options, Report, Snapshot, Store};
pub use tables::{GrowingTables, Near, Shard, Simd, TableOptions, Tables};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

/*!
Persistent near-duplicate detection: 64-bit simhash, permuted Hamming tables, a crash-safe store.

# Brief overview

- [`Simhash`] turns weighted, hashed features into a [`Fingerprint`]; [`FeatureHash`] names the hash,
  [`Weights`] the weight of each kind. [`Plain`] is a recipe for who brings nothing but text.
- [`Sketch`] estimates the similarity of two texts and proposes what the Hamming distance misses.
- [`Layout`] says how 64 bits are cut into permuted tables, [`plans`] which one is best for how many
  pages; [`Tables`] looks fingerprints up in them, [`GrowingTables`] takes more, and a [`MemoryIndex`]
  numbers what is new.
- [`Store`] keeps documents: [`Store::offer`] answers new, known or duplicate, with the evidence, and
  [`Store::commit`] makes the answers durable, a [`Snapshot`] reads beside the writer.
- [`find_all`] and [`find_clusters`] work on a whole set at once, [`find_each`] also on one larger
  than memory.
- [`Policy`] holds the thresholds of the decision.

# Example

```
use hapax_dedup::{Options, PLAIN_RECIPE, Plain, Store, Verdict};

# fn main() -> hapax_dedup::Result<()> {
let options = Options { recipe: PLAIN_RECIPE.into(), ..Options::default() };
let store = Store::in_memory(options)?; // or Store::open("folder", options)
let mut plain = Plain::default(); // or features, hashes and weights of your own

let text = "one of two pages that say nearly the same about the weather of a long grey day in spring ".repeat(4);
assert!(matches!(store.offer(&plain.document(b"http://a/", &text))?, Verdict::New(0)));
let again = store.offer(&plain.document(b"http://b/", &format!("{text} Today.")))?;
assert!(matches!(again, Verdict::Duplicate { of, .. } if of.id == 0));
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
mod confirm;
mod dir;
mod error;
mod fingerprint;
mod hash;
mod layout;
mod limits;
mod numbers;
mod plain;
mod plan;
mod policy;
mod record;
mod reference;
mod row;
mod side;
mod simhash;
mod sketch;
mod store;
mod stores;
mod tables;

pub use cluster::{
    BatchOptions, Clusters, Found, Pair, Progress, Sorted, Sorter, Source, Spool, find_all,
    find_clusters, find_each,
};
pub use confirm::{Confirm, MAX_COMPARED, MAX_COMPARED_OF_ALL, Proposal};
pub use dir::{Contents, Directory, FsDirectory, Guard, MemDirectory, Output};
pub use error::{Error, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use hash::{FeatureHash, mix64};
pub use layout::{Layout, LayoutError, Lead, MAX_DISTANCE, MAX_OWN_TABLES};
pub use limits::{MAX_BAND_BUCKET, MAX_KEY, MAX_PAYLOAD, MAX_RECIPE};
pub use numbers::{NUMBERS_SIZE, Numbers};
pub use plain::{PLAIN_RECIPE, Plain};
pub use plan::{Plan, plans, published_designs};
pub use policy::{Level, Neighbour, Policy, Rule, Verdict, name_hash};
pub use record::{DocId, Document, Record};
pub use reference::{ExpandedSet, MAX_VARIANT_DISTANCE, near_by_probing, near_by_scan};
pub use side::Side;
pub use simhash::{FeatureKind, Simhash, TieRule, Weights};
pub use sketch::{BANDS, SKETCH_SIZE, Sketch};
pub use store::{MAX_CANDIDATES, Options, Report, Snapshot, Store};
pub use stores::DocumentStore;
pub use tables::{GrowingTables, MemoryIndex, Near, Offered, Shard, Simd, TableOptions, Tables};

/// Threads share these.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Store>();
    shared::<Snapshot>();
    shared::<MemoryIndex>();
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

/*!
Persistent near-duplicate detection for documents: 64-bit simhash, permuted Hamming tables and a crash-safe store.

# Tour

- [`Plain`] turns text into a [`Document`]. For custom features, [`Simhash`] turns weighted hashes into a
  [`Fingerprint`]; [`FeatureHash`] and [`Weights`] select hash and weights.
- [`Sketch`] has 64 samples of a text's three-word runs. The share of equal samples estimates the similarity of two texts.
  A band is a group of four samples: texts with an equal band are compared, even if the Hamming distance misses them.
- [`Store`] keeps documents. [`Store::offer`] answers new, known or duplicate, with the evidence. [`Store::commit`]
  makes answers durable. A [`Snapshot`] reads beside the writer. [`Policy`] has the thresholds of the decision.
- [`Layout`] cuts 64 bits into permuted tables. A probe is one look-up in one table, by the bits that lead it. [`plans`] returns the best layouts for a number of pages. [`Tables`]
  hold a fixed set, [`GrowingTables`] a growing one; [`MemoryIndex`] numbers new fingerprints.
- [`find_all`] and [`find_clusters`] process a whole set; [`find_each`] also one larger than memory.

Limits: keys of [`MAX_KEY`] bytes, distances up to [`MAX_DISTANCE`], one process per folder. Fingerprints of two
recipes cannot be compared.

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
mod lists;
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
pub use confirm::{Confirm, MAX_COMPARED, MAX_COMPARED_BY_NAME, MAX_COMPARED_OF_ALL, Proposal};
pub use dir::{Contents, Directory, FsDirectory, Guard, MemDirectory, Output};
pub use error::{Error, Result};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use hash::{FeatureHash, mix64};
pub use layout::{Layout, LayoutError, Lead, MAX_DISTANCE, MAX_OWN_TABLES};
pub use limits::{MAX_BAND_BUCKET, MAX_KEY, MAX_NAMED, MAX_PAYLOAD, MAX_RECIPE};
pub use lists::{LISTS, candidate_lists, names_a_page};
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

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Store>();
    shared::<Snapshot>();
    shared::<MemoryIndex>();
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

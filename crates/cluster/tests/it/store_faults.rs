//! The store during failures, and with very large buckets.

use std::time::{Duration, Instant};

use hapax_cluster::ClusterStore;
use hapax_dedup::{DocId, Document, DocumentStore, Fingerprint, MAX_BAND_BUCKET, Sketch, Verdict};

use crate::redis::RedisCluster;
use crate::{fresh_name, join, shared, store_suite as suite};

/// Bytes of a full bucket: 12 an entry.
const FULL: usize = 4 * MAX_BAND_BUCKET * 12;

fn open(address: &str, name: &str, worker: &str) -> ClusterStore {
    join(address, name, worker).store("test-1", suite::policy(), 1 << 20).unwrap()
}

fn document(key: &[u8], bits: u64) -> Document<'_> {
    Document { tokens: u32::MAX, ..Document::new(key, Fingerprint::from_bits(bits)) }
}

fn offer(store: &ClusterStore, document: &Document<'_>) -> Verdict {
    store.offer_many(std::slice::from_ref(document)).unwrap().remove(0)
}

fn new(store: &ClusterStore, document: &Document<'_>) -> DocId {
    let verdict = offer(store, document);
    let Verdict::New(id) = verdict else { panic!("{verdict:?}") };
    id
}

/// The key of a document, in one of 64 parts.
fn key_of(name: &str, id: DocId) -> String {
    format!("hapax:{{{name}.d{}}}:r:{id:x}", id % 64)
}

fn cli(cluster: &RedisCluster, command: &[&str]) -> String {
    cluster.cli(0, &[&["-c"], command].concat()).trim().to_owned()
}

#[test]
fn a_full_bucket_of_a_band_takes_no_more_and_those_of_hamming_tables_do() {
    let Some(cluster) = shared() else { return };
    let cluster = cluster.lock().unwrap();
    let name = fresh_name();
    let store = open(&cluster.address(), &name, "one");
    let sketch = Sketch::from_hashes(0..300).unwrap();
    // Four tables and the digests come before the bands.
    let bands = (5..).zip(sketch.bands()).map(|(table, band): (u64, u64)| {
        let lead = (band & 0xFFFF_FFFF) >> 16;
        format!("hapax:{{{name}.b{}}}:t{table}:{lead:x}", lead % 64)
    });
    let bands: Vec<String> = bands.collect();
    let hamming = format!("hapax:{{{name}.b0}}:t0:0");
    let length = |key: &str| cli(&cluster, &["strlen", key]).parse::<usize>().unwrap();
    // Over the limit, as if written before there was one.
    cli(&cluster, &["setrange", &bands[0], &(FULL + 11).to_string(), "x"]);
    cli(&cluster, &["setrange", &bands[1], &(FULL - 13).to_string(), "x"]);
    cli(&cluster, &["setrange", &hamming, &(16 * FULL - 1).to_string(), "x"]);
    let page = |key, bits| Document { sketch: Some(sketch), ..document(key, bits) };
    let id = new(&store, &page(b"first", 0));
    assert_eq!((length(&bands[0]), length(&bands[1])), (FULL + 12, FULL));
    assert_eq!((length(&bands[2]), length(&hamming)), (12, 16 * FULL + 16));
    // Found by one of the other bands.
    let Verdict::Duplicate { of, .. } = offer(&store, &page(b"second", 0xFF << 20)) else {
        panic!()
    };
    assert_eq!(of.id, id);
    assert_eq!(length(&bands[1]), FULL);
}

#[test]
fn a_failed_offer_can_be_repeated_and_settled() {
    let Some(cluster) = shared() else { return };
    let cluster = cluster.lock().unwrap();
    let name = fresh_name();
    let store = open(&cluster.address(), &name, "one");
    // The key is not a bucket: the claim succeeds, and nothing is decided.
    let bucket = format!("hapax:{{{name}.b0}}:t0:0");
    cli(&cluster, &["sadd", &bucket, "x"]);
    let page = document(b"page", 0);
    let began = Instant::now();
    store.offer_many(std::slice::from_ref(&page)).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10), "it does not pass by waiting");
    cli(&cluster, &["del", &bucket]);
    let id = new(&store, &page);
    assert_eq!(offer(&store, &page), Verdict::Known(id));

    let other = document(b"other", 0xFFFF << 30);
    let key = key_of(&name, new(&store, &other));
    let aside = format!("{key}:aside");
    cli(&cluster, &["rename", &key, &aside]);
    cli(&cluster, &["sadd", &key, "x"]);
    store.settle().unwrap_err();
    cli(&cluster, &["del", &key]);
    cli(&cluster, &["rename", &aside, &key]);
    assert!(store.settle().unwrap().is_empty());
    let second = open(&cluster.address(), &name, "two");
    for page in [&page, &other] {
        assert!(matches!(offer(&second, page), Verdict::Known(_)), "it is settled");
    }
    assert_eq!(store.count().unwrap(), 2);
    assert!(store.delete(id).unwrap() && !store.delete(id).unwrap());
    assert_eq!(store.count().unwrap(), 1);
}

#[test]
fn only_those_that_are_waited_for_are_given_up() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let stores = ["one", "two", "three"].map(|worker| open(&address, &name, worker));
    let [first, second, third] = &stores;
    // Tickets are taken in blocks: the first store has the lowest. `low` and `high` are both at distance 3 from the
    // second store's page, but not similar to each other.
    let low = new(first, &document(b"low", 0));
    new(second, &document(b"another", u64::MAX));
    let high = new(third, &document(b"high", 0b11_1111));
    {
        let cluster = cluster.lock().unwrap();
        for id in [low, high] {
            cli(&cluster, &["setrange", &key_of(&name, id), "0", "u"]);
        }
    }
    let middle = new(second, &document(b"middle", 0b111));
    let cluster = cluster.lock().unwrap();
    let state = |id| cli(&cluster, &["getrange", &key_of(&name, id), "0", "0"]);
    assert_eq!([low, middle, high].map(state), ["a", "k", "d"], "marked, not given up");
}

#[test]
fn supersede_ignores_nonexistent_documents() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let store = open(&address, &fresh_name(), "one");
    let id = new(&store, &document(b"page", 5));
    assert_eq!(store.supersede(id, 77).unwrap(), None);
    assert_eq!(store.supersede(77, id).unwrap(), None);
    let record = store.record(id).unwrap().unwrap();
    assert!(record.indexed && record.of.is_none());
}

#[test]
fn the_longest_worker_name_is_returned_untruncated() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let (name, worker) = (fresh_name(), "w".repeat(200));
    let store = open(&address, &name, &worker);
    new(&store, &document(b"page", 5));
    assert!(store.owns(b"page").unwrap());
    assert!(store.settle().unwrap().is_empty());
}

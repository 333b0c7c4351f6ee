use hapax_cluster::{Cluster, ClusterStore, Error, Options};
use hapax_dedup::{
    Document, DocumentStore, Fingerprint, Options as StoreOptions, Policy, Store, Verdict, mix64,
};

use crate::{fresh_name, join, shared, store_suite as suite};

fn open(address: &str, name: &str, worker: &str, pages: u64) -> ClusterStore {
    join(address, name, worker).store("test-1", suite::policy(), pages).unwrap()
}

#[test]
fn the_suite_of_stores_passes() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    for pages in [1 << 20, 1 << 30] {
        let store = || open(&address, &fresh_name(), "one", pages);
        suite::verdicts_come_with_their_evidence(&store());
        suite::a_batch_is_decided_in_its_order(&store());
        suite::decisions_can_be_taken_back(&store());
    }
}

/// 16 writers and planted pairs; `--ignored` uses 100,000.
fn at_once(pairs: u64) {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let stores: Vec<ClusterStore> =
        (0..16).map(|n| open(&address, &name, &format!("worker {n}"), 1 << 20)).collect();
    let stores: Vec<&dyn DocumentStore> = stores.iter().map(|s| s as &dyn DocumentStore).collect();
    suite::of_two_at_once_exactly_one_is_new(&stores, pairs);
}

#[test]
fn of_pairs_offered_by_16_writers_at_once_exactly_one_is_new() {
    at_once(4_000);
}

#[test]
#[ignore = "takes a minute"]
fn of_100_000_pairs_offered_by_16_writers_exactly_one_is_new() {
    at_once(100_000);
}

/// Compares each verdict with the embedded store's, on random fingerprints and on near ones.
#[test]
fn it_decides_as_the_embedded_store_does() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let options = StoreOptions {
        recipe: "test-1".into(),
        policy: suite::policy(),
        ..StoreOptions::default()
    };
    let embedded = Store::in_memory(options).unwrap();
    let shared = open(&address, &fresh_name(), "one", 1 << 20);
    let keys: Vec<String> = (0..1500).map(|n| format!("http://a.example/{n}")).collect();
    let documents: Vec<Document<'_>> = keys
        .iter()
        .zip(0u64..)
        .map(|(key, n)| {
            let bits = mix64(n % 500)
                ^ if n >= 500 { 1 << (mix64(n) % 64) | 1 << (mix64(n + 9) % 64) } else { 0 };
            Document {
                tokens: u32::MAX,
                ..Document::new(key.as_bytes(), Fingerprint::from_bits(bits))
            }
        })
        .collect();
    let describe = |store: &dyn DocumentStore| -> Vec<String> {
        let verdicts = store.offer_many(&documents).unwrap();
        let key = |id| String::from_utf8(store.record(id).unwrap().unwrap().key).unwrap();
        verdicts
            .iter()
            .map(|verdict| match verdict {
                Verdict::Duplicate { of, .. } => format!("{} at {}", key(of.id), of.distance),
                Verdict::New(_) => "new".into(),
                Verdict::Known(_) => "known".into(),
            })
            .collect()
    };
    let (theirs, ours) = (describe(&embedded), describe(&shared));
    for ((theirs, ours), key) in theirs.iter().zip(&ours).zip(&keys) {
        assert_eq!(theirs, ours, "{key}");
    }
}

#[test]
fn a_crawl_of_other_settings_is_refused_and_nothing_is_mixed() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let _store = open(&address, &name, "one", 1 << 20);
    let other = join(&address, &name, "two");
    let error = other.store("test-2", suite::policy(), 1 << 20).unwrap_err();
    assert!(matches!(error, Error::Differs { what: "recipe", .. }), "{error}");
    let policy = Policy { similarity: 0.9, ..suite::policy() };
    let error = other.store("test-1", policy, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::Differs { what: "rules", .. }), "{error}");
    let policy = Policy { distance: 4, ..suite::policy() };
    assert!(matches!(other.store("test-1", policy, 1).unwrap_err(), Error::Distance(3)));
    {
        let cluster = cluster.lock().unwrap();
        let key = format!("hapax:{{{name}}}:format");
        cluster.cli(0, &["-c", "set", &key, "99"]);
    }
    let error = other.store("test-1", suite::policy(), 1).unwrap_err();
    assert!(error.to_string().contains("format 99"), "{error}");
}

#[test]
fn a_worker_that_died_before_it_settled_leaves_its_pages_to_the_next() {
    let Some(cluster) = shared() else { return };
    let address = cluster.lock().unwrap().address();
    let name = fresh_name();
    let first = open(&address, &name, "one", 1 << 20);
    let second = open(&address, &name, "two", 1 << 20);
    let document =
        Document { tokens: u32::MAX, ..Document::new(b"page", Fingerprint::from_bits(7 << 20)) };
    let offer =
        |store: &ClusterStore| store.offer_many(std::slice::from_ref(&document)).unwrap().remove(0);
    let Verdict::New(id) = offer(&first) else { panic!() };
    // The lease moved: its new owner decides about the page again.
    assert_eq!(offer(&second), Verdict::New(id));
    assert_eq!(second.settle().unwrap(), Vec::<Vec<u8>>::new());
    // The first one comes back late and learns of the loss.
    assert_eq!(first.settle().unwrap(), [b"page".to_vec()]);
    assert_eq!(offer(&first), Verdict::Known(id));
    // The first worker restarts before it settled.
    let third = open(&address, &name, "one", 1 << 20);
    let page = Document {
        key: b"page 2",
        fingerprint: Fingerprint::from_bits(9 << 40),
        ..document.clone()
    };
    assert!(matches!(first.offer_many(std::slice::from_ref(&page)).unwrap()[0], Verdict::New(_)));
    assert!(matches!(third.offer_many(std::slice::from_ref(&page)).unwrap()[0], Verdict::New(_)));
}

#[test]
fn an_unreachable_cluster_is_reported_with_its_address() {
    let options = Options { patience: std::time::Duration::from_millis(200), ..Options::default() };
    let error = Cluster::join("redis://127.0.0.1:9", &options).unwrap_err();
    assert!(error.to_string().contains("redis://127.0.0.1:9 could not be used for"), "{error}");
}

//! One test for each mistake of another library.

use hapax_dedup::{
    Document, Fingerprint, GrowingTables, Layout, Options, Simhash, Store, Tables, Verdict,
    find_all, find_clusters, mix64,
};

fn fingerprint(bits: u64) -> Fingerprint {
    Fingerprint::from_bits(bits)
}

fn classic() -> Options {
    let mut options = Options::default();
    options.policy.hamming_only = true;
    options
}

#[test]
fn the_distance_itself_is_within_the_distance() {
    for distance in 0..=7 {
        let at = fingerprint((1 << distance) - 1);
        let layout = Layout::for_distance(distance).unwrap();
        let tables = Tables::build(&[at], &layout);
        assert_eq!(tables.near(fingerprint(0)).len(), 1, "{distance}");
        assert!(tables.near(fingerprint(1 << 63)).is_empty(), "{distance}");
    }
}

#[test]
fn exact_duplicates_are_reported() {
    let values = [10, 20, 10].map(fingerprint);
    let layout = Layout::new(5, 4).unwrap();
    assert_eq!(find_all(&values, &layout).unwrap().len(), 2);
    assert_eq!(find_clusters(&values, &layout).unwrap(), [[10, 10, 20].map(fingerprint)]);
    let store = Store::in_memory(classic()).unwrap();
    store.offer(&Document::new(b"a", fingerprint(7))).unwrap();
    let again = store.offer(&Document::new(b"b", fingerprint(7))).unwrap();
    assert!(matches!(again, Verdict::Duplicate { of, .. } if of.distance == 0));
}

#[test]
fn the_published_sets_have_the_published_pairs_and_clusters() {
    // The cases of simhash-cpp: 24 pairs in four clusters, and 20 pairs in one.
    let lane = [0xff, 0xef, 0xee, 0xce, 0x33];
    let lanes: Vec<Fingerprint> = (0..4)
        .flat_map(|lane_of| lane.map(|byte: u64| fingerprint(byte << (8 * lane_of))))
        .collect();
    let diverse = [
        0,
        0x1010_1000,
        0x1010_0010,
        0x1000_1010,
        0x0010_1010,
        0x0101_0100,
        0x0101_0001,
        0x0100_0101,
        0x0001_0101,
    ]
    .map(fingerprint);
    for blocks in 4..=9 {
        let layout = Layout::new(blocks, 3).unwrap();
        assert_eq!(find_all(&lanes, &layout).unwrap().len(), 24, "{blocks}");
        let clusters = find_clusters(&lanes, &layout).unwrap();
        assert_eq!(clusters.iter().map(Vec::len).collect::<Vec<_>>(), [4; 4], "{blocks}");
        assert_eq!(find_all(&diverse, &layout).unwrap().len(), 20, "{blocks}");
        assert_eq!(find_clusters(&diverse, &layout).unwrap().len(), 1, "{blocks}");
    }
}

#[test]
fn weights_above_255_do_not_overflow() {
    let mut heavy = Simhash::new();
    heavy.add(0b01, 599);
    heavy.add(0b10, u32::MAX);
    heavy.add(0b10, u32::MAX);
    heavy.add(0b01, u32::MAX);
    assert_eq!(heavy.finish().bits(), 0b10);
}

#[test]
fn sizes_are_what_was_put_in() {
    let values: Vec<Fingerprint> = (0..1000).map(|i| fingerprint(mix64(i))).collect();
    let layout = Layout::for_distance(3).unwrap();
    let mut growing = GrowingTables::new(layout.clone());
    values.iter().for_each(|&value| assert!(growing.insert(value)));
    let store = Store::in_memory(classic()).unwrap();
    for (number, &value) in values.iter().enumerate() {
        store.offer(&Document::new(&number.to_le_bytes(), value)).unwrap();
    }
    assert_eq!(
        (growing.len(), Tables::build(&values, &layout).len(), store.len()),
        (1000, 1000, 1000)
    );
}

#[test]
fn a_set_bit_is_a_majority_of_set_bits() {
    let mut simhash = Simhash::new();
    [0b011, 0b001, 0b101].iter().for_each(|&hash| simhash.add(hash, 1));
    assert_eq!(simhash.finish().bits(), 0b001, "neither inverted nor complemented");
}

#[test]
fn one_hot_bucket_does_not_slow_the_others() {
    // 50,000 values that agree in three of four blocks, then look-ups elsewhere.
    let layout = Layout::for_distance(3).unwrap();
    let hot: Vec<Fingerprint> = (0..50_000u64).map(fingerprint).collect();
    let tables = Tables::build(&hot, &layout);
    for query in 0..2000 {
        let query = fingerprint(mix64(query + 1) | 1 << 63);
        assert!(tables.near(query).is_empty() && tables.candidates(query) < 1000);
    }
    assert!(tables.candidates(hot[0]) > 50_000, "the bucket is hot");
    // Look-ups in the hot bucket still find everything.
    let query = fingerprint(1 << 20);
    let near = hot.iter().filter(|value| query.distance(**value) <= 3).count();
    assert_eq!(tables.near(query).len(), near);
    let pairs = find_all(&hot[..3000], &layout).unwrap().len();
    let expected = (0..3000u64)
        .flat_map(|a| (a + 1..3000).map(move |b| (a ^ b).count_ones()))
        .filter(|distance| *distance <= 3)
        .count();
    assert_eq!(pairs, expected);
}

#[test]
fn an_insert_moves_a_bucket_and_not_the_whole_set() {
    // Half of the insertions come before all stored values, the worst case of a sorted list: four times the
    // insertions would take 16 times the time instead of about 4. Both sets exceed a cache. They are measured
    // alternately, because the machine may be busy.
    let layout = Layout::for_distance(3).unwrap();
    let time = |count: u64| {
        let mut growing = GrowingTables::new(layout.clone());
        let started = std::time::Instant::now();
        (0..count).for_each(|i| assert!(growing.insert(fingerprint(mix64(i) >> (i % 2 * 20)))));
        started.elapsed()
    };
    let times: Vec<_> = (0..5).map(|_| (time(100_000), time(400_000))).collect();
    assert!(times.iter().any(|(few, many)| *many < *few * 10), "{times:?}");
}

#[test]
fn documents_can_be_deleted() {
    let store = Store::in_memory(classic()).unwrap();
    store.offer(&Document::new(b"a", fingerprint(7))).unwrap();
    assert!(store.delete(0).unwrap() && !store.delete(0).unwrap());
    assert_eq!(store.offer(&Document::new(b"b", fingerprint(7))).unwrap(), Verdict::New(1));
    assert_eq!(store.offer(&Document::new(b"a", fingerprint(7 ^ 1))).unwrap(), verdict(&store));
}

fn verdict(store: &Store) -> Verdict {
    let of = store.matches(&Document::new(b"x", fingerprint(7 ^ 1))).unwrap()[0];
    assert_eq!((of.id, of.distance), (1, 1));
    Verdict::Duplicate { id: 2, of }
}

#[test]
fn text_of_other_scripts_is_not_all_alike() {
    let mut plain = hapax_dedup::Plain::default();
    let texts = [
        "北京大学在北京",
        "上海交通大学在上海",
        "東京大学は東京にあります",
        "Привет, мир",
        "Γειά σου Κόσμε",
    ];
    let mut fingerprints: Vec<Fingerprint> =
        texts.iter().map(|text| plain.fingerprint(text)).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), texts.len());
}

#[cfg(feature = "serde")]
#[test]
fn verdicts_can_be_serialised() {
    let store = Store::in_memory(classic()).unwrap();
    store.offer(&Document::new(b"a", fingerprint(u64::MAX))).unwrap();
    let verdict = store.offer(&Document::new(b"b", fingerprint(u64::MAX - 1))).unwrap();
    let text = serde_json::to_string(&verdict).unwrap();
    assert!(text.contains("\"fingerprint\":\"ffffffffffffffff\""), "{text}");
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    let policy: hapax_dedup::Policy = serde_json::from_str("{\"distance\": 5}").unwrap();
    let misspelt = serde_json::from_str::<hapax_dedup::Policy>("{\"distence\": 5}").unwrap_err();
    assert!(misspelt.to_string().contains("unknown field `distence`"), "{misspelt}");
    assert_eq!((policy.distance, policy.short_tokens), (5, 50));
}

#[cfg(feature = "serde")]
#[test]
fn weights_are_data() {
    use hapax_dedup::Weights;
    let weights = Weights { image: 7, value: 11, ..Weights::default() };
    let text = serde_json::to_string(&weights).unwrap();
    assert_eq!(text, r#"{"shingle":1,"title":1,"heading":1,"image":7,"value":11}"#);
    assert_eq!(serde_json::from_str::<Weights>(&text).unwrap(), weights);
    let some: Weights = serde_json::from_str(r#"{"image":7,"value":11}"#).unwrap();
    assert_eq!(some, weights);
    assert!(serde_json::from_str::<Weights>(r#"{"images":7}"#).is_err());
}

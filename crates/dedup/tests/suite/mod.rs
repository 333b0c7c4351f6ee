//! The contract of every [`DocumentStore`]. Each function takes an empty store.

use std::sync::Barrier;

use hapax_dedup::{
    Document, DocumentStore, Fingerprint, Level, Numbers, Policy, Sketch, Verdict, mix64,
};

pub(crate) fn policy() -> Policy {
    Policy::default()
}

/// Returns a document of 300 tokens whose shingles are the numbers of a range.
fn document<'a>(key: &'a [u8], fingerprint: u64, shingles: std::ops::Range<u64>) -> Document<'a> {
    Document {
        digest: Some(
            mix64(shingles.start << 32 | shingles.end).to_le_bytes().repeat(2).try_into().unwrap(),
        ),
        sketch: Sketch::from_hashes(shingles.map(mix64)),
        tokens: 300,
        site: mix64(key.len() as u64),
        ..Document::new(key, Fingerprint::from_bits(fingerprint))
    }
}

fn one(store: &dyn DocumentStore, document: &Document<'_>) -> Verdict {
    store.offer_many(std::slice::from_ref(document)).unwrap().remove(0)
}

/// Checks new, known, and a duplicate on each level, with the evidence.
pub(crate) fn verdicts_come_with_their_evidence(store: &dyn DocumentStore) {
    let first = document(b"first", 0xFFFF_0000_FFFF_0000, 0..300);
    let Verdict::New(id) = one(store, &first) else { panic!("the first is new") };
    assert_eq!(one(store, &first), Verdict::Known(id));
    assert_eq!(store.id_of(b"first").unwrap(), Some(id));
    assert_eq!(store.id_of(b"other").unwrap(), None);

    let same = Document { key: b"an equal text", ..first.clone() };
    let Verdict::Duplicate { of, id: copy } = one(store, &same) else { panic!("equal text") };
    assert_eq!((of.id, of.level, of.distance, of.table), (id, Level::Text, 0, None));
    let record = store.record(copy).unwrap().unwrap();
    assert_eq!((record.of, record.key.as_slice()), (Some(id), &b"an equal text"[..]));

    let near = document(b"a near text", 0xFFFF_0000_FFFF_0007, 5..300);
    let Verdict::Duplicate { of, .. } = one(store, &near) else { panic!("within distance 3") };
    assert_eq!((of.id, of.level, of.distance), (id, Level::Hamming, 3));
    assert!(of.similarity.unwrap() > 0.8 && of.table.is_some(), "{of:?}");

    let band = document(b"a banded text", 0xFFFF_0000_FFFF_00FF, 10..300);
    let Verdict::Duplicate { of, .. } = one(store, &band) else { panic!("within a band") };
    assert_eq!((of.id, of.level, of.distance), (id, Level::Sketch, 8));

    let far = document(b"a far text", 0xFFFF_0000_FFFF_0001, 5000..5300);
    assert!(matches!(one(store, &far), Verdict::New(_)), "near by chance, and not alike");
    let empty = Document { tokens: 0, key: b"no text", ..first.clone() };
    assert!(matches!(one(store, &empty), Verdict::New(_)), "nothing duplicates nothing");
    assert_eq!(store.count().unwrap(), 6);
    assert!(store.settle().unwrap().is_empty());
    assert_eq!(one(store, &near), Verdict::Known(store.id_of(b"a near text").unwrap().unwrap()));
}

/// Checks that a batch has the verdicts of single offers.
pub(crate) fn a_batch_is_decided_in_its_order(store: &dyn DocumentStore) {
    let keys: Vec<Vec<u8>> = (0..200u64).map(|n| format!("page {n}").into_bytes()).collect();
    let documents: Vec<Document<'_>> = keys
        .iter()
        .zip(0u64..)
        .map(|(key, n)| Document {
            numbers: Numbers::NONE,
            ..document(key, mix64(n / 4) ^ (1 << (n % 4)), n / 4 * 1000..n / 4 * 1000 + 300 + n % 4)
        })
        .collect();
    let verdicts = store.offer_many(&documents).unwrap();
    for (n, four) in verdicts.chunks(4).enumerate() {
        let Verdict::New(id) = four[0] else { panic!("{n}: {:?}", four[0]) };
        for verdict in &four[1..] {
            let Verdict::Duplicate { of, .. } = verdict else { panic!("{n}: {verdict:?}") };
            assert_eq!(of.id, id, "all of the first, which is the best at equal similarity");
        }
    }
    let twice = [documents[0].clone(), documents[0].clone()];
    let known = Verdict::Known(store.id_of(b"page 0").unwrap().unwrap());
    assert_eq!(store.offer_many(&twice).unwrap(), [known, known]);
    assert_eq!(store.count().unwrap(), 200);
}

pub(crate) fn decisions_can_be_taken_back(store: &dyn DocumentStore) {
    let first = document(b"first", 1 << 40, 0..300);
    let second = document(b"second", 1 << 40 | 1, 0..301);
    let third = document(b"third", 1 << 40 | 2, 0..302);
    let Verdict::New(one_id) = one(store, &first) else { panic!() };
    let Verdict::Duplicate { id: two_id, .. } = one(store, &second) else { panic!() };
    let two_id = store.restore(two_id).unwrap().unwrap();
    assert_eq!(store.record(two_id).unwrap().unwrap().of, None);
    assert!(store.delete(one_id).unwrap());
    assert!(!store.delete(one_id).unwrap(), "it is gone");
    assert_eq!(store.id_of(b"first").unwrap(), None);
    let Verdict::Duplicate { of, id: three_id } = one(store, &third) else { panic!() };
    assert_eq!(of.id, two_id, "the restored one is found");

    let three_id = store.restore(three_id).unwrap().unwrap();
    let two_id = store.supersede(two_id, three_id).unwrap().unwrap();
    assert_eq!(store.record(two_id).unwrap().unwrap().of, Some(three_id));
    let Verdict::Duplicate { of, .. } = one(store, &first) else { panic!("offered again") };
    assert_eq!(of.id, three_id);
    assert_eq!(store.restore(u64::MAX - 9).unwrap(), None);

    // A missing document cannot be, or have, a duplicate.
    assert_eq!(store.supersede(three_id, u64::MAX - 9).unwrap(), None);
    assert_eq!(store.supersede(u64::MAX - 9, three_id).unwrap(), None);
    assert_eq!(store.record(three_id).unwrap().unwrap().of, None);
}

/// Checks that of two near-duplicates offered at the same time by any writers, exactly one is new.
///
/// `stores` are handles of one store; each is one writer. The two documents of a pair go to different writers in the
/// same batch.
pub(crate) fn of_two_at_once_exactly_one_is_new(stores: &[&dyn DocumentStore], pairs: u64) {
    let writers = stores.len() as u64;
    let barrier = Barrier::new(stores.len());
    let kept: Vec<Vec<(u64, bool)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let (store, barrier) = (stores[writer as usize], &barrier);
                scope.spawn(move || {
                    let mine = (0..pairs).flat_map(|pair| {
                        let first = (pair % writers == writer).then_some((pair, 0u64));
                        let second = ((pair + 1) % writers == writer).then_some((pair, 1));
                        [first, second]
                    });
                    let mine: Vec<(u64, u64)> = mine.flatten().collect();
                    let mut kept = Vec::new();
                    for batch in mine.chunks(50) {
                        let keys: Vec<Vec<u8>> = batch
                            .iter()
                            .map(|(pair, side)| format!("{pair}/{side}").into_bytes())
                            .collect();
                        let documents: Vec<Document<'_>> = batch
                            .iter()
                            .zip(&keys)
                            .map(|(&(pair, side), key)| {
                                let bits = mix64(pair) ^ (side << (pair % 64));
                                Document {
                                    tokens: u32::MAX,
                                    ..Document::new(key, Fingerprint::from_bits(bits))
                                }
                            })
                            .collect();
                        if kept.is_empty() {
                            barrier.wait();
                        }
                        for (verdict, (pair, _)) in
                            store.offer_many(&documents).unwrap().iter().zip(batch)
                        {
                            kept.push((*pair, matches!(verdict, Verdict::New(_))));
                        }
                    }
                    kept
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut new = vec![0; pairs as usize];
    kept.iter().flatten().for_each(|(pair, is_new)| new[*pair as usize] += u32::from(*is_new));
    let wrong = new.iter().filter(|&&new| new != 1).count();
    // Two of 10^5 random fingerprints are within 3 bits by chance with a probability of 10^-5.
    assert_eq!(
        wrong,
        0,
        "{:?}",
        new.iter().zip(0..).filter(|(new, _)| **new != 1).take(5).collect::<Vec<_>>()
    );
}

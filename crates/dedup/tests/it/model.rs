//! Random operations, compared with a model: a list of documents and an exhaustive scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_dedup::{Document, Fingerprint, Options, Store, Verdict};
use proptest::prelude::*;

use crate::recording::{Image, Recording};

#[derive(Clone, Debug)]
enum Step {
    Offer(u8, u64),
    Batch(Vec<(u8, u64)>),
    Delete(u8),
    Restore(u8),
    Supersede(u8, u8),
    Insert(u8, u64, Option<u8>),
    Expire(u64),
    Near(u64),
    Commit,
    Compact,
    Reopen(u32),
    Crash(u64),
}

/// Generates steps with a small set of keys and fingerprint families, so that documents interact.
fn step() -> impl Strategy<Value = Step> {
    let bits = || {
        (0u64..6, 0u64..64, 0u64..64, 0u64..64).prop_map(|(family, a, b, c)| {
            family.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << a ^ 1 << b ^ 1 << c
        })
    };
    prop_oneof![
        8 => (any::<u8>(), bits()).prop_map(|(key, bits)| Step::Offer(key, bits)),
        2 => prop::collection::vec((any::<u8>(), bits()), 0..12).prop_map(Step::Batch),
        2 => any::<u8>().prop_map(Step::Delete),
        1 => any::<u8>().prop_map(Step::Restore),
        2 => any::<(u8, u8)>().prop_map(|(key, of)| Step::Supersede(key, of)),
        1 => (any::<u8>(), bits(), any::<Option<u8>>())
            .prop_map(|(key, bits, of)| Step::Insert(key, bits, of)),
        1 => (0u64..4).prop_map(Step::Expire),
        3 => bits().prop_map(Step::Near),
        4 => Just(Step::Commit),
        1 => Just(Step::Compact),
        1 => (0u32..=7).prop_map(Step::Reopen),
        1 => any::<u64>().prop_map(Step::Crash),
    ]
}

/// Returns a time; a third of the documents have none and never expire.
fn time_of(key: u8) -> u64 {
    u64::from(key % 6).saturating_sub(1)
}

fn document(key: &u8, bits: u64) -> Document<'_> {
    let document = Document::new(std::slice::from_ref(key), Fingerprint::from_bits(bits));
    Document { time: time_of(*key), ..document }
}

#[derive(Clone, Debug, Default)]
struct Model {
    /// Number to key, fingerprint and the document it duplicates.
    documents: BTreeMap<u64, (u8, u64, Option<u64>)>,
    next: u64,
}

impl Model {
    fn id_of(&self, key: u8) -> Option<u64> {
        self.documents.iter().find(|(_, document)| document.0 == key).map(|(id, _)| *id)
    }

    fn near(&self, bits: u64, distance: u32) -> Vec<(u64, u32)> {
        let mut near: Vec<(u64, u32)> = self
            .documents
            .iter()
            .filter(|(_, document)| document.2.is_none())
            .map(|(id, document)| (*id, (document.1 ^ bits).count_ones()))
            .filter(|(_, found)| *found <= distance)
            .collect();
        near.sort_unstable_by_key(|&(id, distance)| (distance, id));
        near
    }

    fn offer(&mut self, key: u8, bits: u64, distance: u32) -> (u64, Option<u64>, bool) {
        if let Some(id) = self.id_of(key) {
            return (id, None, true);
        }
        let of = self.near(bits, distance).first().map(|(id, _)| *id);
        (self.put(key, bits, of), of, false)
    }

    fn put(&mut self, key: u8, bits: u64, of: Option<u64>) -> u64 {
        self.next += 1;
        self.documents.insert(self.next - 1, (key, bits, of));
        self.next - 1
    }

    fn restore(&mut self, id: u64) -> u64 {
        if self.documents[&id].2.is_none() {
            return id;
        }
        let (key, bits, _) = self.documents.remove(&id).unwrap();
        self.put(key, bits, None)
    }
}

fn plain(verdict: &Verdict) -> (u64, Option<u64>, bool) {
    match verdict {
        Verdict::New(id) => (*id, None, false),
        Verdict::Known(id) => (*id, None, true),
        Verdict::Duplicate { id, of } => (*id, Some(of.id), false),
    }
}

fn run(steps: &[Step], mut distance: u32, memtable_documents: usize, resident_bytes: usize) {
    let mut options = Options { memtable_documents, resident_bytes, ..Options::default() };
    options.policy.distance = distance;
    options.policy.hamming_only = true;
    let mut disk = Recording::default();
    let mut store = Store::open_in(Arc::new(disk.clone()), options.clone()).unwrap();
    let (mut model, mut durable) = (Model::default(), Model::default());
    for step in steps {
        match step {
            Step::Offer(key, bits) => {
                let verdict = store.offer(&document(key, *bits)).unwrap();
                assert_eq!(plain(&verdict), model.offer(*key, *bits, distance));
            }
            Step::Batch(batch) => {
                let documents: Vec<Document<'_>> =
                    batch.iter().map(|(key, bits)| document(key, *bits)).collect();
                let verdicts = store.offer_many(&documents).unwrap();
                for ((key, bits), verdict) in batch.iter().zip(verdicts) {
                    assert_eq!(plain(&verdict), model.offer(*key, *bits, distance));
                }
            }
            Step::Delete(key) => {
                if let Some(id) = model.id_of(*key) {
                    assert!(store.delete(id).unwrap());
                    model.documents.remove(&id);
                }
            }
            Step::Restore(key) => {
                if let Some(id) = model.id_of(*key) {
                    assert_eq!(store.restore(id).unwrap(), Some(model.restore(id)));
                }
            }
            Step::Supersede(key, of) => {
                if let (Some(id), Some(of)) = (model.id_of(*key), model.id_of(*of)) {
                    let superseded = store.supersede(id, of).unwrap();
                    let expected = (id != of).then(|| {
                        let of = model.restore(of);
                        let (key, bits, _) = model.documents.remove(&id).unwrap();
                        model.put(key, bits, Some(of))
                    });
                    assert_eq!(superseded, expected);
                }
            }
            Step::Insert(key, bits, of) => {
                let of = of.and_then(|of| model.id_of(of));
                let id = store.insert(&document(key, *bits), of).unwrap();
                let known = model.id_of(*key);
                assert_eq!(id, known.unwrap_or_else(|| model.put(*key, *bits, of)));
            }
            Step::Expire(before) => {
                let old = |key: u8| (1..*before).contains(&time_of(key));
                let count = model.documents.values().filter(|document| old(document.0)).count();
                model.documents.retain(|_, document| !old(document.0));
                assert_eq!(store.expire(*before).unwrap(), count as u64);
            }
            Step::Near(bits) => {
                let near = store.near(Fingerprint::from_bits(*bits)).unwrap();
                assert_eq!(near, model.near(*bits, distance));
            }
            Step::Commit => {
                store.commit(&model.next.to_le_bytes()).unwrap();
                durable = model.clone();
            }
            Step::Compact => {
                store.compact().unwrap();
                durable = model.clone();
            }
            Step::Reopen(other) => {
                drop(store);
                distance = *other;
                options.policy.distance = distance;
                disk = disk.healed();
                store = Store::open_in(Arc::new(disk.clone()), options.clone()).unwrap();
                model = durable.clone();
            }
            Step::Crash(seed) => {
                store.wait().unwrap();
                disk = disk.after_crash(disk.operations(), Image::Random(*seed));
                drop(store);
                store = Store::open_in(Arc::new(disk.clone()), options.clone()).unwrap();
                model = durable.clone();
            }
        }
        assert_eq!(store.len(), model.documents.len() as u64);
        assert_eq!(store.next_id(), model.next);
        let duplicates = model.documents.values().filter(|document| document.2.is_some()).count();
        assert_eq!(store.duplicates(), duplicates as u64);
    }
    store.check().unwrap();
    for key in 0..=255u8 {
        assert_eq!(store.id_of(&[key]).unwrap(), model.id_of(key));
    }
    for (id, (key, bits, of)) in &model.documents {
        let record = store.record(*id).unwrap().unwrap();
        assert_eq!((record.key, record.fingerprint.bits(), record.of), (vec![*key], *bits, *of));
    }
}

/// 256 cases per run; `PROPTEST_CASES` overrides it.
fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(cases.unwrap_or(256))
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn a_store_does_what_the_model_does(
        steps in prop::collection::vec(step(), 1..120), distance in 0u32..=7, memtable in 1usize..40,
        // Never resident, repeatedly dropped, always resident.
        resident in prop::sample::select(vec![0, 1 << 12, 1 << 28]),
    ) {
        run(&steps, distance, memtable, resident);
    }
}

//! The closest page of one kept page, by look-ups in the tables instead of a search among all pages.

use hapax_dedup::{Record, Store};

use super::{ClosestPage, KeptPage};
use crate::comparison::round;
use crate::error::Result;
use crate::tables::ELSEWHERE;

/// Returns the kept page that is most similar to this one; `None` if no kept page shares a band of its sketch. Of
/// equally similar pages the first one counts, as for all pages.
///
/// # Errors
/// From the store.
///
/// # Complexity
/// 16 look-ups in each segment of the store, and at most 512 rows for each.
pub fn closest_kept(store: &Store, id: u64) -> Result<Option<ClosestPage>> {
    let Some(own) = store.record(id)? else { return Ok(None) };
    let Some(sketch) = &own.sketch else { return Ok(None) };
    for (other, similarity) in store.snapshot().sharing_band(sketch)? {
        let record = if other == id { None } else { store.record(other)? };
        if let Some(record) = record.filter(is_kept) {
            let distance = own.fingerprint.distance(record.fingerprint);
            let url = String::from_utf8_lossy(&record.key).into_owned();
            let page = KeptPage { id: other, url };
            return Ok(Some(ClosestPage { page, similarity: round(similarity), distance }));
        }
    }
    Ok(None)
}

fn is_kept(record: &Record) -> bool {
    record.of.is_none() && record.indexed && !record.key.starts_with(ELSEWHERE.as_bytes())
}

#[cfg(test)]
mod tests {
    use hapax_dedup::{Document, Fingerprint, Options, Sketch};
    use proptest::prelude::*;

    use super::super::{NearMiss, NearMissOptions, NearMisses};
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_closest_page_of_one_page_is_that_of_the_search_among_all(
            texts in prop::collection::vec(
                (prop::option::of(prop::collection::vec(0u64..40, 1..40)), any::<bool>()),
                1..40,
            ),
            memtable in prop_oneof![Just(4), Just(1000)],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let options = Options {
                recipe: "test".into(), memtable_documents: memtable, ..Options::default()
            };
            let store = Store::open(folder.path().join("dedup"), options).unwrap();
            for (number, (text, is_elsewhere)) in (0u64..).zip(&texts) {
                let words = text.iter().flatten();
                let hashes = words.map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let prefix = if *is_elsewhere { ELSEWHERE } else { "" };
                let key = format!("{prefix}http://a.example/{number}");
                let bits = Fingerprint::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let document = Document {
                    tokens: 99,
                    sketch: Sketch::from_hashes(hashes).filter(|_| text.is_some()),
                    ..Document::new(key.as_bytes(), bits)
                };
                store.insert(&document, None).unwrap();
                store.commit(b"").unwrap();
            }
            let all = NearMisses::find(folder.path()).unwrap();
            let options = NearMissOptions { kinds: &[], similarity: 0.0, lines: usize::MAX };
            let mut seen = 0;
            all.lines(&options, |miss| {
                if let NearMiss::Closest { page, closest } = miss {
                    let single = closest_kept(&store, page.id)?;
                    assert_eq!(single, closest, "{page:?}");
                    seen += 1;
                }
                Ok::<_, crate::Error>(())
            }).unwrap();
            prop_assert_eq!(seen, texts.iter().filter(|(_, is_elsewhere)| !is_elsewhere).count());
            prop_assert_eq!(closest_kept(&store, 1000).unwrap(), None);
        }
    }
}

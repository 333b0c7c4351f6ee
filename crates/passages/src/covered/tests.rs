use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::finder::Finder;
use crate::options::Options;

fn search(texts: &[Vec<u64>], options: Options) -> Found {
    let mut finder = Finder::new(&std::env::temp_dir(), options).unwrap();
    texts.iter().for_each(|text| finder.add(text).unwrap());
    finder.find().unwrap()
}

fn parts(found: &Found, least: u32) -> Vec<Covered> {
    let mut parts = Vec::new();
    found
        .covered(
            least,
            |run, places| {
                assert!(run.documents >= least && places.len() >= least as usize);
                true
            },
            |part| {
                parts.push(part);
                Ok::<_, Error>(())
            },
        )
        .unwrap();
    parts
}

/// The indexes of `text` in runs of at least `words` words that `is_common` accepts.
fn in_runs(text: &[u64], words: usize, is_common: impl Fn(&[u64]) -> bool) -> BTreeSet<usize> {
    let starts = 0..(text.len() + 1).saturating_sub(words);
    let common = starts.filter(|start| is_common(&text[*start..start + words]));
    common.flat_map(|start| start..start + words).collect()
}

/// The definition: part, whole, counted words of both, and the shared ones.
fn slow(texts: &[Vec<u64>], options: Options, least: usize) -> Vec<(u32, u32, [u32; 2], u32)> {
    let has = |text: &[u64], run: &[u64]| text.windows(run.len()).any(|window| window == run);
    let counted: Vec<BTreeSet<usize>> = texts
        .iter()
        .map(|text| {
            let ignored = in_runs(text, options.seed_words, |run| {
                texts.iter().filter(|other| has(other, run)).count() >= least
            });
            (0..text.len()).filter(|at| !ignored.contains(at)).collect()
        })
        .collect();
    let mut found = Vec::new();
    for (part, text) in texts.iter().enumerate() {
        for (whole, other) in texts.iter().enumerate().filter(|(whole, _)| *whole != part) {
            let words = [counted[part].len(), counted[whole].len()];
            let common = in_runs(text, options.min_words, |run| has(other, run));
            let shared = common.intersection(&counted[part]).count();
            if words[0] >= options.min_words
                && 4 * words[1] >= 5 * words[0]
                && 10 * shared >= 9 * words[0]
            {
                found.push((part as u32, whole as u32, words.map(|n| n as u32), shared as u32));
            }
        }
    }
    found
}

/// Documents of paragraphs from a small stock, so that many are parts of others, with fresh words in between.
fn texts() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let paragraph = (0u64..6, 0usize..4, 1usize..24, 0usize..3);
    let document = prop::collection::vec(paragraph, 0..5);
    prop::collection::vec(document, 0..7).prop_map(|documents| {
        let mut fresh = 1000;
        let mut text = |document: Vec<(u64, usize, usize, usize)>| {
            let mut text = Vec::new();
            for (from, skipped, words, own) in document {
                text.extend((from * 50..from * 50 + 24).skip(skipped).take(words));
                text.extend(fresh..fresh + own as u64);
                fresh += own as u64;
            }
            text
        };
        documents.into_iter().map(&mut text).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn covered_documents_are_those_of_the_definition(
        texts in texts(), min_words in 5usize..12, least in 2u32..5,
    ) {
        let options = Options { min_words, seed_words: 4, ..Options::default() };
        let found = search(&texts, options);
        prop_assume!(found.totals().repeated_anchors == 0);
        let fast: Vec<_> =
            parts(&found, least).iter().map(|c| (c.part, c.whole, c.words, c.shared)).collect();
        prop_assert_eq!(fast, slow(&texts, options, least as usize));
    }

    /// The order of the documents changes their numbers alone.
    #[test]
    fn the_order_of_documents_changes_no_part(texts in texts()) {
        let options = Options { min_words: 6, seed_words: 4, ..Options::default() };
        let mut backwards = texts.clone();
        backwards.reverse();
        let [one, other] = [&texts, &backwards].map(|texts| {
            let found = search(texts, options);
            let text = |document: u32| texts[document as usize].clone();
            let mut parts: Vec<_> = parts(&found, 3)
                .iter()
                .map(|c| (text(c.part), text(c.whole), c.words, c.shared, c.longest))
                .collect();
            parts.sort();
            (found.totals().repeated_anchors, parts)
        });
        prop_assume!(one.0 == 0 && other.0 == 0);
        prop_assert_eq!(one.1, other.1);
    }
}

#[test]
fn a_part_has_nine_tenths_of_its_words_in_runs_of_a_longer_document() {
    let whole: Vec<u64> = (0..400).collect();
    let with_own = |own: u64| (100..200).chain(9_000..9_000 + own).collect::<Vec<u64>>();
    for (own, is_part) in [(0, true), (11, true), (12, false)] {
        let found = search(&[with_own(own), whole.clone()], Options::default());
        let parts = parts(&found, 3);
        assert_eq!(parts.len(), usize::from(is_part), "{own}");
        if let Some(part) = parts.first() {
            assert_eq!((part.part, part.whole, part.words[1]), (0, 1, 400));
            assert_eq!((part.words[0] as u64, part.shared), (100 + own, 100));
            assert_eq!(part.longest, (0, 100));
        }
    }
    // Runs of fewer than 40 words do not count, and a document of nearly the same length is no whole.
    let pieces: Vec<u64> = (0..3).flat_map(|at| at * 100..at * 100 + 39).collect();
    assert_eq!(parts(&search(&[pieces, whole.clone()], Options::default()), 3), []);
    let most = whole[..330].to_vec();
    assert_eq!(parts(&search(&[most, whole], Options::default()), 3), []);
}

#[test]
fn ignored_runs_are_no_words_of_a_part() {
    let notice: Vec<u64> = (5_000..5_045).collect();
    let page = |from: u64, words: u64| [(from..from + words).collect(), notice.clone()].concat();
    // Its own words are in no other document; all of the rest is the notice.
    let own_words = page(100, 4);
    let part = page(1_000, 80);
    let whole = [(1_000..1_080).collect::<Vec<u64>>(), page(3_000, 100)].concat();
    let found = search(&[own_words, part, whole], Options::default());
    let parts = parts(&found, 3);
    assert_eq!(parts.len(), 1);
    assert_eq!((parts[0].part, parts[0].whole, parts[0].words), (1, 2, [80, 180]));
}

#[test]
fn a_stopped_search_ends() {
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut finder = Finder::new(&std::env::temp_dir(), Options::default()).unwrap();
    finder.stops_at(std::sync::Arc::clone(&stop));
    finder.add(&[1; 100]).unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(finder.add(&[2]), Err(Error::Stopped)));
    assert!(matches!(finder.find(), Err(Error::Stopped)));
}

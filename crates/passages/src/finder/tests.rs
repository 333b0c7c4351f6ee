use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::types::{NearPair, Place, Shared};

fn search(texts: &[Vec<u64>], options: Options) -> Found {
    let mut finder = Finder::new(&std::env::temp_dir(), options).unwrap();
    for text in texts {
        finder.add(text).unwrap();
    }
    finder.find().unwrap()
}

/// Length and places of each passage.
fn passages(found: &Found) -> BTreeSet<(u32, Vec<Place>)> {
    found.passages().iter().map(|one| (one.words, found.places(one).unwrap())).collect()
}

/// The definition: all runs of at least `min` words, with their places. A run is a passage if it is on two documents
/// and in its places the words before differ, and the words behind.
fn slow(texts: &[Vec<u64>], min: usize) -> BTreeSet<(u32, Vec<Place>)> {
    let mut runs: BTreeMap<&[u64], Vec<Place>> = BTreeMap::new();
    for (document, text) in (0..).zip(texts) {
        for start in 0..text.len() {
            for end in start + min..=text.len() {
                let place = Place { document, start: start as u32 };
                runs.entry(&text[start..end]).or_default().push(place);
            }
        }
    }
    let differ = |words: Vec<Option<u64>>| {
        words.len() > 1 && (words.contains(&None) || words.iter().any(|word| *word != words[0]))
    };
    runs.retain(|run, places| {
        let at = |place: &Place, by: isize| {
            let at = (place.start as usize).checked_add_signed(by)?;
            texts[place.document as usize].get(at).copied()
        };
        places.iter().any(|place| place.document != places[0].document)
            && differ(places.iter().map(|place| at(place, -1)).collect())
            && differ(places.iter().map(|place| at(place, run.len() as isize)).collect())
    });
    runs.into_iter().map(|(run, places)| (run.len() as u32, places)).collect()
}

/// Documents of fresh words, with copies of pieces of earlier ones.
fn texts() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let piece = (any::<bool>(), 0usize..1000, 0usize..1000, 1usize..30);
    let document = prop::collection::vec(piece, 0..6);
    prop::collection::vec(document, 0..7).prop_map(|documents| {
        let (mut texts, mut fresh): (Vec<Vec<u64>>, u64) = (Vec::new(), 0);
        for document in documents {
            let mut text = Vec::new();
            for (copied, from, start, words) in document {
                let source = texts.get(from % texts.len().max(1)).filter(|text| !text.is_empty());
                match source.filter(|_| copied) {
                    Some(source) => {
                        let start = start % source.len();
                        text.extend(source[start..].iter().take(words));
                    }
                    None => {
                        text.extend(fresh..fresh + words as u64);
                        fresh += words as u64;
                    }
                }
            }
            texts.push(text);
        }
        texts
    })
}

/// Returns whether a document repeats an anchor so often that some places are not stored.
fn is_limited(found: &Found) -> bool {
    found.totals().repeated_anchors > 0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn passages_are_the_maximal_repeats_of_the_definition(
        texts in texts(), min_words in 4usize..14, seed_words in 4usize..14,
    ) {
        let options = Options { min_words, seed_words, gain: 1, ..Options::default() };
        let found = search(&texts, options);
        prop_assume!(!is_limited(&found));
        prop_assert_eq!(passages(&found), slow(&texts, min_words));
    }

    /// Few different words, so that most repeats overlap and repeat inside a document.
    #[test]
    fn passages_of_monotonous_texts_are_true_repeats(
        texts in prop::collection::vec(prop::collection::vec(0u64..2, 0..50), 0..6), min_words in 4usize..9,
    ) {
        let options = Options { min_words, seed_words: 4, gain: 1, ..Options::default() };
        let found = search(&texts, options);
        let (fast, slow) = (passages(&found), slow(&texts, min_words));
        if !is_limited(&found) {
            prop_assert_eq!(&fast, &slow);
        }
        for (words, places) in fast {
            let run = |place: &Place| &texts[place.document as usize][place.start as usize..][..words as usize];
            prop_assert!(places.iter().all(|place| run(place) == run(&places[0])));
        }
    }

    /// Every maximal common run of two documents is a passage with both places.
    #[test]
    fn each_maximal_run_of_two_documents_is_found(texts in texts()) {
        let options = Options { min_words: 6, seed_words: 5, gain: 1, ..Options::default() };
        let found = search(&texts, options);
        prop_assume!(!is_limited(&found));
        let passages = passages(&found);
        for (a, one) in (0u32..).zip(&texts) {
            for (b, other) in (0u32..).zip(&texts).skip(a as usize + 1) {
                for (i, j) in (0..one.len()).flat_map(|i| (0..other.len()).map(move |j| (i, j))) {
                    let begins = i == 0 || j == 0 || one[i - 1] != other[j - 1];
                    let words = one[i..].iter().zip(&other[j..]).take_while(|(x, y)| x == y).count();
                    if !begins || words < 6 { continue; }
                    let places = [Place { document: a, start: i as u32 }, Place { document: b, start: j as u32 }];
                    let is_found = passages.iter().any(|(length, found)| {
                        *length as usize == words && places.iter().all(|place| found.contains(place))
                    });
                    prop_assert!(is_found);
                }
            }
        }
    }

    /// Omitted passages are only a little longer than a reported one inside them.
    #[test]
    fn an_omitted_passage_has_a_reported_one_inside(texts in texts(), gain in 2usize..12) {
        let options = Options { min_words: 5, seed_words: 4, gain, ..Options::default() };
        let found = search(&texts, options);
        prop_assume!(!is_limited(&found));
        let reported = passages(&found);
        for (words, places) in slow(&texts, 5) {
            let has = reported.iter().any(|(length, inner)| {
                (words - length.min(&words)) < gain as u32 && inner.iter().any(|inner| {
                    inner.document == places[0].document
                        && places[0].start <= inner.start
                        && inner.start + length <= places[0].start + words
                })
            });
            prop_assert!(has, "{} {:?}", words, places);
        }
    }

    #[test]
    fn a_second_search_finds_the_same(texts in texts()) {
        let options = Options { min_words: 8, seed_words: 5, ..Options::default() };
        let all = |found: &Found| {
            let mut pairs = Vec::new();
            found.pairs(|pair| { pairs.push(pair); Ok::<_, Error>(()) }).unwrap();
            (found.passages().to_vec(), pairs)
        };
        prop_assert_eq!(all(&search(&texts, options)), all(&search(&texts, options)));
    }
}

fn pairs(found: &Found) -> (Vec<NearPair>, Vec<crate::Contained>) {
    let (mut near, mut parts) = (Vec::new(), Vec::new());
    found
        .pairs(|pair| {
            match pair {
                Shared::Near(pair) => near.push(pair),
                Shared::Part(part) => parts.push(part),
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    (near, parts)
}

#[test]
fn a_paragraph_with_changed_words_is_a_near_pair() {
    let mut copy: Vec<u64> = (100..200).collect();
    for at in [30, 55, 80] {
        copy[at] = 7;
    }
    let one: Vec<u64> = (0..300).collect();
    let other: Vec<u64> = (1000..1100).chain(copy).chain(2000..2100).collect();
    let (near, parts) = pairs(&search(&[one, other], Options::default()));
    assert_eq!(near.len(), 1);
    assert_eq!(near[0].first, (Place { document: 0, start: 100 }, 100));
    assert_eq!(near[0].second, (Place { document: 1, start: 100 }, 100));
    assert!((near[0].similarity() - 0.97).abs() < 1e-9);
    assert_eq!(parts, []);
}

#[test]
fn a_document_inside_a_longer_one_is_contained_and_an_equal_one_once() {
    let whole: Vec<u64> = (0..400).collect();
    let mut part: Vec<u64> = (100..220).collect();
    part[60] = 9_999;
    let less: Vec<u64> = (300..350).chain(5_000..5_020).collect();
    let texts = [part, whole.clone(), less, whole];
    let (_, parts) = pairs(&search(&texts, Options::default()));
    let found: Vec<_> = parts.iter().map(|one| (one.part, one.whole)).collect();
    assert_eq!(found, [(0, 1), (3, 1)]);
    assert!((parts[0].share - 119.0 / 120.0).abs() < 1e-9);
    assert_eq!(parts[1].share, 1.0);
}

#[test]
fn one_word_a_million_times_is_searched_within_limits() {
    let million = vec![5; 1_000_000];
    let longer = vec![5; MAX_WORDS_PER_DOCUMENT + 7];
    let mixed: Vec<u64> = [vec![1, 2], vec![5; 5000], vec![3]].concat();
    let found = search(&[million, longer, mixed], Options::default());
    assert_eq!(found.totals().words_beyond_limit, 7);
    assert!(found.totals().repeated_anchors > 1_000_000);
    assert_eq!(found.totals().cut_runs, 0);
    assert!(!found.passages().is_empty());
    assert!(found.passages().len() < 100, "{}", found.passages().len());
    pairs(&found);
}

#[test]
fn noise_has_no_passage() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 54
    };
    let texts: Vec<Vec<u64>> = (0..50).map(|_| (0..2000).map(|_| next()).collect()).collect();
    assert!(search(&texts, Options::default()).passages().is_empty());
    assert!(search(&[], Options::default()).passages().is_empty());
}

#[test]
fn beginnings_of_one_text_have_few_passages() {
    let text: Vec<u64> = (0..2000).collect();
    let texts: Vec<Vec<u64>> = (50..2000).step_by(5).map(|end| text[..end].to_vec()).collect();
    let found = search(&texts, Options { gain: 1, ..Options::default() });
    let places: u64 = found.runs.runs.iter().map(|run| u64::from(run.places)).sum();
    // All levels would have 390 * 391 / 2.
    assert!(places < 20_000, "{places}");
    let longest = found.passages().iter().map(|passage| passage.words).max();
    assert!(longest.is_some_and(|words| words > 1_700), "{longest:?}");
}

/// A template phrase is on each document more often than a monotonous anchor may be.
#[test]
fn a_copied_run_is_found_among_many_repetitions_of_a_phrase() {
    let phrase: Vec<u64> = (0..12).collect();
    let sentence = |own: u64| [&phrase[..], &[own]].concat();
    let text = |from: u64| (from..from + 100).flat_map(sentence).collect::<Vec<u64>>();
    let copied = text(5_000);
    let one = [text(1_000), copied[..130].to_vec(), text(2_000)].concat();
    let other = [text(3_000), copied[..130].to_vec()].concat();
    let found = search(&[one, other], Options::default());
    let longest = found.passages().iter().max_by_key(|passage| passage.words).unwrap();
    assert_eq!((longest.words, longest.documents), (130, 2));
    assert_eq!(found.totals().repeated_anchors, 0);
}

#[test]
fn cycles_of_words_on_many_documents_end_within_limits() {
    let cycle: Vec<u64> = (0..17).collect();
    let texts: Vec<Vec<u64>> = (0..20)
        .map(|more| cycle.iter().cycle().skip(more).take(20_000).copied().collect())
        .collect();
    let found = search(&texts, Options::default());
    assert!(found.totals().repeated_anchors > 0 && found.totals().cut_runs > 0);
    for passage in found.passages().iter().take(50) {
        let places = found.places(passage).unwrap();
        let run = |place: &Place| {
            &texts[place.document as usize][place.start as usize..][..passage.words as usize]
        };
        assert!(places.iter().all(|place| run(place) == run(&places[0])));
    }
}

#[test]
fn documents_contribute_fewer_places_to_a_frequent_anchor() {
    let pairs: Vec<Pair> =
        (0..10).flat_map(|page: u64| (0..8).map(move |at| [7, page << 32 | at << 12])).collect();
    let places = |limit| first_of_each(&pairs, limit);
    assert_eq!(places(80).len(), 80);
    assert_eq!(places(79).len(), 40);
    assert_eq!(places(20).iter().filter(|place| place.document == 3).count(), 2);
    assert_eq!(places(7).len(), 7);
}

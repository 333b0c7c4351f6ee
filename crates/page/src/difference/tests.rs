use proptest::prelude::*;

use super::*;

const NAMES: [&str; 2] = ["the first", "the second"];

const TEXT: &str = "The ferry leaves the harbour at dawn and comes back when the fog has lifted.\n\
    Nobody on the island owns a car, so that the road is used by goats and by the priest.\n\
    In winter the school is closed for a week, because the stove takes as long to get warm.\n\
    The lighthouse was painted white again, though it had been white before and will be white.";

fn difference(first: &str, second: &str) -> (Difference, Words, Words) {
    let (first, second) = (Words::of(first), Words::of(second));
    (compare(&first, &second), first, second)
}

fn kinds(first: &str, second: &str) -> Vec<PartKind> {
    difference(first, second).0.parts.iter().map(|part| part.kind).collect()
}

#[test]
fn equal_texts_have_no_parts_whatever_the_order_of_their_lines() {
    assert_eq!(difference(TEXT, TEXT).0.parts, []);
    let turned: Vec<&str> = TEXT.lines().rev().collect();
    let (turned, ..) = difference(TEXT, &turned.join("\n"));
    assert_eq!((turned.parts.len(), turned.jaccard(), turned.own), (0, 1.0, [0, 0]));
    assert_eq!(difference("", "").0.jaccard(), 1.0);
}

#[test]
fn a_block_that_is_added_is_one_part_and_the_own_share_of_one_side() {
    let longer =
        format!("{TEXT}\nAnna wrote: I was there as a child.\nBen wrote: me too, in spring.");
    let (difference, first, second) = difference(TEXT, &longer);
    let [part] = &difference.parts[..] else { panic!("{difference:?}") };
    assert_eq!((part.kind, part.first.len(), part.second.len()), (PartKind::Added, 0, 14));
    assert_eq!(difference.own, [0, 14]);
    let [shares_first, shares_second] = difference.containment();
    assert!(shares_first == 1.0 && shares_second < 0.9);
    let words = phrases(&difference, [&first, &second], NAMES);
    assert_eq!(words, ["only in the second, 14 words: \"anna wrote i was there as a child ...\""]);
}

#[test]
fn a_template_substitution_is_distinguished_from_a_changed_word() {
    let shop = |colour: &str| format!("{TEXT}\nThe tee in {colour} is new.\nOrder {colour} here.");
    let (two, first, second) = difference(&shop("navy"), &shop("rust red"));
    let substitutions = two.substitutions(&first, &second);
    assert_eq!(substitutions.len(), 1);
    assert_eq!(
        (&*substitutions[0].first, &*substitutions[0].second, substitutions[0].times),
        ("navy", "rust red", 2)
    );
    let (one, first, second) = difference(TEXT, &TEXT.replace("goats", "sheep"));
    assert_eq!(one.substitutions(&first, &second), []);
    assert_eq!(
        phrases(&one, [&first, &second], NAMES),
        ["other words, 1 word: \"goats\" -> \"sheep\""]
    );
}

#[test]
fn dates_counters_and_numbers_are_distinguished() {
    let page = |line: &str| format!("{TEXT}\n{line}");
    let two = |first: &str, second: &str| kinds(&page(first), &page(second));
    assert_eq!(two("Posted 3 hours ago", "Posted 5 hours ago"), [PartKind::Date]);
    assert_eq!(two("1204 views", "1388 views"), [PartKind::Counter]);
    let weighs = |grams: u32| format!("The parcel weighs {grams} grams and is round");
    assert_eq!(two(&weighs(120), &weighs(95)), [PartKind::Number]);
    let dated = difference(&page("Posted 3 hours ago"), &page("Posted 5 hours ago")).0;
    assert_eq!(dated.own, [0, 0], "no part of the text");
}

#[test]
fn a_paragraph_that_is_cut_elsewhere_is_moved() {
    let joined = TEXT.replace("lifted.\nNobody", "lifted. Nobody");
    let found = kinds(TEXT, &joined);
    assert!(found.iter().all(|kind| *kind == PartKind::Moved), "{found:?}");
}

#[test]
fn hostile_texts_end_in_time() {
    let one = "word ".repeat(200_000);
    let lines = (0..200_000).map(|at| format!("{at}\n")).collect::<String>();
    let noise: String = (0..200_000u64)
        .map(|at| format!("{} ", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50))
        .collect();
    let alike: String = (0..60_000).map(|at| if at % 3 == 0 { "a " } else { "b " }).collect();
    for (first, second) in
        [(&one, &alike), (&alike, &noise), (&lines, &noise), (&one, &lines), (&noise, &one)]
    {
        let (difference, ..) = difference(first, second);
        assert!(difference.cut);
    }
}

proptest! {
    #[test]
    fn it_is_the_same_in_both_orders(
        first in "([a-f]{1,2} ){0,40}(\n([a-f]{1,2} ){0,40}){0,4}",
        second in "([a-f]{1,2} ){0,40}(\n([a-f]{1,2} ){0,40}){0,4}",
    ) {
        let (one, ..) = difference(&first, &second);
        let (other, ..) = difference(&second, &first);
        prop_assert_eq!(one.shared, other.shared);
        prop_assert_eq!(one.own, [other.own[1], other.own[0]]);
        prop_assert_eq!(one.parts.len(), other.parts.len());
        let mut met = vec![0; one.words[0]];
        one.parts.iter().flat_map(|part| part.first.clone()).for_each(|at| met[at] += 1);
        prop_assert!(met.iter().all(|times| *times <= 1));
    }

    #[test]
    fn a_copy_with_changed_words_differs_in_these(
        // Lines of ten words: five changed words in a short line would make the line unique.
        words in (4usize..20).prop_flat_map(|lines| prop::collection::vec("[a-z]{3,8}", lines * 10)),
        at in prop::collection::vec(0usize..200, 1..6),
    ) {
        let text: Vec<String> = words.chunks(10).map(|line| line.join(" ")).collect();
        let mut changed = words.clone();
        let mut count = 0;
        for at in at.into_iter().filter(|at| *at < words.len()) {
            count += usize::from(changed[at] == words[at]);
            changed[at] = format!("{}x9z", words[at]);
        }
        let changed: Vec<String> = changed.chunks(10).map(|line| line.join(" ")).collect();
        let (difference, ..) = difference(&text.join("\n"), &changed.join("\n"));
        prop_assert_eq!(difference.shared, words.len() - count);
        prop_assert_eq!(difference.own, [count, count]);
    }

    #[test]
    fn anything_is_compared_without_a_panic(first in "\\PC{0,300}", second in "(?s).{0,300}") {
        let (difference, one, other) = difference(&first, &second);
        prop_assert!(difference.jaccard() <= 1.0);
        phrases(&difference, [&one, &other], NAMES);
    }
}

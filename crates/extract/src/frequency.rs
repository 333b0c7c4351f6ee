//! Weights of words by their counts, in the default recipe.

/// Weight of a word with count n = 0, 1, 2 ...: 16 (n - 1/2)^1.5, where n above 14 is replaced by 14 (n / 14)^.35.
/// A repeated word says more about a page than N single ones, and remains after an edit of a sentence. But 40
/// repetitions in a template say no more than 20. Part of the recipe; `docs/quality.md` has the measurements.
const WORTH: [u16; 65] = [
    0, 6, 29, 63, 105, 153, 206, 265, 329, 397, 468, 544, 624, 707, 794, 824, 853, 882, 910, 937,
    963, 989, 1014, 1039, 1063, 1087, 1110, 1133, 1156, 1178, 1200, 1221, 1242, 1263, 1283, 1304,
    1323, 1343, 1363, 1382, 1401, 1419, 1438, 1456, 1474, 1492, 1510, 1528, 1545, 1562, 1579, 1596,
    1613, 1630, 1646, 1662, 1678, 1694, 1710, 1726, 1742, 1757, 1773, 1788, 1803,
];

/// Weight of a word that occurs once.
pub(crate) const ONCE: u32 = 6;

/// Returns the weights. No count exceeds the second highest by over a quarter: one word could determine all bits.
///
/// # Complexity
/// Linear in the words.
pub(crate) fn weights(counts: &[u32]) -> impl Iterator<Item = u32> {
    let (mut first, mut second) = (0, 0);
    for &count in counts {
        if count > first {
            (first, second) = (count, first);
        } else {
            second = second.max(count);
        }
    }
    let most = if second > 0 { second.saturating_add(second.div_ceil(4)) } else { u32::MAX };
    counts.iter().map(move |count| {
        let at = usize::try_from(most.min(*count)).unwrap_or(usize::MAX);
        u32::from(WORTH.get(at).or(WORTH.last()).copied().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[u32]) -> Vec<u32> {
        weights(counts).collect()
    }

    #[test]
    fn the_table_follows_its_formula() {
        for (count, worth) in WORTH.iter().enumerate().skip(1) {
            let count = count as f64;
            let damped = if count > 14.0 { 14.0 * (count / 14.0).powf(0.35) } else { count };
            assert!((16.0 * (damped - 0.5).powf(1.5) - f64::from(*worth)).abs() < 0.51, "{count}");
        }
        assert!(WORTH.is_sorted());
    }

    #[test]
    fn the_most_frequent_word_does_not_decide_alone() {
        assert_eq!(of(&[]), [0; 0]);
        assert_eq!(of(&[9]), [397], "there is no second");
        assert_eq!(of(&[1, 1]), [ONCE, ONCE]);
        assert_eq!(of(&[1, 30, 4]), [6, 153, 105], "5 for 4");
        assert_eq!(of(&[1, 30, 1]), [6, 29, 6], "2 for 1");
        assert_eq!(of(&[30, 30, 1]), [1200, 1200, 6]);
        assert_eq!(of(&[u32::MAX, u32::MAX]), [1803, 1803]);
    }
}

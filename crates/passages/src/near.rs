//! Nearly equal runs of two documents: equal runs, joined over small gaps.

/// Most words of a gap, on each side.
const MAX_GAP: usize = 10;
/// Equal words that end a gap.
const RESUME: usize = 5;
/// Minimum share of equal words of a run.
const SIMILARITY: f64 = 0.9;
/// While the share is between this and [`SIMILARITY`], a run may still recover.
const RECOVERABLE: f64 = 0.75;

/// A run on two documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NearRun {
    /// First word and length on the first document.
    pub(crate) first: (usize, usize),
    /// First word and length on the second document.
    pub(crate) second: (usize, usize),
    /// The number of equal words, in order.
    pub(crate) equal: usize,
    /// The longest run of equal words.
    pub(crate) longest: usize,
}

impl NearRun {
    /// Returns the length of the longer side in words.
    pub(crate) fn words(&self) -> usize {
        self.first.1.max(self.second.1)
    }

    fn has(&self, (one, other): (usize, usize)) -> bool {
        let inside = |at: usize, (start, words): (usize, usize)| start <= at && at < start + words;
        inside(one, self.first) && inside(other, self.second)
    }
}

/// Extends seeds over gaps of at most ten words, as long as at least nine tenths of the words are equal. A seed is a run
/// of equal words: its start in both documents, and its length. Seeds inside an earlier run are omitted.
///
/// # Complexity
/// O(seeds times runs), and for each run linear in its words and about 100 comparisons a gap.
pub(crate) fn near_runs(
    one: &[u64],
    other: &[u64],
    seeds: &[(usize, usize, usize)],
) -> Vec<NearRun> {
    let mut seeds = seeds.to_vec();
    seeds.sort_unstable();
    let mut runs: Vec<NearRun> = Vec::new();
    for (first, second, _) in seeds {
        if runs.iter().any(|run| run.has((first, second))) {
            continue;
        }
        // The seed may be a part of the equal run.
        let before = (0..first.min(second))
            .take_while(|at| one.get(first - at - 1) == other.get(second - at - 1))
            .count();
        let (first, second) = (first - before, second - before);
        let words = one.iter().skip(first).zip(other.iter().skip(second));
        let words = words.take_while(|(a, b)| a == b).count();
        let mut run = NearRun {
            first: (first, words),
            second: (second, words),
            equal: words,
            longest: words,
        };
        let behind = |text: &[u64], from: usize, at: usize| text.get(from + at).copied();
        let (a, b) = extend(
            &|at| behind(one, first + words, at),
            &|at| behind(other, second + words, at),
            &mut run,
        );
        run.first.1 += a;
        run.second.1 += b;
        let before =
            |text: &[u64], from: usize, at: usize| text.get(from.checked_sub(at + 1)?).copied();
        let (a, b) =
            extend(&|at| before(one, first, at), &|at| before(other, second, at), &mut run);
        run.first = (run.first.0 - a, run.first.1 + a);
        run.second = (run.second.0 - b, run.second.1 + b);
        runs.push(run);
    }
    runs
}

type Side<'s> = &'s dyn Fn(usize) -> Option<u64>;

/// Extends a run in one direction. Returns the number of words on both sides, and updates the equal ones.
fn extend(one: Side<'_>, other: Side<'_>, run: &mut NearRun) -> (usize, usize) {
    let base = (run.first.1, run.second.1);
    let same = |(a, b): (usize, usize)| {
        (0..).take_while(|at| one(a + at).is_some() && one(a + at) == other(b + at)).count()
    };
    let (mut at, mut equal, mut accepted) = ((0, 0), run.equal, (0, 0));
    loop {
        // Directly behind the run, any equal word counts.
        let mut next = Some(at).filter(|at| same(*at) > 0);
        if next.is_none() {
            let gaps = (1..=MAX_GAP).flat_map(|most| {
                let shorter = (0..most).flat_map(move |least| [(least, most), (most, least)]);
                shorter.chain([(most, most)])
            });
            let mut behind = gaps.map(|(a, b)| (at.0 + a, at.1 + b));
            next = behind.find(|at| {
                (0..RESUME).all(|more| {
                    one(at.0 + more).is_some() && one(at.0 + more) == other(at.1 + more)
                })
            });
        }
        let Some(start) = next else { return accepted };
        let words = same(start);
        at = (start.0 + words, start.1 + words);
        equal += words;
        run.longest = run.longest.max(words);
        let whole = (base.0 + at.0).max(base.1 + at.1);
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = equal as f64 / whole as f64;
        if share >= SIMILARITY {
            accepted = at;
            run.equal = equal;
        } else if share < RECOVERABLE {
            return accepted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_joined_over_replaced_inserted_and_removed_words() {
        let one: Vec<u64> = (0..200).collect();
        let mut other: Vec<u64> = (1000..1007).chain(20..180).chain(2000..2010).collect();
        other[40] = 9;
        other.insert(80, 9);
        other.remove(120);
        // The whole common part from any seed.
        for start in [10, 50, 90] {
            let second = start;
            let first = one.iter().position(|word| *word == other[second]).unwrap();
            let runs = near_runs(&one, &other, &[(first, second, 20)]);
            assert_eq!(runs.len(), 1);
            assert_eq!((runs[0].first, runs[0].second), ((20, 160), (7, 160)));
            assert_eq!(runs[0].equal, 158);
        }
        // Both seeds are in one run.
        assert_eq!(near_runs(&one, &other, &[(30, 17, 20), (100, 88, 20)]).len(), 1);
    }

    #[test]
    fn a_run_ends_before_more_than_a_tenth_differs() {
        let one: Vec<u64> = (0..100).collect();
        let mut other = one.clone();
        for at in (30..100).step_by(6) {
            other[at] = 1000 + at as u64;
        }
        let run = near_runs(&one, &other, &[(0, 0, 30)])[0];
        assert!(run.equal * 10 >= run.words() * 9, "{run:?}");
        assert!((50..90).contains(&run.words()), "{run:?}");
    }

    #[test]
    fn runs_of_unequal_texts_stay_seeds() {
        let one: Vec<u64> = (0..60).collect();
        let other: Vec<u64> = (500..510).chain(20..40).chain(600..650).collect();
        let run = near_runs(&one, &other, &[(20, 10, 20)])[0];
        assert_eq!((run.first, run.second, run.equal), ((20, 20), (10, 20), 20));
        assert!(near_runs(&[], &[], &[]).is_empty());
    }
}

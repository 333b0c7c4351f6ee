//! The value of a visit that a budget allows, and the visits that are left of it.

use std::time::Duration;

use super::belief::RateBelief;
use super::grid::RATES;
use super::pace::Pace;

type Shares = [f64; RATES];

/// Steps of the search for the value: it is then exact to a thousandth.
const STEPS: u32 = 16;
/// The largest value of a visit in seconds; beyond it no page deserves a visit earlier than [`Pace::max`].
const MOST: f64 = 1e9;
/// Largest share of the budget for tests of pages in doubt.
const TESTS: f64 = 0.3;
/// Rounds of fitting value and tests to each other.
const ROUNDS: u32 = 3;

impl Pace {
    /// Returns the pace at which pages take `budget` visits per second, tests included. Without tests it takes at most
    /// the budget; its value is 0 if the budget suffices for any.
    ///
    /// Tests of pages in doubt take at most three tenths of the budget. Those come first that few tests decide: tests of
    /// all pages at once would all come too late to tell anything.
    ///
    /// # Complexity
    /// O(n log n) for `n` beliefs. A sample suffices, with a budget in proportion.
    pub fn fit(self, beliefs: &[RateBelief], budget: f64) -> Self {
        let pages: Vec<_> = beliefs.iter().map(|b| (b.probabilities(), b.visits())).collect();
        let (mut pace, mut tests) = (self, 0.0);
        // A smaller budget makes other tests: a second round fits them to it.
        for _ in 0..ROUNDS {
            pace.value = Some(pace.least_value(&pages, budget - tests));
            (pace.tested, tests) = pace.admit_tests(&pages, TESTS * budget);
        }
        pace
    }

    fn least_value(self, pages: &[(Shares, u16)], budget: f64) -> f64 {
        let visits = |value: f64| -> f64 {
            let pace = Self { value: Some(value), ..self };
            pages.iter().map(|(shares, _)| pace.seconds(shares).recip()).sum()
        };
        if visits(0.0) <= budget {
            return 0.0;
        }
        // By the logarithm: the values of pages differ by orders of magnitude.
        let (mut low, mut high) = (0.0f64, MOST.ln());
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if visits(middle.exp()) > budget {
                low = middle;
            } else {
                high = middle;
            }
        }
        high.exp()
    }

    /// Returns the probability below which pages in doubt are tested, and the visits per second of the tests.
    fn admit_tests(self, pages: &[(Shares, u16)], most: f64) -> (f64, f64) {
        let tests = pages.iter().filter_map(|(shares, visits)| self.test(shares, *visits));
        let mut tests: Vec<_> = tests.map(|test| (test.doubt, test.load)).collect();
        tests.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (doubt, load) in tests {
            if sum + load > most {
                return (doubt, sum);
            }
            sum += load;
        }
        (f64::INFINITY, sum)
    }
}

/// The visits that a budget of visits a day has left. Unused visits of at most one day are saved up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// Visits a day.
    pub per_day: f64,
    /// Visits that are left. Negative after a run that used more, for example because of redirects.
    pub left: f64,
}

const DAY: f64 = 86_400.0;
/// What is left of one visit may be smaller by the error of sums.
const ROUNDING: f64 = 1e-6;

impl Quota {
    /// Makes a quota with the visits of one hour, but at least one.
    pub fn new(per_day: f64) -> Self {
        Self { per_day, left: (per_day / 24.0).max(1.0).min(per_day.max(1.0)) }
    }

    /// Adds the visits of a time.
    pub fn pass(&mut self, elapsed: Duration) {
        let more = self.per_day * elapsed.as_secs_f64() / DAY;
        self.left = (self.left + more).min(self.per_day.max(1.0));
    }

    /// Takes one visit. Returns whether one was left.
    pub fn take(&mut self) -> bool {
        let is_left = self.left >= 1.0 - ROUNDING;
        self.left -= if is_left { 1.0 } else { 0.0 };
        is_left
    }

    /// Returns the time until the visits of a quarter of an hour are left, or one visit if that is more. A run for each visit
    /// would look at all pages too often.
    pub fn refill(&self) -> Duration {
        let batch = (self.per_day / 96.0).max(1.0).min(self.per_day.max(1.0));
        Self { left: self.left - batch + 1.0, ..*self }.wait()
    }

    /// Returns the time until a visit is left.
    pub fn wait(&self) -> Duration {
        let lacking = (1.0 - ROUNDING - self.left).max(0.0) * DAY / self.per_day.max(1e-9);
        Duration::from_secs_f64(lacking.min(10.0 * 365.0 * DAY))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: Pace = Pace::new(Duration::from_secs(60), Duration::from_secs(1000 * 86_400));

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_pace_of_a_budget_takes_that_budget(
            pages in proptest::collection::vec(
                proptest::collection::vec((1u64..4_000_000, any::<bool>()), 0..10), 1..30),
            days in 0.1f64..30.0,
        ) {
            let beliefs: Vec<RateBelief> = pages.iter().map(|visits| {
                let mut belief = RateBelief::default();
                visits.iter().for_each(|(s, changed)| belief.observe(Duration::from_secs(*s), *changed));
                belief
            }).collect();
            let budget = beliefs.len() as f64 / (days * 86_400.0);
            let pace = PACE.fit(&beliefs, budget);
            let seconds = beliefs.iter().map(|belief| pace.seconds(&belief.probabilities()));
            let visits: f64 = seconds.map(f64::recip).sum();
            prop_assert!(visits <= budget * 1.01, "{visits} of {budget}");
            // Tests take at most their share, and come on top of the rest.
            let tests = beliefs.iter().filter_map(|b| pace.test(&b.probabilities(), b.visits()));
            let tests: f64 = tests.filter(|test| test.doubt < pace.tested).map(|test| test.load).sum();
            prop_assert!(tests <= budget * TESTS * 1.01, "{tests}, {visits} of {budget}");
            // Pages are due before their turn.
            for belief in &beliefs {
                let (due, turn) = (pace.interval(belief).as_secs_f64(), pace.seconds(&belief.probabilities()));
                prop_assert!(due <= turn + 1e-6, "{due} {turn}");
            }
            let is_used = visits >= budget * (1.0 - TESTS) * 0.97;
            prop_assert!(pace.value == Some(0.0) || is_used, "{visits} of {budget}");
        }
    }

    #[test]
    fn a_quota_saves_up_the_visits_of_at_most_one_day() {
        let mut quota = Quota::new(48.0);
        assert!(quota.take() && quota.take() && !quota.take());
        assert_eq!(quota.wait().as_secs_f64().round(), 1800.0);
        quota.pass(Duration::from_secs(3600));
        assert!(quota.take() && quota.take() && !quota.take());
        quota.pass(Duration::from_secs(400 * 86_400));
        assert_eq!((0..100).filter(|_| quota.take()).count(), 48);
        // A visit whose wait is over can be taken.
        let mut tenths = Quota { per_day: 10.0, left: 0.0 };
        (0..10).for_each(|_| tenths.pass(Duration::from_secs(864)));
        assert!(tenths.left < 1.0 && tenths.wait().is_zero());
        assert!(tenths.take() && !tenths.wait().is_zero());
        let busy = Quota { per_day: 9600.0, left: 0.0 };
        assert_eq!(busy.wait().as_secs(), 8);
        assert_eq!(busy.refill().as_secs(), 899);
        // Less than one visit a day is possible.
        let mut rare = Quota::new(0.5);
        assert!(rare.take() && !rare.take());
        rare.pass(Duration::from_secs(86_400));
        assert!(!rare.take());
        rare.pass(Duration::from_secs(86_400));
        assert!(rare.take());
    }
}

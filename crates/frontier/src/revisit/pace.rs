//! From a belief to the time of the next visit.

use std::time::Duration;

use super::belief::RateBelief;
use super::grid::{RATES, TABLES, changed, slower_than, time_until};

/// Probability of a change at which a page is due, if no budget limits the visits.
const EVEN: f64 = 0.5;
/// The same with a budget: the budget decides, but pages that have hardly changed are left alone.
const LEAST: f64 = 0.05;
/// A visit that finds a change with this probability teaches nothing.
const CERTAIN: f64 = 0.98;
/// Least probability that a page deserves visits, for tests of whether it does.
const DOUBT: f64 = 0.05;
/// Visits of a page after which it is not tested any more.
const MOST_TESTS: u16 = 24;

/// How soon pages are visited again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Shortest time between two visits of a page.
    pub min: Duration,
    /// Longest time between two visits of a page.
    pub max: Duration,
    /// Least value of a visit in seconds, from [`fit`](Self::fit). `None` without a budget.
    pub value: Option<f64>,
    /// Only pages that deserve visits with less than this probability are tested, so that tests fit into the budget.
    /// Above 1 all pages in doubt are tested.
    pub tested: f64,
}

impl Pace {
    /// Makes a pace without a budget.
    pub const fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, value: None, tested: f64::INFINITY }
    }

    /// Returns the time from a visit to the next one.
    ///
    /// Without a budget a page is due when its text has changed with a probability of one half. With one, it is due at a
    /// twentieth: more pages are due than the budget has visits, and it is never unused. Visit those first that
    /// [are tested](Self::is_test), then those that were not visited for [`max`](Self::max), then those with the greatest
    /// [value](RateBelief::value_of_visit): not those that change again at once.
    ///
    /// Whether a page changes at once is unknown while each visit finds a change. Then an early visit tests it.
    pub fn interval(&self, belief: &RateBelief) -> Duration {
        let shares = belief.probabilities();
        let test = self.admitted_test(&shares, belief.visits());
        let odds = if self.value.is_some() { LEAST } else { EVEN };
        let due = || self.within(time_until(&shares, odds, 0.0));
        let seconds = test.map_or_else(due, |test| test.seconds);
        Duration::from_secs_f64(seconds)
    }

    /// Returns whether the next visit is a test that shows whether a page of unknown rate changes too often for the budget.
    /// Such a visit comes before others that are due: if it is late, it finds a change for certain and shows nothing. [`fit`](Self::fit) limits the tests to a part of the budget.
    pub fn is_test(&self, belief: &RateBelief) -> bool {
        self.admitted_test(&belief.probabilities(), belief.visits()).is_some()
    }

    fn admitted_test(&self, shares: &[f64; RATES], visits: u16) -> Option<Test> {
        self.test(shares, visits).filter(|test| test.doubt < self.tested)
    }

    /// Returns the time in seconds at which a visit has the value that the budget allows, for the probability of each rate.
    pub(super) fn seconds(&self, shares: &[f64; RATES]) -> f64 {
        self.within(match self.value {
            None => time_until(shares, EVEN, 0.0),
            Some(value) => time_until(shares, LEAST, value),
        })
    }

    fn within(&self, seconds: f64) -> f64 {
        seconds.min(self.max.as_secs_f64()).max(self.min.as_secs_f64())
    }

    /// Returns the test of a page that is in doubt: its next visit would find a change for certain, although the page
    /// may be slow enough to deserve visits. Pages whose mean time between changes is shorter than the value of a visit
    /// deserve none. A visit at that time tells them apart.
    pub(super) fn test(&self, shares: &[f64; RATES], visits: u16) -> Option<Test> {
        let value = self.value.filter(|_| visits < MOST_TESTS)?;
        let (seconds, untested) = (self.within(value), self.seconds(shares));
        let doubt = slower_than(shares, value);
        if seconds >= untested || doubt <= DOUBT {
            return None;
        }
        let terms = shares.iter().zip(TABLES.rates);
        let odds: f64 = terms.map(|(share, rate)| share * changed(rate, untested)).sum();
        let load = seconds.recip() - untested.recip();
        (odds > CERTAIN).then_some(Test { seconds, doubt, load })
    }
}

/// An early visit of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    /// The time from the last visit to the test.
    seconds: f64,
    /// The probability that the page deserves visits.
    pub(super) doubt: f64,
    /// Visits per second beyond those of the page without tests.
    pub(super) load: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const PACE: Pace = Pace::new(HOUR, Duration::from_secs(90 * 86_400));

    fn seen(every: Duration, changed: bool) -> RateBelief {
        let mut belief = RateBelief::default();
        (0..200).for_each(|_| belief.observe(every, changed));
        belief
    }

    #[test]
    fn intervals_stay_between_the_shortest_and_the_longest() {
        assert_eq!(PACE.interval(&seen(HOUR, true)), HOUR);
        assert_eq!(PACE.interval(&seen(HOUR * 24 * 30, false)), PACE.max);
        // A contradiction: the shortest wins, so that no server is requested too often.
        let wrong = Pace::new(HOUR * 2, HOUR);
        assert_eq!(wrong.interval(&RateBelief::default()), HOUR * 2);
    }

    #[test]
    fn with_a_budget_a_page_that_changes_at_once_is_visited_least() {
        let pace = Pace { value: Some(4.0 * 86_400.0), ..PACE };
        let (fast, daily) = (seen(HOUR, true), seen(HOUR * 24 * 8, true));
        let mut weekly = RateBelief::default();
        (0..300).for_each(|visit| weekly.observe(HOUR * 24, visit % 7 == 0));
        let value = |belief: &RateBelief| belief.value_of_visit(HOUR * 72);
        assert!(value(&fast) < value(&daily) && value(&daily) < value(&weekly));
        // They are due before the budget has visits for all.
        assert!(pace.interval(&weekly) < HOUR * 24 && pace.interval(&fast) == HOUR);
        // Without a budget the order is that of the rates.
        assert!(PACE.interval(&fast) < PACE.interval(&weekly));
    }

    #[test]
    fn a_page_that_always_changes_is_tested_until_it_is_clear_that_it_deserves_no_visits() {
        let day = HOUR * 24;
        let pace = Pace { value: Some(86_400.0), ..PACE };
        let mut page = RateBelief::default();
        assert!(!pace.is_test(&page));
        (0..2).for_each(|_| page.observe(day * 8, true));
        assert!(pace.is_test(&page));
        assert_eq!(pace.interval(&page), day);
        // Other pages take the budget of tests.
        let full = Pace { tested: 0.0, ..pace };
        assert!(!full.is_test(&page));
        (0..8).for_each(|_| page.observe(HOUR * 6, true));
        assert!(!pace.is_test(&page));
        assert!(page.value_of_visit(PACE.max) < 86_400.0);
    }
}

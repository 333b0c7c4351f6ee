//! From a belief to the time of the next visit.

use std::time::Duration;

use super::belief::RateBelief;
use super::grid::{RATES, TABLES, changed, slower_than, time_until};

/// Probability of a change at which a page is due, if no budget limits the visits.
const EVEN: f64 = 0.5;
/// The same with a budget: the budget decides, but pages that hardly change are left alone.
const LEAST: f64 = 0.05;
/// A visit that finds a change with this probability teaches nothing.
const CERTAIN: f64 = 0.95;
/// Least probability that a page deserves visits, for tests of whether it does.
const DOUBT: f64 = 0.02;
/// Visits of a page after which it is not tested any more.
const MOST_TESTS: u16 = 24;

/// How soon pages are visited again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Shortest time between two visits of a page.
    pub min: Duration,
    /// Longest time between two visits of a page.
    pub max: Duration,
    /// Least value of a visit in seconds, from [`fit_value`](super::fit_value). `None` without a budget.
    pub value: Option<f64>,
}

impl Pace {
    /// Returns the time from a visit to the next one.
    ///
    /// Without a budget a page is due when its text has changed with a probability of one half. With one, the pages are
    /// due whose visits gain the most freshness: not those that change again at once. Whether a page does is unknown
    /// while each visit finds a change. Then an early visit tests it.
    pub fn interval(&self, belief: &RateBelief) -> Duration {
        Duration::from_secs_f64(self.seconds(&belief.probabilities(), belief.visits() < MOST_TESTS))
    }

    /// The same in seconds, for the probability of each rate. `is_tested` allows an early visit as a test.
    pub(super) fn seconds(&self, shares: &[f64; RATES], is_tested: bool) -> f64 {
        let seconds = match self.value {
            None => time_until(shares, EVEN, 0.0),
            Some(value) => {
                let seconds = time_until(shares, LEAST, value);
                if is_tested && is_in_doubt(shares, seconds, value) { value } else { seconds }
            }
        };
        let (min, max) = (self.min.as_secs_f64(), self.max.as_secs_f64());
        seconds.min(max).max(min)
    }
}

/// Returns whether a visit after this time would find a change for certain, although the page may be slow enough to
/// deserve visits of this value. Pages whose mean time between changes is shorter deserve none.
fn is_in_doubt(shares: &[f64; RATES], seconds: f64, value: f64) -> bool {
    if seconds <= value {
        return false;
    }
    let terms = shares.iter().zip(TABLES.rates);
    let odds: f64 = terms.map(|(share, rate)| share * changed(rate, seconds)).sum();
    odds > CERTAIN && slower_than(shares, value) > DOUBT
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const PACE: Pace = Pace { min: HOUR, max: Duration::from_secs(90 * 86_400), value: None };

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
        let wrong = Pace { min: HOUR * 2, max: HOUR, value: None };
        assert_eq!(wrong.interval(&RateBelief::default()), HOUR * 2);
    }

    #[test]
    fn with_a_budget_a_page_that_changes_at_once_is_visited_least() {
        let pace = Pace { value: Some(4.0 * 86_400.0), ..PACE };
        let (fast, daily) = (seen(HOUR, true), seen(HOUR * 24 * 8, true));
        let mut weekly = RateBelief::default();
        (0..300).for_each(|visit| weekly.observe(HOUR * 24, visit % 7 == 0));
        assert_eq!(pace.interval(&fast), PACE.max);
        assert!(pace.interval(&weekly) < pace.interval(&daily));
        // Without a budget the order is that of the rates.
        assert!(PACE.interval(&fast) < PACE.interval(&weekly));
    }
}

//! The posterior over the change rate of one page.

use std::time::Duration;

use super::grid::{RATES, TABLES};

/// Weight of the earlier evidence at each observation: the last hundred visits count most, so a page that stops changing is
/// soon visited less.
const MEMORY: f64 = 0.99;
/// Natural logarithm of the smallest relative weight. A page that changes its habits is believed after a few visits.
const LEAST: f64 = -30.0;

/// The belief about the change rate of a page: a probability for each rate of a logarithmic grid, from one change in
/// a quarter of an hour to one in four years. A new belief has equal probabilities (log-uniform).
#[derive(Clone, Debug, PartialEq)]
pub struct RateBelief {
    /// Logarithms of the weights; the largest is 0.
    weights: [f64; RATES],
    /// Number of observations.
    visits: u16,
}

/// The value of a visit of one page as a function of the time without one. See [`RateBelief::value_of_visit`].
#[derive(Clone, Debug)]
pub struct VisitValue([f64; RATES]);

impl VisitValue {
    /// Returns the value after a time without a visit, in seconds of freshness.
    pub fn after(&self, elapsed: Duration) -> f64 {
        super::grid::value_after(&self.0, elapsed.as_secs_f64())
    }
}

impl Default for RateBelief {
    fn default() -> Self {
        Self { weights: [0.0; RATES], visits: 0 }
    }
}

impl RateBelief {
    /// Bytes of an encoded belief.
    pub const BYTES: usize = 4 * RATES + 2;

    /// Learns whether a page has changed between two visits.
    pub fn observe(&mut self, elapsed: Duration, changed: bool) {
        let time = elapsed.as_secs_f64();
        if time <= 0.0 {
            return;
        }
        self.learn(|rate| match changed {
            true => super::grid::changed(rate, time).ln(),
            false => -rate * time,
        });
    }

    /// Learns that the last change between two visits was this long before the second one: more than that there was a
    /// change.
    pub fn observe_last_change(&mut self, before: Duration) {
        let time = before.as_secs_f64();
        self.learn(|rate| rate.ln() - rate * time);
    }

    /// Returns the number of observations.
    pub const fn visits(&self) -> u16 {
        self.visits
    }

    fn learn(&mut self, likelihood: impl Fn(f64) -> f64) {
        self.visits = self.visits.saturating_add(1);
        for (weight, rate) in self.weights.iter_mut().zip(TABLES.rates) {
            *weight = *weight * MEMORY + likelihood(rate).max(f64::MIN);
        }
        let most = self.weights.iter().copied().fold(f64::MIN, f64::max);
        for weight in &mut self.weights {
            *weight = (*weight - most).max(LEAST);
        }
    }

    /// Returns the probability of each rate.
    pub(super) fn probabilities(&self) -> [f64; RATES] {
        let weights = self.weights.map(f64::exp);
        let sum: f64 = weights.iter().sum();
        weights.map(|weight| weight / sum)
    }

    /// Returns the probability that the page has changed after a time without a visit.
    pub fn probability_of_change(&self, elapsed: Duration) -> f64 {
        let time = elapsed.as_secs_f64();
        let terms = self.probabilities().into_iter().zip(TABLES.rates);
        terms.map(|(share, rate)| share * super::grid::changed(rate, time)).sum()
    }

    /// Returns the value of a visit after a time without one, in seconds of freshness. It grows with the time. Times below
    /// ten seconds and above ten years have the values of these.
    pub fn value_of_visit(&self, elapsed: Duration) -> f64 {
        self.visit_value().after(elapsed)
    }

    /// Returns the value of a visit as a function of time, for many times of one belief.
    pub fn visit_value(&self) -> VisitValue {
        VisitValue(self.probabilities())
    }

    /// Returns the number of changes per second: the mean of the logarithm's distribution.
    pub fn rate(&self) -> f64 {
        let terms = self.probabilities().into_iter().zip(TABLES.rates);
        terms.map(|(share, rate)| share * rate.ln()).sum::<f64>().exp()
    }

    /// Encodes the belief in 98 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let weights = self.weights.iter().flat_map(|weight| (*weight as f32).to_le_bytes());
        weights.chain(self.visits.to_le_bytes()).collect()
    }

    /// Decodes the output of [`encode`](Self::encode); `None` if it is not valid.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != Self::BYTES {
            return None;
        }
        let (values, visits) = bytes.split_last_chunk::<2>()?;
        let mut weights = [0.0; RATES];
        for (weight, bytes) in weights.iter_mut().zip(values.as_chunks::<4>().0) {
            *weight = f64::from(f32::from_le_bytes(*bytes));
        }
        let is_valid = weights.iter().all(|weight| (LEAST - 1.0..=0.0).contains(weight));
        is_valid.then_some(Self { weights, visits: u16::from_le_bytes(*visits) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_page_that_changes_weekly_is_believed_to_change_weekly() {
        let mut belief = RateBelief::default();
        for visit in 0..60 {
            belief.observe(DAY, visit % 7 == 0);
        }
        let days = 1.0 / belief.rate() / 86_400.0;
        assert!((4.0..10.0).contains(&days), "{days}");
        assert!((belief.probability_of_change(DAY) - 1.0 / 7.0).abs() < 0.05);
    }

    #[test]
    fn a_page_that_stops_changing_is_believed_within_some_visits() {
        let mut belief = RateBelief::default();
        for _ in 0..100 {
            belief.observe(DAY, true);
        }
        assert!(belief.probability_of_change(DAY) > 0.9);
        for _ in 0..20 {
            belief.observe(DAY * 2, false);
        }
        assert!(belief.probability_of_change(DAY) < 0.2, "{belief:?}");
    }

    #[test]
    fn a_known_time_of_the_last_change_says_more_than_a_change() {
        let mut by_date = RateBelief::default();
        let mut by_change = RateBelief::default();
        for _ in 0..10 {
            by_date.observe_last_change(DAY * 20);
            by_change.observe(DAY * 30, true);
        }
        let days = |belief: &RateBelief| 1.0 / belief.rate() / 86_400.0;
        assert!(days(&by_date) > 15.0 && days(&by_change) < 10.0);
    }

    proptest! {
        #[test]
        fn a_belief_round_trips_and_its_visits_gain_value_with_time(
            visits in proptest::collection::vec((0u64..40_000_000, any::<bool>()), 0..60),
            times in (0u64..300_000_000, 0u64..300_000_000),
        ) {
            let mut belief = RateBelief::default();
            for (seconds, changed) in visits {
                belief.observe(Duration::from_secs(seconds), changed);
            }
            let again = RateBelief::decode(&belief.encode()).unwrap();
            prop_assert!((again.rate() / belief.rate() - 1.0).abs() < 1e-3);
            let (short, long) = (times.0.min(times.1), times.0.max(times.1));
            let (short, long) = (Duration::from_secs(short), Duration::from_secs(long));
            prop_assert!(belief.value_of_visit(short) <= belief.value_of_visit(long) + 1e-9);
            prop_assert!(belief.probability_of_change(short) <= belief.probability_of_change(long) + 1e-12);
        }

        #[test]
        fn the_time_of_the_tables_agrees_with_a_search(
            visits in proptest::collection::vec((1u64..4_000_000, any::<bool>()), 0..20),
            odds in 0.01f64..0.9,
        ) {
            let mut belief = RateBelief::default();
            for (seconds, changed) in visits {
                belief.observe(Duration::from_secs(seconds), changed);
            }
            let time = crate::revisit::grid::time_until(&belief.probabilities(), odds, 0.0);
            if (20.0..3e8).contains(&time) {
                let at = |time: f64| belief.probability_of_change(Duration::from_secs_f64(time));
                prop_assert!(at(time * 0.98) <= odds && odds <= at(time * 1.02));
            }
        }

        #[test]
        fn the_value_of_the_tables_agrees_with_the_formula(
            visits in proptest::collection::vec((1u64..4_000_000, any::<bool>()), 0..20),
            time in 20.0f64..3e8,
        ) {
            let mut belief = RateBelief::default();
            for (seconds, changed) in visits {
                belief.observe(Duration::from_secs(seconds), changed);
            }
            let terms = belief.probabilities().into_iter().zip(TABLES.rates);
            let exact: f64 = terms.map(|(share, rate)| share * super::super::grid::value(rate, time)).sum();
            let value = belief.value_of_visit(Duration::from_secs_f64(time));
            prop_assert!((value / exact - 1.0).abs() < 0.01, "{value} {exact}");
        }

        #[test]
        fn bytes_that_are_no_belief_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Some(belief) = RateBelief::decode(&bytes) {
                prop_assert!(belief.rate().is_finite());
            }
        }
    }
}

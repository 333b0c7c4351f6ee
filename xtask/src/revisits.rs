//! Simulates two years of revisits by a separate clock: pages with known change rates, a budget of requests, and three
//! policies: fixed intervals, rates that are learnt, and an oracle that knows the rates. The first year begins without
//! any knowledge of the rates; the second one is measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use anyhow::{Result, ensure};
use hapax_frontier::revisit::{Pace, Quota, RateBelief, VisitValue};

use crate::report;
use crate::rng::Rng;

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
const YEAR: f64 = 365.0 * DAY;
/// The freshness of fixed intervals that determines the budget.
const FIXED: f64 = 0.5;
/// Pages from which the pace is computed, and seconds between two computations. A crawl uses 1,000 pages, and computes
/// the pace in each run that looks for due pages.
const SAMPLE: usize = 300;
const PLAN: f64 = DAY;
/// Least shares of the oracle's freshness, and of its gain over fixed intervals in the second year.
const LEAST: [f64; 2] = [0.9, 0.8];
/// Least mean share of the gain in the first year, of three seeds.
const LEAST_AT_FIRST: f64 = 0.8;

/// The mean freshness of all pages over a year.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    fixed: f64,
    /// In the first year and in the second one.
    learnt: [f64; 2],
    oracle: f64,
    /// Requests of each policy.
    requests: u64,
}

impl Outcome {
    /// Returns the shares of the oracle's freshness and of its gain over fixed intervals, in a year.
    fn shares(&self, year: usize) -> [f64; 2] {
        let learnt = self.learnt.get(year).copied().unwrap_or_default();
        [learnt / self.oracle, (learnt - self.fixed) / (self.oracle - self.fixed)]
    }
}

/// How the change rates of the pages are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rates {
    /// Log-uniform between one change an hour and one a year.
    Spread,
    /// One change in four days, for all pages.
    Equal,
    /// One change in six hours for half of the pages, one in sixty days for the others.
    Two,
    /// As [`Rates::Spread`], but after the first year each page has the rate of another page.
    Switched,
}

/// Rates that are not those of the goal, and their names.
const OTHERS: [(Rates, &str); 3] =
    [(Rates::Equal, "equal"), (Rates::Two, "two"), (Rates::Switched, "switched")];
/// Most freshness that learning may cost in a year, compared with fixed intervals. The most is lost after all rates have
/// switched: a page that changed too often for the budget is left alone for up to a year.
const MOST_HARM: f64 = 0.08;

struct Web {
    rates: Vec<f64>,
    is_switched: bool,
    rng: Rng,
}

impl Web {
    fn new(pages: u64, seed: u64, kind: Rates) -> Self {
        let mut rng = Rng(seed);
        let rate = |page: u64| match kind {
            Rates::Spread | Rates::Switched => (1.0 / YEAR) * (YEAR / HOUR).powf(unit(&mut rng)),
            Rates::Equal => 0.25 / DAY,
            Rates::Two if page.is_multiple_of(2) => 4.0 / DAY,
            Rates::Two => 1.0 / (60.0 * DAY),
        };
        let rates = (0..pages).map(rate).collect();
        Self { rates, is_switched: kind == Rates::Switched, rng }
    }

    /// Returns the time of the first change after `now`. The process has no memory.
    fn next_change(&mut self, page: usize, now: f64) -> f64 {
        let is_switched = self.is_switched && now >= YEAR;
        let page_of_rate = (page + usize::from(is_switched)) % self.rates.len().max(1);
        let rate = self.rates.get(page_of_rate).copied().unwrap_or(1.0);
        let at = now - (1.0 - unit(&mut self.rng)).ln() / rate;
        // The new rate holds from the switch on.
        match self.is_switched && now < YEAR && at >= YEAR {
            true => self.next_change(page, YEAR),
            false => at,
        }
    }
}

/// Returns a number from 0 to 1, without 1.
fn unit(rng: &mut Rng) -> f64 {
    (rng.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns the expected freshness of a page that is visited at an interval.
fn freshness(rate: f64, interval: f64) -> f64 {
    let x = rate * interval;
    if x.is_infinite() { 0.0 } else { -(-x).exp_m1() / x }
}

/// Returns the interval at which a visit of a page with a known rate has this value; infinite if it never has.
fn known_interval(rate: f64, value: f64) -> f64 {
    if value * rate >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 60.0 / rate);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let x: f64 = rate * middle;
        let is_less = (1.0 - (-x).exp() * (1.0 + x)) / rate < value;
        *(if is_less { &mut low } else { &mut high }) = middle;
    }
    high
}

/// Returns the best freshness of a budget in requests per second, if all rates are known.
fn oracle(rates: &[f64], budget: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1e9f64.ln());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let visits: f64 =
            rates.iter().map(|rate| known_interval(*rate, middle.exp()).recip()).sum();
        *(if visits > budget { &mut low } else { &mut high }) = middle;
    }
    let all = rates.iter().map(|rate| freshness(*rate, known_interval(*rate, high.exp())));
    all.sum::<f64>() / rates.len() as f64
}

/// Returns the interval at which all pages are fresh for [`FIXED`] of the time.
fn fixed_interval(rates: &[f64]) -> f64 {
    let (mut low, mut high) = (60.0, YEAR);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let fresh: f64 = rates.iter().map(|rate| freshness(*rate, middle)).sum();
        *(if fresh > FIXED * rates.len() as f64 { &mut low } else { &mut high }) = middle;
    }
    high
}

/// Adds the fresh time of a page to the years.
fn add(years: &mut [f64; 2], from: f64, until: f64) {
    for (year, fresh) in (0..).zip(years.iter_mut()) {
        let begin = f64::from(year) * YEAR;
        *fresh += (until.min(begin + YEAR) - from.max(begin)).max(0.0);
    }
}

/// The pages whose next visit is expected, and those that are due.
#[derive(Debug, Default)]
struct Agenda {
    /// Seconds of the visits, and pages.
    expected: BinaryHeap<Reverse<(u64, usize)>>,
    due: Vec<usize>,
}

/// What the policy that learns knows about a page.
#[derive(Clone, Debug)]
struct Known {
    belief: RateBelief,
    value: VisitValue,
    /// Seconds of the last visit.
    visited: f64,
    is_test: bool,
}

impl Agenda {
    fn expect(&mut self, page: usize, known: &mut Known, pace: &Pace) {
        known.is_test = pace.is_test(&known.belief);
        known.value = known.belief.visit_value();
        let at = known.visited + pace.interval(&known.belief).as_secs_f64();
        self.expected.push(Reverse((at as u64, page)));
    }

    /// Returns the most valuable of the due pages, as a crawl does.
    fn next(&mut self, now: f64, pages: &[Known], pace: &Pace) -> Option<usize> {
        while let Some(Reverse((at, page))) = self.expected.peek().copied()
            && at <= now as u64
        {
            self.expected.pop();
            self.due.push(page);
        }
        let value = |page: &usize| {
            let Some(known) = pages.get(*page) else { return 0.0 };
            let elapsed = Duration::from_secs_f64(now - known.visited);
            match known.is_test {
                true => f64::MAX,
                false if elapsed >= pace.max => 1e12 + elapsed.as_secs_f64(),
                false => known.value.after(elapsed),
            }
        };
        let values = self.due.iter().map(value).enumerate();
        let (at, _) = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(self.due.swap_remove(at))
    }
}

/// The policy that learns. Returns the mean freshness of each year and the number of requests.
fn learnt(web: &mut Web, budget: f64, plan: f64) -> ([f64; 2], u64) {
    let count = web.rates.len();
    let mut pace = Pace {
        value: Some(0.0),
        ..Pace::new(Duration::from_secs(60), Duration::from_secs_f64(YEAR))
    };
    // All pages are fetched at the beginning.
    let belief = RateBelief::default();
    let value = belief.visit_value();
    let mut pages = vec![Known { belief, value, visited: 0.0, is_test: false }; count];
    // Seconds of the next changes.
    let mut changes: Vec<f64> = (0..count).map(|page| web.next_change(page, 0.0)).collect();
    let (mut fresh, mut requests) = ([0.0; 2], 0u64);
    let mut agenda = Agenda::default();
    let (mut now, mut planned) = (0.0, f64::MIN);
    let mut quota = Quota { per_day: budget * DAY, left: 0.0 };
    while now < 2.0 * YEAR {
        // The pace follows the beliefs.
        if now - planned >= plan {
            planned = now;
            let step = (count / SAMPLE).max(1);
            let sample = pages.iter().skip(requests as usize % step).step_by(step);
            let sample: Vec<RateBelief> = sample.map(|known| known.belief.clone()).collect();
            pace = pace.fit(&sample, budget * sample.len() as f64 / count as f64);
            agenda = Agenda::default();
            for (page, known) in pages.iter_mut().enumerate() {
                agenda.expect(page, known, &pace);
            }
        }
        let due = if quota.wait().is_zero() { agenda.next(now, &pages, &pace) } else { None };
        let Some(page) = due else {
            now += 1.0 / budget;
            quota.pass(Duration::from_secs_f64(1.0 / budget));
            continue;
        };
        quota.take();
        requests += 1;
        let (Some(known), Some(change)) = (pages.get_mut(page), changes.get_mut(page)) else {
            break;
        };
        add(&mut fresh, known.visited, change.min(now));
        known.belief.observe(Duration::from_secs_f64(now - known.visited), *change < now);
        known.visited = now;
        agenda.expect(page, known, &pace);
        *change = web.next_change(page, now);
    }
    for (known, change) in pages.iter().zip(&changes) {
        add(&mut fresh, known.visited, change.min(2.0 * YEAR));
    }
    (fresh.map(|fresh| fresh / YEAR / count as f64), requests)
}

fn simulate(pages: u64, seed: u64, kind: Rates, plan: f64) -> Outcome {
    let mut web = Web::new(pages, seed, kind);
    let interval = fixed_interval(&web.rates);
    let budget = pages as f64 / interval;
    let fixed = web.rates.iter().map(|rate| freshness(*rate, interval)).sum::<f64>() / pages as f64;
    let oracle = oracle(&web.rates, budget);
    let (learnt, requests) = learnt(&mut web, budget, plan);
    Outcome { fixed, learnt, oracle, requests }
}

pub(crate) fn run(pages: u64, seeds: u64) -> Result<()> {
    ensure!(pages >= 10, "--pages: at least 10 pages");
    report(
        "seed   requests   fixed  oracle   first: learnt  of oracle  of gain   second: learnt  of oracle  of gain",
    );
    let mut gains = Vec::new();
    for seed in 1..=seeds.max(1) {
        let outcome = simulate(pages, seed, Rates::Spread, PLAN);
        let Outcome { fixed, learnt: [first, second], oracle, requests } = outcome;
        let ([share, gain], [share_2, gain_2]) = (outcome.shares(0), outcome.shares(1));
        report(&format!(
            "{seed:>4} {requests:>10}  {fixed:>6.3}  {oracle:>6.3}  {first:>14.3}  {share:>9.3}  {gain:>7.3}  \
             {second:>15.3}  {share_2:>9.3}  {gain_2:>7.3}"
        ));
        let least = share.min(share_2);
        ensure!(least >= LEAST[0] && gain_2 >= LEAST[1], "seed {seed}: less than {LEAST:?}");
        gains.push(gain);
    }
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    report(&format!("mean of the gains in the first year: {mean:.3}"));
    ensure!(mean >= LEAST_AT_FIRST, "the first year: less than {LEAST_AT_FIRST}");
    report("rates       fixed   first   second");
    for (kind, name) in OTHERS {
        let Outcome { fixed, learnt: [first, second], .. } = simulate(pages, 1, kind, PLAN);
        report(&format!("{name:<9}  {fixed:>6.3}  {first:>6.3}  {second:>7.3}"));
        let harm = fixed - first.min(second);
        ensure!(harm <= MOST_HARM, "{name}: less fresh than fixed intervals by {harm:.3}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learnt_revisits_are_nearly_as_fresh_as_with_known_rates() {
        let outcome = simulate(200, 7, Rates::Spread, 3.0 * DAY);
        let [share, gain] = outcome.shares(1);
        assert!((outcome.fixed - FIXED).abs() < 0.01, "{outcome:?}");
        assert!(share >= LEAST[0] && gain >= LEAST[1], "{share} {gain} {outcome:?}");
        // The year without knowledge has most of it.
        let [share, gain] = outcome.shares(0);
        assert!(share >= LEAST[0] && gain > 0.6, "{share} {gain} {outcome:?}");
    }
}

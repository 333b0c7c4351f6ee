//! Simulates two years of revisits by a separate clock: pages with known change rates, a budget of requests, and three
//! policies: fixed intervals, rates that are learnt, and an oracle that knows the rates. The first year begins without
//! any knowledge of the rates; the second one is measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use anyhow::{Result, ensure};
use hapax_frontier::revisit::{Pace, RateBelief};

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
/// Least shares of the oracle's freshness, and of its gain over fixed intervals.
const LEAST: [f64; 2] = [0.9, 0.8];

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
const MOST_HARM: f64 = 0.06;

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

/// The next visits: seconds and pages. Due tests come before other due pages, as in a crawl.
#[derive(Debug, Default)]
struct Queues {
    tests: BinaryHeap<Reverse<(u64, usize)>>,
    others: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Queues {
    fn add(&mut self, page: usize, visited: f64, belief: &RateBelief, pace: &Pace) {
        let at = visited + pace.interval(belief).as_secs_f64();
        let queue = if pace.is_test(belief) { &mut self.tests } else { &mut self.others };
        queue.push(Reverse((at as u64, page)));
    }

    fn next(&mut self, now: f64) -> Option<usize> {
        let (test, other) = (self.tests.peek().map(|t| t.0.0), self.others.peek().map(|o| o.0.0));
        let is_test =
            test.is_some_and(|test| test <= now as u64 || other.is_none_or(|at| test < at));
        let queue = if is_test { &mut self.tests } else { &mut self.others };
        queue.pop().map(|due| due.0.1)
    }
}

/// The policy that learns. Returns the mean freshness of each year and the number of requests.
fn learnt(web: &mut Web, budget: f64, plan: f64) -> ([f64; 2], u64) {
    let pages = web.rates.len();
    let mut beliefs = vec![RateBelief::default(); pages];
    let mut pace = Pace {
        value: Some(0.0),
        ..Pace::new(Duration::from_secs(60), Duration::from_secs_f64(YEAR))
    };
    // All pages are fetched at the beginning. Seconds of the last visits and of the next changes.
    let mut visited = vec![0.0f64; pages];
    let mut changes: Vec<f64> = (0..pages).map(|page| web.next_change(page, 0.0)).collect();
    let (mut fresh, mut requests) = ([0.0; 2], 0u64);
    let mut due = Queues::default();
    let (mut now, mut planned) = (0.0, f64::MIN);
    loop {
        // The pace follows the beliefs.
        if now - planned >= plan {
            planned = now;
            let step = (pages / SAMPLE).max(1);
            let offset = requests as usize % step;
            let sample: Vec<RateBelief> =
                beliefs.iter().skip(offset).step_by(step).cloned().collect();
            let share = budget * sample.len() as f64 / pages as f64;
            pace = pace.fit(&sample, share);
            due = Queues::default();
            for (page, (visit, belief)) in visited.iter().zip(&beliefs).enumerate() {
                due.add(page, *visit, belief, &pace);
            }
        }
        // One request each time the budget allows one: a test that is due, or the page that is due first.
        now += 1.0 / budget;
        if now >= 2.0 * YEAR {
            break;
        }
        let Some(page) = due.next(now) else { break };
        requests += 1;
        let (Some(visit), Some(change), Some(belief)) =
            (visited.get_mut(page), changes.get_mut(page), beliefs.get_mut(page))
        else {
            break;
        };
        add(&mut fresh, *visit, change.min(now));
        belief.observe(Duration::from_secs_f64(now - *visit), *change < now);
        *visit = now;
        due.add(page, now, belief, &pace);
        *change = web.next_change(page, now);
    }
    for (visit, change) in visited.iter().zip(&changes) {
        add(&mut fresh, *visit, change.min(2.0 * YEAR));
    }
    (fresh.map(|fresh| fresh / YEAR / pages as f64), requests)
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
    for seed in 1..=seeds.max(1) {
        let outcome = simulate(pages, seed, Rates::Spread, PLAN);
        let Outcome { fixed, learnt: [first, second], oracle, requests } = outcome;
        let ([share, gain], [share_2, gain_2]) = (outcome.shares(0), outcome.shares(1));
        report(&format!(
            "{seed:>4} {requests:>10}  {fixed:>6.3}  {oracle:>6.3}  {first:>14.3}  {share:>9.3}  {gain:>7.3}  \
             {second:>15.3}  {share_2:>9.3}  {gain_2:>7.3}"
        ));
        ensure!(share_2 >= LEAST[0] && gain_2 >= LEAST[1], "seed {seed}: less than {LEAST:?}");
    }
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

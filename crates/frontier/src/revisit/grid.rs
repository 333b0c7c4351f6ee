//! The grids of rates and of times, and tables over both.

use std::sync::LazyLock;

/// Number of rates. Neighbours differ by a factor of 1.68, which costs less than .1 % of the freshness.
pub(super) const RATES: usize = 24;
/// The longest and the shortest mean time between changes, in seconds: four years and a quarter of an hour.
const SLOWEST: f64 = 4.0 * 365.25 * 86_400.0;
const FASTEST: f64 = 900.0;
/// Number of times. Neighbours differ by a factor of 1.13.
const TIMES: usize = 128;
/// The first and the last time, in seconds: ten seconds and ten years.
const SHORTEST: f64 = 10.0;
const LONGEST: f64 = 10.0 * 365.25 * 86_400.0;

/// For each time and rate: the probability of a change, and the value of a visit.
#[derive(Debug)]
pub(super) struct Tables {
    /// Changes per second, ascending.
    pub(super) rates: [f64; RATES],
    /// Seconds since the last visit, ascending.
    times: [f64; TIMES],
    changed: Vec<[f64; RATES]>,
    value: Vec<[f64; RATES]>,
}

pub(super) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let rates = std::array::from_fn(|at| geometric(SLOWEST.recip(), FASTEST.recip(), at, RATES));
    let times = std::array::from_fn(|at| geometric(SHORTEST, LONGEST, at, TIMES));
    let table = |of: fn(f64, f64) -> f64| {
        times.iter().map(|time| rates.map(|rate| of(rate, *time))).collect()
    };
    Tables { rates, times, changed: table(changed), value: table(value) }
});

fn geometric(first: f64, last: f64, at: usize, count: usize) -> f64 {
    first * (last / first).powf(at as f64 / (count - 1) as f64)
}

/// Returns the first time in seconds at which the probability of a change reaches `odds` and the value of a visit
/// reaches `value`, given the probability of each rate; infinite if they never do.
pub(super) fn time_until(shares: &[f64; RATES], odds: f64, value: f64) -> f64 {
    let until = |table: &[[f64; RATES]], wanted: f64| {
        if wanted <= 0.0 {
            return 0.0;
        }
        let at = |row: &[f64; RATES]| -> f64 { row.iter().zip(shares).map(|(v, p)| v * p).sum() };
        let after = table.partition_point(|row| at(row) < wanted);
        let times = &TABLES.times;
        let (Some(&time), Some(row)) = (times.get(after), table.get(after)) else {
            return f64::INFINITY;
        };
        let before = after.checked_sub(1);
        let Some((&earlier, below)) = before.and_then(|at| times.get(at).zip(table.get(at))) else {
            return time;
        };
        // Both are nearly straight between two times of the grid.
        let (low, high) = (at(below), at(row));
        earlier + (time - earlier) * ((wanted - low) / (high - low)).clamp(0.0, 1.0)
    };
    until(&TABLES.changed, odds).max(until(&TABLES.value, value))
}

/// Returns the value of a visit after a time in seconds, given the probability of each rate. It grows with the time, and is
/// constant beyond the last time of the grid.
pub(super) fn value_after(shares: &[f64; RATES], time: f64) -> f64 {
    let step = (LONGEST / SHORTEST).ln() / (TIMES - 1) as f64;
    let place = ((time / SHORTEST).max(1.0).ln() / step).min((TIMES - 1) as f64);
    let at = |place: usize| -> f64 {
        let row = TABLES.value.get(place.min(TIMES - 1));
        row.map_or(0.0, |row| row.iter().zip(shares).map(|(value, share)| value * share).sum())
    };
    let (low, high) = (at(place as usize), at(place as usize + 1));
    low + (high - low) * place.fract()
}

/// Returns the probability that the mean time between two changes is longer than a time.
pub(super) fn slower_than(shares: &[f64; RATES], time: f64) -> f64 {
    // Each rate represents a cell of the grid. The cell that contains the time counts in part: otherwise a small change
    // of the time would put many pages in doubt at once.
    let step = (SLOWEST / FASTEST).ln() / (RATES - 1) as f64;
    let terms = TABLES.rates.iter().zip(shares);
    terms.map(|(rate, share)| share * (0.5 - (rate * time).ln() / step).clamp(0.0, 1.0)).sum()
}

/// Returns the probability of a change within a time.
pub(super) fn changed(rate: f64, time: f64) -> f64 {
    -(-rate * time).exp_m1()
}

/// Returns the derivative of the freshness by the frequency of visits, in seconds, if a page is visited at this
/// interval. With the best frequencies it is the same for all pages. It grows with the interval, up to the mean time
/// between two changes.
pub(super) fn value(rate: f64, time: f64) -> f64 {
    let x = rate * time;
    if x < 1e-3 {
        // The terms below would cancel out.
        return rate * time * time * (0.5 - x / 3.0);
    }
    (1.0 - (-x).exp() * (1.0 + x)) / rate
}

//! CPU seconds of the whole process, and medians with their spread.

use cpu_time::ProcessTime;

/// Returns the CPU seconds of `work`, and its result.
pub fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = ProcessTime::now();
    let result = work();
    (started.elapsed().as_secs_f64(), result)
}

/// Returns the median, the least and the greatest value.
pub fn spread(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

/// Formats values as median and spread: `1.23 (1.20 to 1.30)`.
pub fn show(values: &mut [f64]) -> String {
    let (median, least, greatest) = spread(values);
    format!("{median:.2} ({least:.2} to {greatest:.2})")
}

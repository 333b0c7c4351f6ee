//! The progress line on a terminal.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hapax_crawl::Figures;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{bytes, duration, number};

const TICK: Duration = Duration::from_millis(200);

/// Shows progress until it is finished, if enabled.
#[derive(Debug)]
pub(crate) struct Progress {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn start(wanted: bool, figures: Figures) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = wanted.then(|| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || show(&stop, &figures))
        });
        Self { stop, thread }
    }

    pub(crate) fn finish(self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

fn show(stop: &AtomicBool, figures: &Figures) {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    let mut pace = Pace::default();
    while !stop.load(Relaxed) {
        let pages = figures.pages();
        let queued = figures.urls().queued;
        pace.add(Instant::now(), figures.responses());
        // The first 60 columns are enough to see how it goes.
        let requests = match figures.in_flight() {
            0 if queued > 0 => "waiting (--delay)".to_owned(),
            requests => format!("{requests} in flight"),
        };
        let rest = pace
            .time_for(queued)
            .map_or_else(String::new, |rest| format!("  about {} for the queue", duration(rest)));
        bar.set_message(format!(
            "{} fetched  {} duplicates  {} queued  {:.1}/s  {requests}{rest}  {}",
            number(pages.fetched),
            number(pages.discarded()),
            number(queued),
            pace.per_second(),
            bytes(figures.received()),
        ));
        bar.tick();
        std::thread::sleep(TICK);
    }
    bar.finish_and_clear();
}

/// Responses of the last minute, from which the rest of the time is estimated.
#[derive(Debug, Default)]
struct Pace {
    /// Time and number of responses, at least [`Pace::STEP`] apart except for the last.
    samples: VecDeque<(Instant, u64)>,
}

impl Pace {
    const WINDOW: Duration = Duration::from_secs(60);
    const STEP: Duration = Duration::from_secs(1);
    /// Before this time a rate says nothing about the rest.
    const MIN_WINDOW: Duration = Duration::from_secs(10);

    fn add(&mut self, now: Instant, responses: u64) {
        let last = self.samples.len().checked_sub(2).and_then(|at| self.samples.get(at));
        if last.is_some_and(|(time, _)| now.duration_since(*time) < Self::STEP) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, responses));
        while let Some((time, _)) = self.samples.front()
            && now.duration_since(*time) > Self::WINDOW
        {
            self.samples.pop_front();
        }
    }

    /// The span of the samples in seconds, and the responses within it.
    fn within(&self) -> Option<(Duration, u64)> {
        let ((start, before), (end, after)) = (self.samples.front()?, self.samples.back()?);
        Some((end.duration_since(*start), after.saturating_sub(*before)))
    }

    fn per_second(&self) -> f64 {
        let (span, responses) = self.within().unwrap_or_default();
        if span.is_zero() { 0.0 } else { responses as f64 / span.as_secs_f64() }
    }

    /// The time for this number of queued URLs at the present rate; new links make it longer.
    fn time_for(&self, queued: u64) -> Option<Duration> {
        let (span, responses) = self.within()?;
        if span < Self::MIN_WINDOW || responses == 0 || queued == 0 {
            return None;
        }
        Duration::try_from_secs_f64(queued as f64 * span.as_secs_f64() / responses as f64).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_the_queue_follows_the_last_minute() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        for tenths in 0..=50 {
            pace.add(at(tenths), tenths);
        }
        assert_eq!(pace.time_for(100), None, "five seconds are too short");
        assert!((pace.per_second() - 10.0).abs() < 0.1);
        for tenths in 51..=2000 {
            // One request a second from the fifth second on.
            pace.add(at(tenths), 50 + (tenths - 50) / 10);
        }
        assert!(pace.samples.len() <= 70, "{}", pace.samples.len());
        let rest = pace.time_for(100).unwrap().as_secs();
        assert!((95..=105).contains(&rest), "{rest}");
        assert_eq!(pace.time_for(0), None);
    }

    #[test]
    fn a_crawl_that_waits_has_no_estimate() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        for second in 0..100 {
            pace.add(start + Duration::from_secs(second), 7);
        }
        assert_eq!((pace.time_for(10), pace.per_second()), (None, 0.0));
    }
}

//! The progress line on a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hapax_crawl::Figures;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{bytes, number};

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
    let started = Instant::now();
    while !stop.load(Relaxed) {
        let pages = figures.pages();
        let queued = figures.urls().queued;
        let responses = figures.responses();
        let rate = responses as f64 / started.elapsed().as_secs_f64().max(0.001);
        // The first 60 columns are enough to see how it goes.
        let requests = match figures.in_flight() {
            0 if queued > 0 => "waiting (--delay)".to_owned(),
            requests => format!("{requests} in flight"),
        };
        bar.set_message(format!(
            "{} fetched  {} duplicates  {} queued  {rate:.1}/s  {requests}  {}",
            number(pages.fetched),
            number(pages.discarded()),
            number(queued),
            bytes(figures.received()),
        ));
        bar.tick();
        std::thread::sleep(TICK);
    }
    bar.finish_and_clear();
}

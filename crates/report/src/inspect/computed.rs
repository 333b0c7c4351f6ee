//! Results that take longer than a page may: one thread computes them, and the page answers at once.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use maud::{Markup, html};

use super::views::{frame, refreshing};
use crate::text::{duration, escape};

/// Time for which a page waits for its first result.
pub(super) const PATIENCE: Duration = Duration::from_millis(150);
/// A result of changed data is used for this time, and for as many times the duration of its computation. So a page
/// that stays open beside a running crawl takes at most a twentieth of a core.
const MIN_AGE: Duration = Duration::from_secs(3);
const AGE_FACTOR: u32 = 20;
/// Files whose changes make a result old.
const FILES: [&str; 5] =
    ["discarded.jsonl", "decisions.jsonl", "skipped.jsonl", "events.jsonl", "index/meta.json"];

/// The last result, and the computation of the next one.
#[derive(Debug)]
pub(super) struct Computed<T>(Arc<Slot<T>>);

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<State<T>>,
    is_done: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// What was requested, and the state of the data.
    of: (String, String),
    last: Option<Last<T>>,
    /// The request that is being computed, and since when.
    running: Option<((String, String), Instant)>,
}

#[derive(Debug)]
struct Last<T> {
    result: Result<Arc<T>, String>,
    at: Instant,
    took: Duration,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Got<T> {
    /// The result, and its age if the data has changed since.
    Ready(Arc<T>, Option<Duration>),
    /// It is being computed for this time.
    Waiting(Duration),
    /// The reason why it could not be computed.
    Failed(String),
}

impl<T> Default for Computed<T> {
    fn default() -> Self {
        let state = State { of: Default::default(), last: None, running: None };
        Self(Arc::new(Slot { state: Mutex::new(state), is_done: Condvar::new() }))
    }
}

impl<T: Send + Sync + 'static> Computed<T> {
    /// Returns the result for `wanted` if there is one or it is being computed; starts nothing.
    pub(super) fn known(&self, wanted: &str, dirs: &[PathBuf]) -> Option<Got<T>> {
        let state = self.0.lock();
        let running = state.running.as_ref().filter(|(of, _)| of.0 == wanted);
        let waiting = running.map(|(_, since)| Got::Waiting(since.elapsed()));
        state.got(wanted, dirs).or(waiting)
    }

    /// Returns the result of `compute` for `wanted`, and starts a computation on a thread if a result is missing or old.
    /// At most one computation runs at a time. Waits at most for `patience`.
    pub(super) fn get(
        &self,
        wanted: &str,
        dirs: &[PathBuf],
        patience: Duration,
        compute: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Got<T> {
        let asked = Instant::now();
        let of = (wanted.to_owned(), state_of(dirs));
        let mut state = self.0.lock();
        if state.needs(&of) && state.running.is_none() {
            self.0.start(&mut state, of, compute);
        }
        loop {
            if let Some(got) = state.got(wanted, dirs) {
                return got;
            }
            let left = patience.saturating_sub(asked.elapsed());
            if left.is_zero() {
                let since = state.running.as_ref().map_or(asked, |(_, since)| *since);
                return Got::Waiting(since.elapsed());
            }
            let waited = self.0.is_done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T> State<T> {
    fn needs(&self, of: &(String, String)) -> bool {
        let Some(last) = &self.last else { return true };
        let is_old = last.at.elapsed() > MIN_AGE.max(last.took.saturating_mul(AGE_FACTOR));
        self.of.0 != of.0 || (self.of.1 != of.1 && is_old)
    }

    fn got(&self, wanted: &str, dirs: &[PathBuf]) -> Option<Got<T>> {
        let last = self.last.as_ref().filter(|_| self.of.0 == wanted)?;
        let age = (self.of.1 != state_of(dirs)).then(|| last.at.elapsed());
        Some(match &last.result {
            Ok(result) => Got::Ready(Arc::clone(result), age),
            Err(why) => Got::Failed(why.clone()),
        })
    }
}

impl<T: Send + Sync + 'static> Slot<T> {
    fn start(
        self: &Arc<Self>,
        state: &mut State<T>,
        of: (String, String),
        compute: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) {
        let begun = Instant::now();
        state.running = Some((of, begun));
        let slot = Arc::clone(self);
        let job = move || {
            let run = std::panic::AssertUnwindSafe(compute);
            let result = std::panic::catch_unwind(run)
                .unwrap_or_else(|_| Err("the computation failed".to_owned()));
            slot.finish(result.map(Arc::new), begun.elapsed());
        };
        if let Err(error) = std::thread::Builder::new().name("inspect".to_owned()).spawn(job) {
            state.finish(Err(format!("cannot start a thread: {error}")), Duration::ZERO);
        }
    }

    fn finish(&self, result: Result<Arc<T>, String>, took: Duration) {
        self.lock().finish(result, took);
        self.is_done.notify_all();
    }
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn finish(&mut self, result: Result<Arc<T>, String>, took: Duration) {
        if let Some((of, _)) = self.running.take() {
            self.of = of;
        }
        self.last = Some(Last { result, at: Instant::now(), took });
    }
}

impl<T> Got<T> {
    /// Renders the result, or the reason why it is missing. The page loads itself again until the result is there.
    pub(super) fn page(
        self,
        (title, here): (&str, &str),
        dirs: &[PathBuf],
        draw: impl FnOnce(&T) -> hapax_data::Result<Markup>,
    ) -> hapax_data::Result<Markup> {
        Ok(match self {
            Self::Ready(result, age) => {
                let body = html! {
                    @if let Some(age) = age {
                        p.dim { "The data has changed since this was computed " (duration(age)) " ago." }
                    }
                    (draw(&result)?)
                };
                frame(title, here, dirs, body)
            }
            Self::Waiting(time) => {
                let body = html! {
                    h1 { (title) }
                    p.notice.wait role="status" {
                        "This is being computed for " (duration(time)) ". The page loads itself again."
                    }
                };
                refreshing(title, here, dirs, body)
            }
            Self::Failed(why) => {
                let body = html! { h1 { (title) } p.notice.bad { (escape(&why)) } };
                frame(title, here, dirs, body)
            }
        })
    }
}

/// Returns a name of the state of the data: lengths and times of its files.
fn state_of(dirs: &[PathBuf]) -> String {
    let one = |path: PathBuf| {
        let meta = std::fs::metadata(path).ok();
        meta.map(|meta| (meta.len(), meta.modified().ok()))
    };
    let all = dirs.iter().flat_map(|dir| FILES.map(|name| one(dir.join(name))));
    format!("{:?}", all.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn ready<T: Copy + Send + Sync + 'static>(
        computed: &Computed<T>,
        wanted: &str,
        dirs: &[PathBuf],
        result: impl Fn() -> Result<T, String> + Clone + Send + 'static,
    ) -> Result<T, String> {
        loop {
            match computed.get(wanted, dirs, PATIENCE, result.clone()) {
                Got::Ready(result, _) => return Ok(*result),
                Got::Failed(why) => return Err(why),
                Got::Waiting(_) => {}
            }
        }
    }

    #[test]
    fn a_slow_result_is_computed_once_while_requests_are_answered() {
        let computed = Computed::default();
        let runs = Arc::new(AtomicU32::new(0));
        let own = Arc::clone(&runs);
        let slow = move || {
            std::thread::sleep(Duration::from_millis(600));
            Ok(own.fetch_add(1, Ordering::SeqCst))
        };
        let begun = Instant::now();
        let got = computed.get("a", &[], PATIENCE, slow.clone());
        assert!(matches!(got, Got::Waiting(_)), "{got:?}");
        assert!(begun.elapsed() < Duration::from_millis(500));
        assert_eq!(ready(&computed, "a", &[], slow.clone()), Ok(0));
        assert_eq!(ready(&computed, "a", &[], slow.clone()), Ok(0));
        assert_eq!(ready(&computed, "b", &[], slow), Ok(1), "another request is another result");
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_result_of_changed_data_is_shown_with_its_age() {
        let folder = tempfile::tempdir().unwrap();
        let dirs = [folder.path().to_owned()];
        let computed = Computed::default();
        assert_eq!(ready(&computed, "a", &dirs, || Ok(1)), Ok(1));
        assert!(matches!(computed.get("a", &dirs, PATIENCE, || Ok(2)), Got::Ready(_, None)));
        std::fs::write(folder.path().join("decisions.jsonl"), "x").unwrap();
        let Got::Ready(result, age) = computed.get("a", &dirs, PATIENCE, || Ok(2)) else {
            panic!()
        };
        assert!(*result == 1 && age.is_some());
    }

    #[test]
    fn a_look_at_a_result_starts_no_computation() {
        let (computed, runs) = (Computed::default(), Arc::new(AtomicU32::new(0)));
        assert!(computed.known("a", &[]).is_none());
        let own = Arc::clone(&runs);
        let slow = move || {
            std::thread::sleep(Duration::from_millis(600));
            Ok(own.fetch_add(1, Ordering::SeqCst))
        };
        assert!(matches!(computed.get("a", &[], Duration::ZERO, slow.clone()), Got::Waiting(_)));
        assert!(matches!(computed.known("a", &[]), Some(Got::Waiting(_))));
        assert!(computed.known("b", &[]).is_none());
        assert_eq!(ready(&computed, "a", &[], slow), Ok(0));
        assert!(matches!(computed.known("a", &[]), Some(Got::Ready(_, None))));
        assert!(computed.known("b", &[]).is_none());
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failed_computation_is_reported_and_a_panic_does_not_block_the_next_one() {
        let computed = Computed::<u32>::default();
        assert_eq!(
            ready(&computed, "a", &[], || Err("no tables".to_owned())).unwrap_err(),
            "no tables"
        );
        let panics = || -> Result<u32, String> { panic!("on purpose") };
        assert_eq!(ready(&computed, "b", &[], panics).unwrap_err(), "the computation failed");
        assert_eq!(ready(&computed, "c", &[], || Ok(3)), Ok(3));
    }
}

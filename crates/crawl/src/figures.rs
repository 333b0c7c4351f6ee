//! Counters of a running crawl.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_data::{PageCounts, SkipReason};
use hapax_frontier::{Counts, Frontier, HostState};

use crate::stats::Stats;

/// The counters of a crawl. Cheap to clone, and to read from any thread.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(crate) stats: Arc<Stats>,
    pub(crate) frontier: Arc<dyn Frontier>,
}

/// The counters of the current run of several, or those with which the last one ended. Cheap to clone. Between two runs
/// it holds no file of the data directory.
#[derive(Clone, Debug, Default)]
pub struct LatestFigures(Arc<Mutex<Latest>>);

#[derive(Debug, Default)]
enum Latest {
    #[default]
    None,
    Running(Figures),
    Ended(String),
}

impl LatestFigures {
    /// Begins a run. Returns whether it is the first one.
    pub fn begin(&self, figures: Figures) -> bool {
        let before = std::mem::replace(&mut *self.lock(), Latest::Running(figures));
        matches!(before, Latest::None)
    }

    /// Ends a run: its counters stay as they are.
    pub fn end(&self) {
        let mut latest = self.lock();
        if let Latest::Running(figures) = &*latest {
            let text = figures.to_prometheus();
            *latest = Latest::Ended(text);
        }
    }

    /// Returns the counters as [`Figures::to_prometheus`]; empty before the first run.
    pub fn to_prometheus(&self) -> String {
        match &*self.lock() {
            Latest::None => String::new(),
            Latest::Running(figures) => figures.to_prometheus(),
            Latest::Ended(text) => text.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Latest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Figures {
    /// Counts of pages, earlier runs included.
    pub fn pages(&self) -> PageCounts {
        self.stats.pages()
    }

    /// Skipped URLs by reason, earlier runs included.
    pub fn skipped(&self) -> BTreeMap<SkipReason, u64> {
        self.stats.skipped()
    }

    /// Numbers of URLs by state.
    pub fn urls(&self) -> Counts {
        self.frontier.counts()
    }

    /// The state of a host.
    pub fn host(&self, host: &str) -> Option<HostState> {
        self.frontier.host(host)
    }

    /// Number of requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.stats.in_flight.load(Relaxed)
    }

    /// Responses of this run, of any status.
    pub fn responses(&self) -> u64 {
        self.stats.responses.load(Relaxed)
    }

    /// Bytes received in this run.
    pub fn received(&self) -> u64 {
        self.stats.received.load(Relaxed)
    }

    /// Returns all counters in the text format of Prometheus, version 0.0.4.
    pub fn to_prometheus(&self) -> String {
        let (pages, counts) = (self.pages(), self.urls());
        let mut text = String::new();
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(
                text,
                "# HELP hapax_{name} {help}\n# TYPE hapax_{name} {kind}\nhapax_{name} {value}"
            );
        };
        one(
            "pages_fetched_total",
            "counter",
            "Responses with a body, earlier runs included.",
            pages.fetched,
        );
        one("pages_indexed", "gauge", "Pages that are kept.", pages.indexed);
        one("bytes_fetched_total", "counter", "Bytes of bodies on the wire.", pages.bytes);
        one(
            "responses_total",
            "counter",
            "Responses of this run, of any status.",
            self.responses(),
        );
        one("requests_in_flight", "gauge", "Requests under way.", self.in_flight());
        one("urls_known", "gauge", "URLs ever seen.", counts.known);
        one("urls_queued", "gauge", "URLs that wait, those in flight among them.", counts.queued);
        one("urls_deferred", "gauge", "URLs given up for this run.", counts.deferred);
        let kinds = [
            ("exact", pages.exact),
            ("near", pages.near),
            ("canonical", pages.canonical),
            ("alias", pages.alias),
            ("part", pages.part),
        ];
        let _ = writeln!(
            text,
            "# HELP hapax_discarded Pages discarded as duplicates.\n# TYPE hapax_discarded gauge"
        );
        for (kind, count) in kinds {
            let _ = writeln!(text, "hapax_discarded{{kind=\"{kind}\"}} {count}");
        }
        let _ = writeln!(
            text,
            "# HELP hapax_skipped_total URLs not fetched or not used.\n# TYPE hapax_skipped_total counter"
        );
        for (reason, count) in self.skipped() {
            // Reasons are a closed list of plain words.
            let _ = writeln!(text, "hapax_skipped_total{{reason=\"{reason}\"}} {count}");
        }
        text
    }
}

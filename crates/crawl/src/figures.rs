//! Counters of a running crawl.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hapax_data::{PageCounts, SkipReason};
use hapax_frontier::{Counts, Frontier, HostState};

use crate::stats::Stats;

/// The counters of a crawl. Cheap to clone, and to read from any thread.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(crate) stats: Arc<Stats>,
    pub(crate) frontier: Arc<dyn Frontier>,
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

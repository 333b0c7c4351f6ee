//! Which URLs a crawl takes, and when a run ends.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::error::Result;
use hapax_data::SitemapPart;
use hapax_data::SkipReason;
use hapax_frontier::{Entry, EntryKind};
use hapax_url::{Rejected, Scope, UrlLimits, normalize};
use regex::RegexSet;
use url::Url;

use super::identity::is_of_rules;
use super::stats::Stats;
use super::summary::Stop;
use crate::config::{Config, ScopeRules};
use crate::error::Error;

/// A URL that is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) url: Url,
    pub(crate) reason: SkipReason,
    /// In words.
    pub(crate) detail: String,
    /// How far from a seed it was met, if wider rules may take it in.
    pub(crate) depth: Option<u16>,
    /// It is a sitemap.
    pub(crate) sitemap: Option<SitemapPart>,
}

impl Refusal {
    /// One that no rule takes back.
    pub(super) fn new(url: Url, reason: SkipReason, detail: impl Into<String>) -> Self {
        Self { url, reason, detail: detail.into(), depth: None, sitemap: None }
    }

    /// Of what was queued, when it was its turn. Wider rules may take it back: then it is told whether it is
    /// a sitemap, or how far from a seed it was met.
    pub(super) fn of_lease(entry: &Entry, reason: SkipReason, detail: String) -> Self {
        let mut refusal = Self::new(entry.url.clone(), reason, detail);
        if is_of_rules(reason) {
            match entry.kind {
                EntryKind::Page => refusal.depth = Some(entry.depth),
                EntryKind::Sitemap => refusal.sitemap = Some(SitemapPart::Whole),
                EntryKind::Probe => {}
            }
        }
        refusal
    }
}

/// Which URLs are taken. A clone takes what this one takes, also after seeds have moved.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    scope: Arc<RwLock<Scope>>,
    include: Option<RegexSet>,
    exclude: RegexSet,
    max_depth: u16,
    pub(super) limits: UrlLimits,
}

impl Rules {
    pub(crate) fn new<'s>(
        config: &ScopeRules,
        seeds: impl IntoIterator<Item = &'s Url>,
    ) -> Result<Self> {
        let set = |field, patterns: &[String]| {
            RegexSet::new(patterns).map_err(|error| Error::config(field, error.to_string()))
        };
        let include = set("scope.include", &config.include)?;
        Ok(Self {
            scope: Arc::new(RwLock::new(Scope::new(config.kind, seeds))),
            include: (!include.is_empty()).then_some(include),
            exclude: set("scope.exclude", &config.exclude)?,
            max_depth: config.max_depth.unwrap_or(u16::MAX),
            limits: config.urls.clone(),
        })
    }

    /// A seed has moved: its scope comes along.
    pub(crate) fn seed_moved(&self, to: &Url) {
        self.scope.write().unwrap_or_else(PoisonError::into_inner).add(to);
    }

    /// Whether it matters how far from a seed a page lies.
    pub(super) const fn have_depth(&self) -> bool {
        self.max_depth < u16::MAX
    }

    /// The form in which a URL is known, unless it is a trap or no web address.
    pub(crate) fn normal(&self, url: &Url) -> Option<Url> {
        normalize(url, &self.limits).ok()
    }

    pub(super) fn in_scope(&self, url: &Url) -> bool {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).contains(url)
    }

    /// The pattern that leaves out a page that is there already: no scope and no depth are said of it.
    pub(crate) fn leaves_out(&self, url: &Url) -> Option<SkipReason> {
        if self.include.as_ref().is_some_and(|set| !set.is_match(url.as_str())) {
            Some(SkipReason::Include)
        } else {
            self.exclude.is_match(url.as_str()).then_some(SkipReason::Exclude)
        }
    }

    /// The normal form of a URL that belongs to the crawl, or the reason why it does not. `None`
    /// for what is no web address at all. What is to be included is said of links: seeds, at depth 0,
    /// are where those are found.
    pub(crate) fn admit(&self, url: &Url, depth: u16) -> Option<Result<Url, Refusal>> {
        let normal = match normalize(url, &self.limits) {
            Ok(normal) => normal,
            Err(Rejected::Scheme) => return None,
            Err(Rejected::Trap(what)) => {
                return Some(Err(Refusal::new(url.clone(), SkipReason::Trap, what)));
            }
        };
        let reason = if !self.in_scope(&normal) {
            SkipReason::Scope
        } else if depth > self.max_depth {
            SkipReason::Depth
        } else if depth > 0
            && self.include.as_ref().is_some_and(|set| !set.is_match(normal.as_str()))
        {
            SkipReason::Include
        } else if self.exclude.is_match(normal.as_str()) {
            SkipReason::Exclude
        } else {
            return Some(Ok(normal));
        };
        let detail = format!("at depth {depth}");
        Some(Err(Refusal { depth: Some(depth), ..Refusal::new(normal, reason, detail) }))
    }
}

/// Whether a list of hosts names the one of a URL: with its port or for all ports.
pub(crate) fn names_host(hosts: &[String], url: &Url) -> bool {
    let with_port = hapax_fetch::host_and_port(url);
    let name = url.host_str().unwrap_or_default();
    hosts
        .iter()
        .any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(&with_port))
}

/// Limits of the whole run.
#[derive(Debug)]
pub(crate) struct RunLimits {
    max_pages: u64,
    is_recrawl: bool,
    max_bytes: u64,
    deadline: Option<Instant>,
    min_free_disk: u64,
    data: PathBuf,
    /// When the disk was looked at last, and what was free.
    disk: Cell<Option<(Instant, u64)>>,
    stats: Arc<Stats>,
}

impl RunLimits {
    /// A recrawl counts the pages that it looks at, beyond those of `before`.
    pub(crate) fn new(
        config: &Config,
        data: &Path,
        stats: &Arc<Stats>,
        before: Option<u64>,
    ) -> Self {
        Self {
            max_pages: config.max_pages.unwrap_or(u64::MAX).saturating_add(before.unwrap_or(0)),
            is_recrawl: before.is_some(),
            max_bytes: config.max_bytes.unwrap_or(u64::MAX),
            deadline: config.time_limit.and_then(|time| Instant::now().checked_add(time)),
            min_free_disk: config.min_free_disk,
            data: data.to_owned(),
            disk: Cell::default(),
            stats: Arc::clone(stats),
        }
    }

    /// The limit that is reached, with so many pages under way.
    pub(crate) fn reached(&self, active: u64) -> Option<Stop> {
        let pages =
            if self.is_recrawl { self.stats.looked_at() } else { self.stats.pages().fetched };
        if self.stats.received.load(Relaxed) >= self.max_bytes {
            Some(Stop::MaxBytes)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Stop::TimeLimit)
        } else if self.disk_is_full() {
            Some(Stop::Disk)
        } else if pages.saturating_add(active) >= self.max_pages {
            // Last: it waits for pages in flight, and the others must not.
            Some(Stop::MaxPages)
        } else {
            None
        }
    }

    /// Whether less of the disk is free than `--min-free-disk`.
    pub(crate) fn disk_is_full(&self) -> bool {
        self.free_disk().is_some_and(|free| free < self.min_free_disk)
    }

    /// Bytes free where the data lies, asked at most once a second.
    fn free_disk(&self) -> Option<u64> {
        if let Some((at, free)) = self.disk.get()
            && at.elapsed() < Duration::from_secs(1)
        {
            return Some(free);
        }
        let free = fs4::available_space(&self.data).ok()?;
        self.disk.set(Some((Instant::now(), free)));
        Some(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_with_or_without_its_port_in_any_case() {
        let url = |text: &str| Url::parse(text).unwrap();
        let hosts = ["A.example".to_owned(), "b.example:8080".to_owned()];
        assert!(names_host(&hosts, &url("https://a.example/x")));
        assert!(names_host(&hosts, &url("http://a.example:81/")));
        assert!(names_host(&hosts, &url("http://b.example:8080/")));
        assert!(!names_host(&hosts, &url("http://b.example/")));
        assert!(!names_host(&hosts, &url("http://aa.example/")));
    }
}

//! Which URLs a crawl takes, and when it ends.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use hapax_frontier::{Entry, EntryKind};
use hapax_url::{Rejected, Scope, ScopeKind, UrlLimits, normalize};
use regex::RegexSet;
use url::Url;

use super::log::Skipped;
use super::stats::Stats;
use super::summary::Stop;
use crate::exit::{USAGE, coded};
use crate::settings::{ScopeName, Settings};
use crate::units::{NONE, parse_duration, parse_size};

/// The default of `--min-free-disk`.
const MIN_FREE_DISK: u64 = 1 << 30;

/// The reasons of [`Rules`], but for traps: what wider rules may take in later.
pub(super) const RULES: [&str; 4] = ["scope", "depth", "include", "exclude"];
/// How the log says how far from a seed a refused URL was met.
pub(super) const AT_DEPTH: &str = "at depth ";

/// How it says it of a URL that was refused when it was its turn, behind the reason's own detail.
const TOLD_DEPTH: &str = "; at depth ";
/// And that it is a sitemap.
pub(super) const A_SITEMAP: &str = "; a sitemap";

/// What else flags have refused, by the line of [`Job::rules`](super::run::Job::rules) that tells of them.
pub(super) const BY_LINE: [&[&str]; 5] =
    [&RULES, &["robots"], &["budget"], &["too-large"], &["private-address"]];

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
    pub(crate) fn new(settings: &Settings, seeds: &[Url]) -> Result<Self> {
        let kind = match settings.scope.unwrap_or(ScopeName::Host) {
            ScopeName::Host => ScopeKind::Host,
            ScopeName::Domain => ScopeKind::Domain,
            ScopeName::Prefix => ScopeKind::Prefix,
            ScopeName::Any => ScopeKind::Any,
        };
        let set = |name: &str, list: &Option<Vec<String>>| {
            RegexSet::new(Settings::list(list))
                .map_err(|error| coded(USAGE, format!("--{name}: {error}")))
        };
        let include = set("include", &settings.include)?;
        Ok(Self {
            scope: Arc::new(RwLock::new(Scope::new(kind, seeds))),
            include: (!include.is_empty()).then_some(include),
            exclude: set("exclude", &settings.exclude)?,
            max_depth: settings
                .max_depth
                .map_or(u16::MAX, |depth| u16::try_from(depth).unwrap_or(u16::MAX)),
            limits: settings.url_limits()?,
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
    pub(crate) fn leaves_out(&self, url: &Url) -> Option<&'static str> {
        if self.include.as_ref().is_some_and(|set| !set.is_match(url.as_str())) {
            Some("include")
        } else {
            self.exclude.is_match(url.as_str()).then_some("exclude")
        }
    }

    /// The normal form of a URL that belongs to the crawl, or the reason why it does not. `None`
    /// for what is no web address at all. What is to be included is said of links: seeds, at depth 0,
    /// are where those are found.
    pub(crate) fn admit(
        &self,
        url: &Url,
        depth: u16,
    ) -> Option<Result<Url, (Url, &'static str, String)>> {
        let normal = match normalize(url, &self.limits) {
            Ok(normal) => normal,
            Err(Rejected::Scheme) => return None,
            Err(Rejected::Trap(what)) => return Some(Err((url.clone(), "trap", what.to_owned()))),
        };
        let reason = if !self.in_scope(&normal) {
            "scope"
        } else if depth > self.max_depth {
            "depth"
        } else if depth > 0
            && self.include.as_ref().is_some_and(|set| !set.is_match(normal.as_str()))
        {
            "include"
        } else if self.exclude.is_match(normal.as_str()) {
            "exclude"
        } else {
            return Some(Ok(normal));
        };
        Some(Err((normal, reason, format!("{AT_DEPTH}{depth}"))))
    }
}

/// How far from a seed a refused URL was met, if its line says so.
pub(crate) fn depth_of(line: &Skipped<'_>) -> Option<u16> {
    line.detail.strip_prefix(AT_DEPTH)?.parse().ok()
}

/// The detail of a refusal that wider rules may take back, with what is needed for that: whether it is a
/// sitemap, or how far from a seed it was met, unless that is 1.
pub(super) fn told(reason: &str, detail: String, entry: &Entry) -> String {
    let later = BY_LINE.iter().skip(1).any(|reasons| reasons.contains(&reason));
    match (entry.kind, entry.depth) {
        (EntryKind::Sitemap, _) if later => format!("{detail}{A_SITEMAP}"),
        (EntryKind::Page, depth) if later && depth != 1 => format!("{detail}{TOLD_DEPTH}{depth}"),
        _ => detail,
    }
}

/// How far from a seed a URL was met that was refused when it was its turn, if its line says so.
pub(super) fn depth_told(line: &Skipped<'_>) -> Option<u16> {
    line.detail.rsplit_once(TOLD_DEPTH)?.1.parse().ok()
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
        settings: &Settings,
        data: &Path,
        stats: &Arc<Stats>,
        before: Option<u64>,
    ) -> Result<Self> {
        let limited = |text: &&str| *text != NONE;
        let time =
            settings.time_limit.as_deref().filter(limited).map(parse_duration).transpose()?;
        Ok(Self {
            max_pages: settings.max_pages.unwrap_or(u64::MAX).saturating_add(before.unwrap_or(0)),
            is_recrawl: before.is_some(),
            max_bytes: settings
                .max_bytes
                .as_deref()
                .filter(limited)
                .map_or(Ok(u64::MAX), parse_size)?,
            deadline: time.and_then(|time| Instant::now().checked_add(time)),
            min_free_disk: settings
                .min_free_disk
                .as_deref()
                .map_or(Ok(MIN_FREE_DISK), parse_size)?,
            data: data.to_owned(),
            disk: Cell::default(),
            stats: Arc::clone(stats),
        })
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

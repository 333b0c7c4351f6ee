//! Queues the entries of sitemaps and logs the others, with a limited number of lines per sitemap.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::error::Result;
use hapax_data::SkipReason;
use hapax_data::{Limit, SitemapPart, SkipCause};
use hapax_fetch::Sitemap;
use hapax_frontier::{Entry, EntryKind};
use hapax_url::{Rejected, normalize};
use hapax_warc::format_time;
use url::Url;

use crate::admission::{Admission, Skip};
use crate::sitemap_origin::{MAX_SITEMAP_DEPTH, MOST_REDIRECTS, SitemapOrigin};
use crate::usual_sitemap::USUAL_SITEMAP;
use crate::writer::Writer;

/// Log lines for refused entries of one sitemap; the rest is logged as one line per reason.
const MAX_REFUSED_LINES: u64 = 1000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A page whose last change is more recent is fetched first, unless the date is in the future.
const RECENT: Duration = DAY.saturating_mul(30);

impl Writer {
    pub(crate) fn sitemap(&mut self, from: &Entry, sitemap: Sitemap) -> Result<()> {
        let now = SystemTime::now();
        let since = format_time(now.checked_sub(RECENT).unwrap_or(SystemTime::UNIX_EPOCH));
        let until = format_time(now + DAY);
        let mut refused = Refused::default();
        // Most hosts answer with a page where a sitemap is only tried.
        let is_tried = from.kind == EntryKind::Sitemap && from.url.path() == USUAL_SITEMAP;
        if sitemap.is_empty() && !sitemap.is_list && !sitemap.cut && !is_tried {
            let detail = "a sitemap: neither a sitemap, a feed nor a list of URLs";
            self.not_all_read(from, SkipReason::ContentType, detail)?;
        }
        for page in sitemap.pages {
            let changed = page.changed.as_deref().unwrap_or_default();
            let recent = since.as_str() <= changed && changed < until.as_str();
            match self.admit(&page.url, 1)? {
                Admission::Admitted(url) => {
                    let has_date = !changed.is_empty() && changed < until.as_str();
                    if has_date && self.committer.dated(&url, changed)? {
                        self.visit_changed(&url)?;
                    }
                    let entry = Entry { recent, ..Entry::page(url, 1) };
                    self.queue_if_place(entry, Some(&from.url))?;
                }
                Admission::Refused(skip) => refused.add(self, skip, &from.url)?,
                other => self.not_admitted(other)?,
            }
        }
        let way =
            SitemapOrigin { level: SitemapOrigin::of(from).level.saturating_add(1), redirects: 0 };
        for map in sitemap.maps {
            match self.admit_sitemap(&map, way) {
                Admission::Admitted(map) => self.queue_listed(map, way, &from.url)?,
                Admission::Refused(skip) => refused.add(self, skip, &from.url)?,
                other => self.not_admitted(other)?,
            }
        }
        for (reason, count) in refused.rest {
            let detail = format!("a sitemap, with further entries that are refused: {count}");
            let rest = Skip::new(from.url.clone(), reason, detail);
            self.committer.skip_refused(Skip { sitemap: Some(SitemapPart::Entries), ..rest })?;
        }
        if sitemap.beyond + sitemap.unusable > 0 {
            let (beyond, unusable) = (sitemap.beyond, sitemap.unusable);
            let detail = match beyond {
                0 => format!(
                    "{unusable} entries of this sitemap: too long, or no address of the web"
                ),
                _ => format!(
                    "{beyond} entries of this sitemap: beyond --max-sitemap-urls or its size; {unusable}: too \
                     long, or no address of the web"
                ),
            };
            let limit = (beyond > 0).then_some(Limit::SitemapUrls);
            self.not_all_read(from, SkipCause { reason: SkipReason::Links, limit }, &detail)?;
        }
        if sitemap.cut {
            let detail = "a sitemap: larger than --max-sitemap, or damaged";
            self.not_all_read(from, Limit::Sitemap, detail)?;
        }
        Ok(())
    }

    /// Logs that a limit cut a sitemap. A wider limit reads it again.
    fn not_all_read(
        &mut self,
        map: &Entry,
        cause: impl Into<SkipCause>,
        detail: &str,
    ) -> Result<()> {
        let skip = Skip::new(map.url.clone(), cause, detail);
        self.committer.skip_refused(Skip { sitemap: Some(SitemapPart::Entries), ..skip })
    }

    /// Follows a redirect of a sitemap, at the same index level, up to the limit of redirects.
    pub(crate) fn sitemap_moved(&mut self, from: &Entry, target: &Url) -> Result<()> {
        let mut way = SitemapOrigin::of(from);
        way.redirects += 1;
        let most = self.max_redirects.min(MOST_REDIRECTS);
        let detail = if way.redirects > most {
            format!("more than {most} in a row")
        } else if normalize(target, &self.rules.limits).is_ok_and(|to| to == from.url) {
            "it leads to itself, or to another spelling".to_owned()
        } else {
            return self.sitemap_at(target, way);
        };
        let detail = format!("a sitemap: {detail}: {target}");
        self.committer.skip(from.url.as_str(), SkipReason::Redirects, &detail)
    }

    /// Queues the sitemap that robots.txt declares equal to this one (Clean-param).
    pub(crate) fn sitemap_is(&mut self, from: &Entry, target: &Url) -> Result<()> {
        self.sitemap_at(target, SitemapOrigin::of(from))
    }

    /// Queues a sitemap if the rules admit it.
    pub(crate) fn sitemap_at(&mut self, map: &Url, way: SitemapOrigin) -> Result<()> {
        match self.admit_sitemap(map, way) {
            Admission::Admitted(map) => self.queue_sitemap(map, way),
            other => self.not_admitted(other),
        }
    }

    /// Requests a sitemap again because not all of it was queued.
    pub(crate) fn sitemap_again(&mut self, map: &Url) -> Result<bool> {
        let Ok(map) = normalize(map, &self.rules.limits) else { return Ok(false) };
        Ok(self.frontier.push_again(Entry::sitemap(map, SitemapOrigin::default().hops()))?)
    }

    /// Decides about a sitemap. The patterns and the depth for pages do not apply.
    fn admit_sitemap(&self, map: &Url, way: SitemapOrigin) -> Admission {
        let map = match normalize(map, &self.rules.limits) {
            Ok(map) => map,
            Err(Rejected::Scheme) => return Admission::NoWebAddress,
            Err(Rejected::Trap(trap)) => {
                let skip = Skip::new(map.clone(), Limit::from(trap), trap.as_str());
                return Admission::Refused(Skip { sitemap: Some(SitemapPart::Whole), ..skip });
            }
        };
        if way.level > MAX_SITEMAP_DEPTH {
            let detail = format!("a sitemap below {MAX_SITEMAP_DEPTH} indexes");
            let skip = Skip::new(map, SkipReason::Depth, detail);
            Admission::Refused(Skip { sitemap: Some(SitemapPart::TooDeep), ..skip })
        } else if self.rules.in_scope(&map) {
            Admission::Admitted(map)
        } else {
            let skip = Skip::new(map, SkipReason::Scope, "a sitemap");
            Admission::Refused(Skip { sitemap: Some(SitemapPart::Whole), ..skip })
        }
    }

    /// Queues a sitemap of an index within the limits of the queue, because an index may be of any length.
    fn queue_listed(&mut self, map: Url, way: SitemapOrigin, index: &Url) -> Result<()> {
        if self.committer.look.on && self.frontier.knows(map.as_str())? {
            return self.queue_sitemap(map, way);
        }
        self.queue_if_place(Entry::sitemap(map, way.hops()), Some(index))
    }

    fn queue_sitemap(&self, map: Url, way: SitemapOrigin) -> Result<()> {
        let entry = Entry::sitemap(map, way.hops());
        match self.committer.look.on {
            true => self.frontier.push_again(entry)?,
            false => self.frontier.push(entry)?,
        };
        Ok(())
    }
}

#[derive(Default)]
struct Refused {
    lines: u64,
    /// Entries without separate lines, by reason.
    rest: BTreeMap<SkipReason, u64>,
}

impl Refused {
    fn add(&mut self, writer: &mut Writer, skip: Skip, from: &Url) -> Result<()> {
        if self.lines < MAX_REFUSED_LINES {
            let skip = Skip { from: Some(from.clone()), ..skip };
            self.lines += u64::from(writer.refuse(skip)?);
        } else {
            *self.rest.entry(skip.cause.reason).or_default() += 1;
        }
        Ok(())
    }
}

//! What the rules and the knowledge of a crawl say about a URL.

use hapax_data::{Again, SitemapPart, SkipReason};
use hapax_frontier::{Entry, EntryKind};
use url::Url;

/// Whether a URL belongs to the crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It belongs to the crawl, in this normal form.
    Admitted(Url),
    /// It is not an http or https URL.
    NoWebAddress,
    /// The rules of this run refuse it; the rules of another run may admit it.
    Refused(Refusal),
    /// It is left out whatever the rules: it was forgotten, or a learnt pattern says that it is a duplicate.
    LeftOut(Refusal),
    /// A rule learnt from duplicates excludes it: an equivalent URL is requested.
    Repeats(Url),
    /// A feed names another page with its text, which is fetched instead.
    LeftToFeed,
}

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
    /// When it is requested again, if that does not follow from the reason.
    pub(crate) again: Option<Again>,
}

impl Refusal {
    /// One that no rule takes back.
    pub(super) fn new(url: Url, reason: SkipReason, detail: impl Into<String>) -> Self {
        Self { url, reason, detail: detail.into(), depth: None, sitemap: None, again: None }
    }

    /// A refusal of a leased URL. It may be requested again, so the line names a sitemap, or the depth of a page.
    pub(super) fn of_lease(entry: &Entry, reason: SkipReason, detail: String) -> Self {
        let mut refusal = Self::new(entry.url.clone(), reason, detail);
        match entry.kind {
            EntryKind::Page => refusal.depth = Some(entry.depth),
            EntryKind::Sitemap => refusal.sitemap = Some(SitemapPart::Whole),
            EntryKind::Probe => {}
        }
        refusal
    }
}

//! The decision whether a URL belongs to the crawl.

use hapax_data::{Again, SitemapPart, SkipCause};
use hapax_frontier::{Entry, EntryKind};
use url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It belongs to the crawl, in this normal form.
    Admitted(Url),
    /// It is not an http or https URL.
    NoWebAddress,
    /// The rules of this run refuse it; the rules of another run may admit it.
    Refused(Skip),
    /// It is excluded under all rules: it was forgotten, or a learnt pattern predicts a duplicate.
    LeftOut(Skip),
    /// A rule learnt from duplicates excludes it: an equivalent URL is requested.
    Repeats(Url),
    /// A feed names another page with the same text, which is fetched instead.
    LeftToFeed,
}

/// A URL that does not belong to the crawl, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) url: Url,
    pub(crate) cause: SkipCause,
    pub(crate) detail: String,
    /// The depth at which it was found, if wider rules may admit it.
    pub(crate) depth: Option<u16>,
    pub(crate) sitemap: Option<SitemapPart>,
    /// When it is requested again, if this does not follow from the reason.
    pub(crate) again: Option<Again>,
    /// The given rule that excludes it.
    pub(crate) rule: Option<String>,
    /// The page or sitemap that names it. Without one, the line has the inlinks that the frontier knows.
    pub(crate) from: Option<Url>,
}

impl Skip {
    /// Makes a skip that no change of rules revokes.
    pub(super) fn new(url: Url, cause: impl Into<SkipCause>, detail: impl Into<String>) -> Self {
        Self {
            url,
            cause: cause.into(),
            detail: detail.into(),
            depth: None,
            sitemap: None,
            again: None,
            rule: None,
            from: None,
        }
    }

    /// A skip of a leased URL. It may be requested again, so the line names a sitemap, or the depth of a page.
    pub(super) fn of_lease(entry: &Entry, cause: impl Into<SkipCause>, detail: String) -> Self {
        let mut skip = Self::new(entry.url.clone(), cause, detail);
        match entry.kind {
            EntryKind::Page => skip.depth = Some(entry.depth),
            EntryKind::Sitemap => skip.sitemap = Some(SitemapPart::Whole),
            EntryKind::Probe => {}
        }
        skip
    }
}

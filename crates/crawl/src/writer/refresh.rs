//! Stubs: pages of few words that lead to another page, or to themselves once a cookie is set.

use hapax_frontier::{End, Lease};
use hapax_url::normalize;
use url::Url;

use super::Writer;
use crate::error::Result;
use crate::message::LeaseResult;
use crate::page::PageWork;

/// Maximum number of words of a page whose meta refresh counts as a redirect.
const STUB_WORDS: u32 = 50;

impl Writer {
    /// Returns the target of a meta refresh if the page is a stub, whatever its status. A longer page counts as a
    /// page.
    pub(super) fn meta_refresh_target<'p>(&self, page: &'p PageWork) -> Option<&'p Url> {
        let target = refresh_of_stub(page)?;
        let other = normalize(target, &self.rules.limits).is_ok_and(|target| target != page.url);
        other.then_some(target)
    }

    /// Logs a stub that sets a cookie and loads itself again, without cookies: the page is behind it. A stub with links is
    /// a page. Returns `None` for any other page.
    pub(super) fn behind_cookie(&mut self, lease: &Lease, page: &PageWork) -> Result<Option<End>> {
        if !self.is_cookie_wall(page) {
            return Ok(None);
        }
        self.committer.unused(page);
        let detail = "it sets a cookie and refreshes to itself; cookies are kept with --cookies";
        self.leads_back(lease, detail).map(Some)
    }

    /// Returns whether a page is a stub, which leads to another page or waits for a cookie.
    pub(super) fn is_stub(&self, result: &LeaseResult) -> bool {
        matches!(result, LeaseResult::Page(page)
            if self.is_cookie_wall(page) || self.meta_refresh_target(page).is_some())
    }

    pub(super) fn is_cookie_wall(&self, page: &PageWork) -> bool {
        !self.cookie_walls.keeps_cookies()
            && page.document.links.is_empty()
            && page.response.header("set-cookie").is_some()
            && refresh_of_stub(page).is_some_and(|target| {
                normalize(target, &self.rules.limits).is_ok_and(|target| target == page.url)
            })
    }
}

fn refresh_of_stub(page: &PageWork) -> Option<&Url> {
    let target = page.document.refresh.as_ref()?;
    (page.evidence.comparison_text.features.tokens <= STUB_WORDS).then_some(target)
}

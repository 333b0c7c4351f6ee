//! Queues the links of a page.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use hapax_data::{Limit, SkipReason};
use hapax_frontier::Entry;
use url::Position;

use super::Writer;
use crate::admission::Admission;
use crate::dropped_links::Source;
use crate::error::Result;
use crate::page::PageWork;

impl Writer {
    /// Queues the links of a page, and logs the parts that were not read.
    pub(super) fn links_of(&mut self, page: &PageWork, entry: &Entry) -> Result<()> {
        self.dropped.new_urls = 0;
        self.dropped.new_elsewhere = 0;
        self.dropped.links.clear();
        if let Some(cut) = page.document.truncated {
            self.committer.skip(page.url.as_str(), Limit::from(cut), cut.as_str())?;
        }
        if page.response.ended_early {
            let detail = "body ended early";
            self.committer.skip(page.url.as_str(), SkipReason::CutShort, detail)?;
        }
        if page.document.links_left_out > 0 {
            let detail = format!(
                "{} links of this page: beyond --max-links, or longer than twice --max-url-length",
                page.document.links_left_out
            );
            self.committer.skip(page.url.as_str(), Limit::PageLinks, &detail)?;
        }
        if page.document.robots.nofollow {
            self.not_followed(page, "the page asks not to follow its links")?;
        } else {
            let depth = entry.depth.saturating_add(1);
            let archived = self.archive && !self.links_only && !page.document.robots.noindex;
            self.dropped.source = Some(Source { page: page.url.clone(), archived });
            let is_enough =
                !self.committer.is_shared() && self.calendars.has_enough(&*self.frontier, page)?;
            // Half of the links of a page lead to the same page as another one.
            let mut seen: HashSet<(&str, bool), RandomState> = HashSet::default();
            for link in &page.document.links {
                if !seen.insert((&link.url[..Position::AfterQuery], link.nofollow)) {
                    continue;
                }
                if is_enough && self.calendars.leaves_out(page, &link.url) {
                    continue;
                }
                if self.is_known_in_utf8(page, &link.url)? {
                    continue;
                }
                match link.nofollow {
                    false => self.push(&link.url, depth, 0)?,
                    true => self.record_nofollow(&link.url, depth, &page.url)?,
                }
            }
            if let Some(next) = &page.document.refresh
                && !self.is_known_in_utf8(page, next)?
            {
                self.push(next, depth, 0)?;
            }
            self.dropped.source = None;
        }
        // A canonical URL outside the scope is not followed.
        if let Some(canonical) = &page.document.canonical
            && !self.is_known_in_utf8(page, canonical)?
            && let Admission::Admitted(url) = self.rules.admit(canonical, entry.depth)
        {
            self.frontier.push(Entry::page(url, entry.depth).from_page(&page.url))?;
        }
        Ok(())
    }

    /// Logs that a page's links are not followed, in one line. Links from other pages may still lead there.
    pub(super) fn not_followed(&mut self, page: &PageWork, why: &str) -> Result<()> {
        let links = page.document.links.len();
        if links > 0 {
            let detail = format!("{why}: {links} of them");
            self.committer.skip(page.url.as_str(), SkipReason::Nofollow, &detail)?;
        }
        Ok(())
    }
}

//! Dates that sites give: `lastmod` of sitemaps, dates of feeds, ETag and Last-Modified. Each site is believed as far as
//! its dates proved right. Used by recrawls of due pages.

use std::time::{Duration, UNIX_EPOCH};

use hapax_warc::format_time;
use url::Url;

use crate::commit::Committer;
use crate::error::Result;
use crate::fetch::validators_note;
use crate::notes::VALIDATORS;
use crate::page::PageWork;
use crate::trust::{DATES, HEADERS, learn, trust};
use crate::visits::{DateClaim, Seen, Visits, unix_now};

/// Seconds within which a visit checks a claim that the page has changed. A later change does not make it right.
const CHECKED_CHANGED: u64 = 2 * 86_400;
/// The same for a claim that it has not changed, because a change after the claim does not make it wrong. Runs read
/// sitemaps and feeds before the pages that are due.
const CHECKED_SAME: u64 = 3600;

impl Committer {
    /// Returns the validators of a known page before it is decided about.
    pub(crate) fn validators_before(&self, url: &Url) -> Result<Vec<u8>> {
        match self.frontier.as_ref().filter(|_| self.look.due) {
            Some(frontier) => Ok(frontier.note_of(url.as_str(), VALIDATORS)?.unwrap_or_default()),
            None => Ok(Vec::new()),
        }
    }

    /// Compares the validators of a page with its text: equal ones claim that nothing has changed.
    pub(crate) fn check_validators(&self, page: &PageWork, before: &[u8]) -> Result<()> {
        let Some(frontier) = self.frontier.as_ref().filter(|_| !before.is_empty()) else {
            return Ok(());
        };
        let is_same = validators_note(&page.response).as_deref() == Some(before);
        let changed = self.look.seen == Some(Seen::Changed);
        learn(&**frontier, &page.url, HEADERS, (!is_same, changed))
    }

    /// Records the date that a sitemap or feed gives for a known page. If the site's dates proved right, a newer date than
    /// that of the last visit makes the page due, and an older one counts as a visit. Returns whether a newer date makes
    /// it due now.
    pub(crate) fn dated(&self, url: &Url, changed: &str) -> Result<bool> {
        let Some(frontier) = self.frontier.as_ref().filter(|_| self.look.due) else {
            return Ok(false);
        };
        let Some(id) = self.store.id_of(url.as_str().as_bytes())? else { return Ok(false) };
        let Some(record) = self.store.record(id)? else { return Ok(false) };
        let visits = Visits::read(&**frontier, url.as_str())?;
        let mut visits = visits.unwrap_or_else(|| Visits::of_record(record.time));
        let now = unix_now();
        let last = format_time(UNIX_EPOCH + Duration::from_secs(visits.last.min(now)));
        // A date without a time is that of the whole day.
        let claimed = changed > last.get(..changed.len().min(last.len())).unwrap_or_default();
        let believed = trust(&**frontier, url, DATES)?.believes(claimed);
        visits.claim = Some(DateClaim { changed: claimed, believed, at: now });
        visits.write(&**frontier, url.as_str());
        let due = visits.due(now, &self.look.pace);
        let is_due = claimed && believed && due <= now;
        if !is_due {
            self.stats.due_at(due);
        }
        Ok(is_due)
    }

    /// Compares what a visit showed with the date that a sitemap gave.
    pub(crate) fn check_date(&self, url: &str, visits: &Visits, seen: Seen) -> Result<()> {
        let (Some(frontier), Some(claim)) = (&self.frontier, visits.claim) else { return Ok(()) };
        let is_answer = matches!(seen, Seen::Same | Seen::Changed);
        if !is_answer || !checks(&claim, unix_now()) {
            return Ok(());
        }
        let Ok(url) = Url::parse(url) else { return Ok(()) };
        learn(&**frontier, &url, DATES, (claim.changed, seen == Seen::Changed))
    }
}

/// Returns whether a visit at this Unix time shows if a claim was right.
const fn checks(claim: &DateClaim, now: u64) -> bool {
    let most = if claim.changed { CHECKED_CHANGED } else { CHECKED_SAME };
    now.saturating_sub(claim.at) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_visit_does_not_check_a_claim() {
        let claim = |changed| DateClaim { changed, believed: true, at: 1_000_000 };
        for (changed, most) in [(true, 2 * 86_400), (false, 3600)] {
            let claim = claim(changed);
            assert!(checks(&claim, claim.at + most), "{changed}");
            assert!(!checks(&claim, claim.at + most + 1), "{changed}");
            assert!(checks(&claim, claim.at - 10), "a clock that was set back");
        }
    }
}

//! Recrawls (`--recrawl`): known pages are requested again.

use std::time::{Duration, Instant, SystemTime};

use crate::error::Result;
use hapax_data::Context;
use hapax_data::DuplicateKind;
use hapax_data::SkipReason;
use hapax_dedup::Record;
use hapax_fetch::Response;
use hapax_frontier::{End, Frontier, HostAnswer, Lease};
use hapax_warc::{RecordKind, RefersTo};
use url::Url;

use super::commit::{Committer, HOST_PAGES, Outcome};
use super::fetch::validators_note;
use super::notes::{TARGET, VALIDATORS};
use super::page::PageWork;
use super::redirect_ends::{EARLIER, target_note};
use hapax_data::is_of_text;
use hapax_data::{Row, Rows};

/// Name of the frontier's note on a URL that was gone. The next recrawl requests it.
pub(super) const GONE: &str = "gone";
/// Name of the note with the depth of a page, if depth is limited.
const DEPTH: &str = "depth";

/// Returns the number of fetched pages of a host, as the frontier remembers it.
pub(crate) fn host_pages(frontier: &dyn Frontier, host: &str) -> Result<u64> {
    let note = frontier.note_of(host, HOST_PAGES)?.unwrap_or_default();
    Ok(note.first_chunk::<8>().map_or(0, |pages| u64::from_le_bytes(*pages)))
}

/// Returns the row of a discarded page. It has the page's number, unless the page was restored in between.
fn row_of(rows: &Rows, id: u64, decided: Option<u64>) -> Option<Row> {
    rows.by_id(id).or_else(|| rows.by_id(decided?))
}

impl Committer {
    /// Returns whether a known page has the same text and title, and the page that it duplicates is still kept.
    pub(super) fn is_unchanged(&self, id: u64, page: &PageWork) -> Result<bool> {
        let Some(record) = self.store.record(id)? else { return Ok(false) };
        let of_is_there = match record.of {
            // A better page may have replaced the kept one.
            Some(of) => {
                let of = self.logs.decisions.representative(of).map_or(of, |(now, _)| now);
                self.store.record(of)?.is_some_and(|of| of.of.is_none())
            }
            None => true,
        };
        // Detects a new title of the same text.
        let title = self.search.earlier.as_ref().filter(|_| record.of.is_none());
        let title = title.and_then(|index| index.page(id).ok()?).map(|hit| hit.title);
        Ok(of_is_there
            && is_of_text(&record, &page.evidence.comparison_text.features)
            && title.is_none_or(|title| title == page.document.title))
    }

    pub(super) fn remember_depth(&self, url: &str, depth: u16) {
        if let Some(frontier) = &self.frontier {
            frontier.note(url, DEPTH, depth.to_le_bytes().to_vec());
        }
    }

    pub(super) fn depth_of(&self, url: &str) -> Result<u16> {
        let Some(frontier) = &self.frontier else { return Ok(0) };
        let note = frontier.note_of(url, DEPTH)?;
        Ok(note.and_then(|depth| depth.try_into().ok()).map_or(0, u16::from_le_bytes))
    }

    /// Remembers a page that exists and must not be indexed: the next recrawl requests it again.
    pub(super) fn ask_again(&self, url: &str) {
        if let Some(frontier) = &self.frontier {
            frontier.note(url, GONE, b"1".to_vec());
        }
    }

    /// Identifies this recrawl: redirects may have changed since an earlier one.
    const fn look(&self) -> u64 {
        if self.look.on { self.look.fetched_before } else { 0 }
    }

    pub(super) fn remember_target(&self, url: &Url, target: &Url) {
        if let Some(frontier) = &self.frontier {
            frontier.note(url.as_str(), TARGET, format!("{} {target}", self.look()).into());
        }
    }

    fn target_of(&self, url: &str) -> Result<Option<Url>> {
        let Some(frontier) = &self.frontier else { return Ok(None) };
        let note = target_note(&**frontier, url)?;
        let note = note.filter(|(look, _)| *look == self.look().to_string());
        Ok(note.map(|(_, target)| target))
    }

    /// Marks the target of a redirect as that of an earlier run: it may have changed, so it is no evidence of a loop.
    /// Returns it.
    pub(super) fn outdate_target(&self, url: &str) -> Result<Option<Url>> {
        let Some(frontier) = &self.frontier else { return Ok(None) };
        let target = target_note(&**frontier, url)?.map(|(_, target)| target);
        if let Some(target) = &target {
            frontier.note(url, TARGET, format!("{EARLIER} {target}").into());
        }
        Ok(target)
    }

    /// Returns the URLs of the redirect loop from `to` back to `url`. Empty without a loop.
    pub(super) fn redirects_round(&self, url: &Url, to: Url, most: u8) -> Result<Vec<Url>> {
        let mut round = vec![to];
        while round.len() <= usize::from(most)
            && let Some(last) = round.last()
            && let Some(next) = self.target_of(last.as_str())?
        {
            if next == *url {
                return Ok(round);
            }
            round.push(next);
        }
        Ok(Vec::new())
    }

    /// Removes an alias: the redirects of the URL turned out to lead nowhere.
    pub(super) fn end_alias(&mut self, url: &Url) -> Result<()> {
        self.remove_alias(url, "its redirects lead nowhere")
    }

    /// Removes an alias, with the reason for the events.
    pub(super) fn remove_alias(&mut self, url: &Url, why: &str) -> Result<()> {
        let text = url.as_str();
        if let Some(id) = self.store.id_of(text.as_bytes())?
            // In a recrawl it may be a known page.
            && (!self.look.on || self.kind_of(id)? == Some(DuplicateKind::Alias))
        {
            self.end_row(id, text)?;
            self.forget(id)?;
            self.event_removed(id, text, why)?;
            self.stats.update(|counts| counts.alias = counts.alias.saturating_sub(1));
        }
        Ok(())
    }

    pub(super) fn skip_loop(&mut self, url: &Url, hint: &str) -> Result<()> {
        self.ask_again(url.as_str());
        let detail = format!("a redirect loop{hint}");
        self.skip(url.as_str(), SkipReason::Redirects, &detail)
    }

    /// In a recrawl, removes an alias if the URL redirects to another target now.
    pub(super) fn end_other_alias(&mut self, url: &Url, target: &Url) -> Result<()> {
        let id = self.store.id_of(url.as_str().as_bytes())?.filter(|_| self.look.on);
        let Some(id) = id else { return Ok(()) };
        if self.kind_of(id)? != Some(DuplicateKind::Alias) {
            return Ok(());
        }
        let line = match &self.look.rows {
            Some(rows) => rows.by_id(id).map(|row| rows.line(&row)).transpose()?,
            None => None,
        };
        if line.is_some_and(|line| line.of.url != target.as_str()) {
            self.end_row(id, url.as_str())?;
            self.forget(id)?;
            self.event_removed(id, url.as_str(), "it redirects to another page now")?;
            self.stats.update(|counts| counts.alias = counts.alias.saturating_sub(1));
        }
        Ok(())
    }

    /// Forgets a page that has changed; updates counts and log.
    pub(super) fn supersede(&mut self, id: u64, url: &str) -> Result<()> {
        let Some(record) = self.store.record(id)? else { return Ok(()) };
        let rows = match self.look.rows.take() {
            Some(rows) => rows,
            None => Rows::open(&self.root)?,
        };
        let ended = self.uncount(&rows, &record, url);
        self.look.rows = Some(rows);
        ended?;
        self.forget(id)
    }

    /// Ends the row of a page that is removed, and subtracts it from the counts of duplicates.
    pub(super) fn uncount(&mut self, rows: &Rows, record: &Record, name: &str) -> Result<()> {
        let decided = self.logs.decisions.row_of(name);
        let Some(kind) = self.kind_in(rows, record)? else {
            // It was kept, perhaps by a decision.
            return decided.map_or(Ok(()), |row| self.end_row(row, name));
        };
        let row = row_of(rows, record.id, decided);
        self.end_row(row.map_or(record.id, |row| row.id), name)?;
        if kind == DuplicateKind::Alias {
            self.stats.update(|counts| counts.alias = counts.alias.saturating_sub(1));
        } else {
            self.count(kind, -1, row.map_or(0, |row| u64::from(row.bytes)));
        }
        Ok(())
    }

    /// Returns the kind of duplicate that a page is; `None` if it was kept.
    pub(super) fn kind_of(&mut self, id: u64) -> Result<Option<DuplicateKind>> {
        let Some(record) = self.store.record(id)? else { return Ok(None) };
        let rows = match self.look.rows.take() {
            Some(rows) => rows,
            None => Rows::open(&self.root)?,
        };
        let kind = self.kind_in(&rows, &record);
        self.look.rows = Some(rows);
        kind
    }

    fn kind_in(&self, rows: &Rows, record: &Record) -> Result<Option<DuplicateKind>> {
        let Some(of) = record.of else {
            // An alias has a record like that of a kept page.
            return Ok(rows.by_id(record.id).map(|row| row.kind));
        };
        let decided = self.logs.decisions.row_of(&String::from_utf8_lossy(&record.key));
        if let Some(row) = row_of(rows, record.id, decided) {
            return Ok(Some(row.kind));
        }
        // Discarded in this run.
        let other = self.store.record(of)?;
        let exact = other.is_some_and(|other| other.has_digest_of(record));
        Ok(Some(if exact { DuplicateKind::Exact } else { DuplicateKind::Near }))
    }

    /// In a recrawl, removes a known page that is permanently gone or must not be indexed. Its duplicates are decided
    /// about again when they are fetched.
    pub(super) fn gone(&mut self, url: &str) -> Result<()> {
        if !self.look.on {
            return Ok(());
        }
        // First: after a crash between the commits of store and frontier the page is not known any more.
        if let Some(frontier) = &self.frontier {
            frontier.note(url, GONE, b"1".to_vec());
        }
        let Some(id) = self.store.id_of(url.as_bytes())? else { return Ok(()) };
        self.look.since = self.store.record(id)?.map(|record| record.time);
        if self.kind_of(id)? == Some(DuplicateKind::Alias) {
            return Ok(());
        }
        self.supersede(id, url)?;
        self.event_removed(id, url, "it is gone, or must not be indexed any more")?;
        if let Some(frontier) = &self.frontier {
            frontier.note(url, VALIDATORS, Vec::new());
        }
        self.stats.update(|counts| counts.gone += 1);
        Ok(())
    }

    /// Remembers the validators of a kept page for conditional requests. Duplicates are always fetched whole: their
    /// representative may have changed.
    pub(super) fn remember_validators(&self, page: &PageWork, outcome: &Outcome) {
        // A shared crawl makes no conditional requests.
        let Some(frontier) = self.frontier.as_ref().filter(|_| !self.is_shared()) else { return };
        let note = validators_note(&page.response)
            .filter(|_| matches!(outcome, Outcome::New { .. } | Outcome::Better(_)));
        if note.is_some() || self.look.on {
            frontier.note(page.url.as_str(), VALIDATORS, note.unwrap_or_default());
        }
        if self.look.on {
            frontier.note(page.url.as_str(), TARGET, Vec::new());
            frontier.note(page.url.as_str(), GONE, Vec::new());
        }
    }

    /// Handles the answer that a page has not changed (304).
    pub(crate) fn unchanged(
        &mut self,
        lease: &mut Lease,
        response: &Response,
        time: SystemTime,
    ) -> Result<End> {
        let url = lease.entry.url.as_str();
        let id = self.store.id_of(url.as_bytes())?;
        let record = match id {
            Some(id) => self.store.record(id)?,
            None => None,
        };
        if let (Some(frontier), true) =
            (&self.frontier, record.as_ref().is_none_or(|r| r.of.is_some()))
        {
            // It became a duplicate. Request it whole: the page that it is compared with may have changed.
            frontier.note(url, VALIDATORS, Vec::new());
            return Ok(End::PutBack { wait: Duration::ZERO });
        }
        self.look.since = record.as_ref().map(|record| record.time);
        if let Some(id) = id {
            let date = self.place_of(id).map(|(_, date)| date);
            let (record, url) = (self.record_id(id), url.to_owned());
            let refers = RefersTo { record, url, date, evidence: String::new() };
            let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
            let record = format!("{}:{seconds}", self.record_id(id));
            if let Some(warc) = &mut self.warc.writer {
                let kind = RecordKind::Unchanged(refers);
                warc.append(&kind, response, time, &record, &[]).context("pages/")?;
            }
        }
        self.stats.update(|counts| counts.unchanged += 1);
        if let Some(frontier) = &self.frontier {
            frontier.free(lease, HostAnswer::Answered { took: response.took }, Instant::now());
        }
        Ok(End::Done)
    }
}

//! Forgets a page or a host: its pages leave index and store and are never fetched again.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, UNIX_EPOCH};

use crate::error::Result;
use hapax_data::DecidedBy;
use hapax_data::DuplicateKind;
use hapax_dedup::Record;
use hapax_index::StoredPage;
use hapax_url::host_key;
use hapax_warc::format_time;
use url::Url;

use super::commit::Committer;
use super::decided::now;
use hapax_data::{Action, Decision, Row, Rows, Texts, has_body};

const FORGOTTEN_AT_A_TIME: usize = 1000;
/// The reason in the events.
const FORGOTTEN: &str = "it was forgotten";

impl Committer {
    /// Removes a page, or all pages of a host. The best discarded copy of a removed page replaces it. Returns the
    /// number of removed pages.
    pub(super) fn forget_wanted(
        &mut self,
        rows: &Rows,
        texts: &Texts,
        url_or_host: &str,
        by: DecidedBy,
    ) -> Result<u64> {
        let decision = |action| Decision::new(now(), action, url_or_host.to_owned(), by);
        let is_url = url_or_host.contains("://");
        // First: a copy that is forgotten too must not replace a page.
        self.decide(&decision(if is_url { Action::Forget } else { Action::ForgetHost }))?;
        let mut ids = Vec::new();
        if is_url {
            ids.extend(self.store.id_of(url_or_host.as_bytes())?);
        } else {
            for record in self.store.snapshot().records() {
                let record = record?;
                let url =
                    std::str::from_utf8(&record.key).ok().and_then(|key| Url::parse(key).ok());
                let forgotten = |url: Url| self.logs.decisions.forgotten("", &host_key(&url));
                if url.is_some_and(forgotten) {
                    ids.push(record.id);
                }
            }
        }
        let wanted: HashSet<u64> = ids.iter().copied().collect();
        let mut copies: HashMap<u64, Vec<Row>> = HashMap::new();
        for row in rows.discarded() {
            let of = rows.kept_for(row).0;
            if wanted.contains(&of) {
                copies.entry(of).or_default().push(*row);
            }
        }
        let mut removed = 0;
        for (done, id) in ids.into_iter().enumerate() {
            let Some(record) = self.store.record(id)? else { continue };
            removed += 1;
            let name = String::from_utf8_lossy(&record.key);
            self.tell_forgotten(&name)?;
            let page = texts.page(id);
            let bytes = page.as_ref().map_or(0, |page| page.bytes);
            if record.tokens > 0 {
                self.log_removed(rows, &record, page, decision(Action::Removed))?;
            }
            let copies = copies.remove(&id).unwrap_or_default();
            if record.of.is_none()
                && record.tokens > 0
                && self.best_copy_instead(rows, texts, copies, (&name, by))?
            {
                // It is a discarded page now, with a new number and a row.
                if let Some(own) = self.store.id_of(&record.key)? {
                    self.event_removed(own, &name, FORGOTTEN)?;
                    let kind = self.kind_of(own)?.unwrap_or(DuplicateKind::Near);
                    self.remove_text(own)?;
                    self.store.delete(own)?;
                    self.count(kind, -1, bytes);
                    self.end_row(own, &name)?;
                }
                continue;
            }
            self.uncount(rows, &record, &name)?;
            self.forget(id)?;
            self.event_removed(id, &name, FORGOTTEN)?;
            if done % FORGOTTEN_AT_A_TIME == FORGOTTEN_AT_A_TIME - 1 {
                self.commit_as_it_is()?;
            }
        }
        Ok(removed)
    }

    /// Logs what [`unforget`](Self::unforget) needs to bring a page back. `removed` names the URL or host.
    fn log_removed(
        &mut self,
        rows: &Rows,
        record: &Record,
        page: Option<StoredPage>,
        removed: Decision,
    ) -> Result<()> {
        let logged = rows.by_id(record.id).map_or(0, |row| u64::from(row.bytes));
        let bytes = Some(page.as_ref().map_or(logged, |page| page.bytes));
        let place = page.map(|page| page.stored_at).filter(|place| !place.is_empty());
        let warc = match place {
            Some(place) => Some(place),
            None => self.text_in_archive(rows, record)?,
        };
        let url = String::from_utf8_lossy(&record.key).into_owned();
        let time = format_time(UNIX_EPOCH + Duration::from_secs(record.time));
        self.decide(&Decision { time, of: Some(removed.url), url, warc, bytes, ..removed })
    }

    /// Returns the place in the archive of the text of a discarded page: that of the kept page if the texts are equal.
    fn text_in_archive(&self, rows: &Rows, record: &Record) -> Result<Option<String>> {
        let decided = self.logs.decisions.row_of(&String::from_utf8_lossy(&record.key));
        let row = rows.by_id(record.id).or_else(|| rows.by_id(decided?));
        let Some(row) = row else { return Ok(None) };
        let line = rows.line(&row)?;
        let has_own = line.warc.as_ref().is_some_and(|place| has_body(&self.warc.folder, place));
        Ok(if line.level.as_deref() == Some("text") && !has_own { line.of.warc } else { line.warc })
    }
}

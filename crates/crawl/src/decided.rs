//! Applies people's decisions about discarded pages, with the same stores, logs and commit order as for a page.

use std::time::SystemTime;

use crate::error::Result;
use hapax_data::{
    ComparedTexts, DecidedBy, DuplicateKind, PageLinks, PageMeta, compared_texts, round,
    site_of_key,
};
use hapax_dedup::{Level, Neighbour, Policy, Record};
use hapax_index::StoredPage;
use hapax_page::comparison::compare_pages;
use hapax_page::{examples, site_of};
use hapax_url::host_key;
use hapax_warc::format_time;
use url::Url;

use super::commit::Committer;
use super::found::name_of;
use super::notes::VALIDATORS;
use super::refused::{Change, Refused, refused, settled};
use super::representative::Rank;
use super::seeds::AboutSeeds;
use super::summary::Summary;
use hapax_data::DataDir;
use hapax_data::{Action, Answer, Decision, Decisions, Request, Row, Rows, Spool, Texts};
use hapax_data::{Discarded, DiscardedOf};

impl Committer {
    /// Returns the first match that was not declared distinct from `url`.
    pub(super) fn first_alike(
        &self,
        url: &str,
        matches: impl Iterator<Item = Neighbour>,
    ) -> Result<Option<Neighbour>> {
        for neighbour in matches {
            if !self.logs.decisions.distinct(url, &self.url_of(neighbour.id)?) {
                return Ok(Some(neighbour));
            }
        }
        Ok(None)
    }

    /// Applies the requests in the spool. Returns whether there were any.
    pub(crate) fn apply_spool(&mut self) -> Result<bool> {
        let spool = Spool::of(&self.root);
        let requests = spool.requests();
        for (path, request) in &requests {
            let answer = self.apply(request, DecidedBy::Person)?;
            spool.answer(path, &answer);
        }
        Ok(!requests.is_empty())
    }

    /// Applies one request and makes it durable.
    pub(crate) fn apply(&mut self, request: &Request, by: DecidedBy) -> Result<Answer> {
        // The pages to change must be in log and index.
        self.commit_as_it_is()?;
        let rows = Rows::open(&self.root)?;
        let texts = Texts::open(&self.root)?;
        let mut answer = Answer::default();
        let mut note = |id: u64, change: Change<()>| -> Result<()> {
            match settled(change)? {
                None => answer.done += 1,
                Some(why) => {
                    let url = rows.by_id(id).and_then(|row| rows.entry(&row).ok());
                    let url = url.map(|entry| format!("{} ", entry.url)).unwrap_or_default();
                    answer.not.push(format!("{url}(id {id}): {why}"));
                }
            }
            Ok(())
        };
        match request {
            Request::Restore { ids } => {
                for &id in ids {
                    note(id, self.restore(&rows, &texts, id, by))?;
                }
            }
            Request::Discard { ids } => {
                for &id in ids {
                    note(id, self.discard_again(&rows, id, by))?;
                }
            }
            Request::Keep { ids } => {
                for &id in ids {
                    note(id, self.keep_instead(&rows, &texts, id, by))?;
                }
            }
            Request::Forget { url_or_host, purge } => {
                answer.done += self.forget_wanted(&rows, &texts, url_or_host, by)?;
                if *purge {
                    answer.purged = Some(self.purge(url_or_host, by)?);
                }
            }
            Request::Unforget { url_or_host } => {
                answer = self.unforget(&texts, url_or_host.as_deref(), by)?;
            }
        }
        self.commit_as_it_is()?;
        self.search.look_up_again();
        Ok(answer)
    }

    pub(super) fn decide(&mut self, decision: &Decision) -> Result<()> {
        self.logs.decided.append(decision)?;
        self.logs.decisions.add(decision);
        Ok(())
    }

    fn restore(&mut self, rows: &Rows, texts: &Texts, id: u64, by: DecidedBy) -> Change<()> {
        let (entry, line) = self.row(rows, id)?;
        let found = self.found(texts, &entry, &line)?;
        let Some(new_id) = self.store.restore(found.record.id)? else {
            return refused(Refused::Gone);
        };
        self.index_again(&entry, &found, new_id)?;
        self.event_restored(&entry, new_id, &found.stored_at)?;
        self.tell_restored(&entry.url)?;
        self.count(entry.kind, -1, entry.bytes);
        let decision = Decision::new(now(), Action::Restore, name_of(&entry), by);
        let of = Some(entry.of.url);
        self.decide(&Decision { id: Some(id), of, new_id: Some(new_id), ..decision })?;
        Ok(())
    }

    /// Undoes a restore.
    fn discard_again(&mut self, rows: &Rows, id: u64, by: DecidedBy) -> Change<()> {
        if self.logs.decisions.restored(id).is_none() {
            return refused(Refused::NotRestored);
        }
        let Some(row) = rows.by_id(id) else {
            return refused(Refused::NoRow);
        };
        let entry = rows.entry(&row)?;
        let of = match &entry.against {
            Some(store) => self.reference_record(store)?,
            None => rows.kept_for(&row).0,
        };
        let (Some(own), Some(_)) = (self.store.id_of(entry.own_key())?, self.store.record(of)?)
        else {
            return refused(Refused::OneGone);
        };
        let Some(record) = self.store.record(own)? else { return refused(Refused::Gone) };
        if record.of.is_some() {
            return refused(Refused::Discarded);
        }
        if own == of {
            return refused(Refused::StandsForOther);
        }
        self.forget(own)?;
        self.forget_validators(&entry.url);
        let new_id = self.store.insert_record(&record, Some(of))?;
        self.event_discarded(&Discarded { id: new_id, ..entry.clone() })?;
        self.count(entry.kind, 1, entry.bytes);
        self.decide(&Decision {
            time: now(),
            action: Action::Discard,
            id: Some(id),
            url: name_of(&entry),
            of: Some(entry.of.url),
            // Duplicates of this page are, from now on, duplicates of the other page.
            new_id: Some(of),
            old_id: Some(own),
            warc: None,
            bytes: None,
            by,
        })?;
        Ok(())
    }

    /// Keeps the page of a row instead of the page that it duplicates.
    fn keep_instead(&mut self, rows: &Rows, texts: &Texts, id: u64, by: DecidedBy) -> Change<()> {
        let (mut entry, written) = self.row(rows, id)?;
        if !entry.can_replace_other() {
            return self.restore(rows, texts, id, by);
        }
        // The representative may have changed since the rows were read.
        if let Some((now, url)) = entry.of.id.and_then(|of| self.logs.decisions.representative(of))
        {
            (entry.of.id, entry.of.url) = (Some(now), url.to_owned());
        }
        let other = match entry.of.id {
            Some(of) => self.store.record(of)?,
            None => None,
        };
        let Some(other) = other.filter(|other| other.of.is_none()) else {
            return refused(Refused::KeptGone);
        };
        let found = self.found(texts, &entry, &written)?;
        let kept = texts.kept_page(&entry);
        let kept_text = kept.as_ref().map(|page| page.text.clone());
        // If the page was kept without an index, only the log line has its location.
        let as_written = || written.of.warc.clone().filter(|_| written.of.id == Some(other.id));
        let place_of_other = self.place_of(other.id).map(|(place, _)| place).or_else(as_written);
        self.forget(other.id)?;
        self.forget_validators(&String::from_utf8_lossy(&other.key));
        let Some(new_id) = self.store.restore(found.record.id)? else {
            return refused(Refused::Gone);
        };
        let other_id = self.store.insert_record(&other, Some(new_id))?;
        self.index_again(&entry, &found, new_id)?;
        self.event_restored(&entry, new_id, &found.stored_at)?;
        self.tell_better(&String::from_utf8_lossy(&other.key), &entry.url)?;

        let place = Some(found.stored_at.clone()).filter(|place| !place.is_empty());
        let mut line = self.line(&other, other_id, kept, &found.record, new_id, None, None);
        (line.of.url, line.of.warc) = (entry.url.clone(), place);
        line.warc = line.warc.or(place_of_other);
        (line.shared, line.different) =
            kept_text.map(|text| examples(&text, &found.text)).unwrap_or_default();
        line.key = entry.key.as_ref().map(|_| line.url.clone());
        let other_url = line.url.clone();
        self.logs.discarded.append(&line)?;
        self.event_replaced(&line)?;
        self.count(entry.kind, -1, entry.bytes);
        self.count(line.kind, 1, line.bytes);
        self.decide(&Decision {
            id: Some(id),
            of: Some(other_url),
            new_id: Some(new_id),
            old_id: Some(other.id),
            ..Decision::new(now(), Action::Keep, name_of(&entry), by)
        })?;
        Ok(())
    }

    /// Keeps the best copy of a removed page instead of it. Copies of equal text are preferred: for these all other
    /// copies stay duplicates. For another copy, those that are not duplicates of it are restored. Returns whether
    /// there was one.
    pub(super) fn best_copy_instead(
        &mut self,
        rows: &Rows,
        texts: &Texts,
        copies: Vec<Row>,
        (gone, by): (&str, DecidedBy),
    ) -> Result<bool> {
        let (parts, copies): (Vec<Row>, Vec<Row>) = copies.into_iter().partition(Row::is_part);
        for row in parts {
            // It has less than the removed page, and is no duplicate without it.
            let url = rows.entry(&row)?.url;
            if !self.logs.decisions.forgotten(&url, rows.host(&row)) {
                let _ = settled(self.restore(rows, texts, row.id, DecidedBy::Parts))?;
            }
        }
        let mut ranked = Vec::new();
        let site = site_of(Url::parse(gone).ok().as_ref(), gone.as_bytes());
        for row in copies {
            let entry = rows.entry(&row)?;
            if entry.kind != DuplicateKind::Alias
                && !self.logs.decisions.forgotten(&entry.url, rows.host(&row))
            {
                let is_equal = entry.kind == DuplicateKind::Exact;
                ranked.push((is_equal, Rank::of(&entry, site), row.id, entry));
            }
        }
        ranked.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
        let mut ranked = ranked.into_iter();
        while let Some((is_equal, _, row, heir)) = ranked.next() {
            if settled(self.keep_instead(rows, texts, row, by))?.is_none() {
                for (_, _, row, other) in ranked.filter(|_| !is_equal) {
                    if !self.is_copy_of(&other, &heir)? {
                        // It duplicated the removed page, and does not duplicate this one.
                        let _ = settled(self.restore(rows, texts, row, by))?;
                    }
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the policy considers one page a duplicate of the other.
    fn is_copy_of(&self, one: &Discarded, other: &Discarded) -> Result<bool> {
        let record = |entry: &Discarded| match self.store.id_of(entry.own_key())? {
            Some(id) => self.store.record(id),
            None => Ok(None),
        };
        let (Some(one), Some(other)) = (record(one)?, record(other)?) else { return Ok(true) };
        let is_equal = one.has_digest_of(&other);
        let level = if is_equal { Level::Text } else { Level::Hamming };
        let texts = [&one, &other].map(|record| self.compared.get(record.id, &record.key));
        if let ([Some(text), Some(of)], false) = (texts, self.policy.hamming_only) {
            return Ok(compare_pages(&text, &of, one.site == other.site).same());
        }
        let fingerprints = [one.fingerprint, other.fingerprint];
        let sides = [one.document(), other.document()];
        let sides = [sides[0].side(), sides[1].side()];
        Ok(self.policy.neighbour(other.id, (level, None), fingerprints, sides).is_some())
    }

    /// Ends a row: its page has changed or is gone.
    pub(super) fn end_row(&mut self, id: u64, url: &str) -> Result<()> {
        self.decide(&Decision {
            id: Some(id),
            ..Decision::new(now(), Action::Supersede, url.to_owned(), DecidedBy::Crawl)
        })
    }

    /// Sets the policy that later log lines name.
    pub(crate) const fn decides_by(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Discards a kept page as a duplicate of another one, after a change of thresholds.
    pub(crate) fn discard_kept(
        &mut self,
        texts: &Texts,
        key: &[u8],
        of: &[u8],
        near: &Neighbour,
    ) -> Result<()> {
        let (Some(own), Some(other)) = (self.store.id_of(key)?, self.store.id_of(of)?) else {
            return Ok(());
        };
        let (Some(record), Some(other_record)) =
            (self.store.record(own)?, self.store.record(other)?)
        else {
            return Ok(());
        };
        let (kept, other_page) = (texts.page(own), texts.page(other));
        self.leave_for(&record, other, DecidedBy::Recheck, |committer, id| {
            committer.line(&record, id, kept, &other_record, other, other_page, Some(near))
        })
    }

    /// Makes a kept page a duplicate of the kept page `other`. `line` describes it under its new number.
    pub(super) fn leave_for(
        &mut self,
        record: &Record,
        other: u64,
        by: DecidedBy,
        line: impl FnOnce(&Self, u64) -> Discarded,
    ) -> Result<()> {
        self.forget(record.id)?;
        self.forget_validators(&String::from_utf8_lossy(&record.key));
        let id = self.store.insert_record(record, Some(other))?;
        let line = line(self, id);
        self.count(line.kind, 1, line.bytes);
        self.logs.discarded.append(&line)?;
        self.event_discarded(&line)?;
        // Duplicates of this page are, from now on, duplicates of the other page.
        self.decide(&Decision {
            of: Some(line.url),
            new_id: Some(other),
            old_id: Some(record.id),
            ..Decision::new(now(), Action::Keep, line.of.url, by)
        })
    }

    /// Returns the log line of a page that was kept until now and becomes a duplicate of `of`.
    #[expect(clippy::too_many_arguments, reason = "both pages, by number, record and text")]
    pub(super) fn line(
        &self,
        record: &Record,
        id: u64,
        page: Option<StoredPage>,
        of: &Record,
        of_id: u64,
        of_page: Option<StoredPage>,
        near: Option<&Neighbour>,
    ) -> Discarded {
        let url = String::from_utf8_lossy(&record.key).into_owned();
        let exact = record.has_digest_of(of);
        let distance = record.fingerprint.distance(of.fingerprint);
        let level = match near {
            Some(near) => near.level.name(),
            None if exact => "text",
            None if distance <= self.policy.distance => "hamming",
            None => "sketch",
        };
        let similarity = match (&record.sketch, &of.sketch) {
            (Some(a), Some(b)) => Some(round(a.similarity(b))),
            _ => None,
        };
        let (shared, different) = match (&page, &of_page) {
            (Some(page), Some(of)) => examples(&page.text, &of.text),
            _ => Default::default(),
        };
        let compared = self.compare_stored(record, (of, of_id));
        let page = page.as_ref();
        let meta = page.map(|page| PageMeta::from_json(&page.meta)).unwrap_or_default();
        let evidence = Some(self.evidence(compared.as_ref()));
        let kind = if exact { DuplicateKind::Exact } else { DuplicateKind::Near };
        let duplicate_of = DiscardedOf {
            id: Some(of_id),
            url: String::from_utf8_lossy(&of.key).into_owned(),
            warc: of_page.map(|page| page.stored_at).filter(|place| !place.is_empty()),
        };
        let line = Discarded {
            fingerprint: Some(record.fingerprint.to_string()),
            of_fingerprint: Some(of.fingerprint.to_string()),
            distance: Some(distance),
            threshold: Some(self.policy.distance),
            similarity,
            similarity_threshold: near.and_then(|near| near.similarity_threshold),
            level: Some(level.to_owned()),
            table: near.and_then(|near| near.table),
            recipe: Some(self.recipe.name().to_owned()),
            evidence,
            page_type: meta.page_type,
            confidence: meta.confidence,
            title: page.map(|page| page.title.clone()).unwrap_or_default(),
            language: page.map(|page| page.language.clone()).unwrap_or_default(),
            host: Url::parse(&url).map(|url| host_key(&url)).unwrap_or_default(),
            bytes: page.map_or(0, |page| page.bytes),
            shared,
            different,
            links: PageLinks {
                from: meta.from,
                canonical: page.is_some_and(|page| page.canonical),
                canonical_url: meta.canonical.filter(|declared| *declared != url),
            },
            warc: page.map(|page| page.stored_at.clone()).filter(|place| !place.is_empty()),
            ..Discarded::new(now(), id, url, kind, duplicate_of)
        };
        line.with_compared(compared).with_cause()
    }

    /// Compares the texts of two stored pages; `None` if one is missing or they are two pages.
    fn compare_stored(&self, page: &Record, (of, of_id): (&Record, u64)) -> Option<ComparedTexts> {
        let text = self.compared.get(page.id, &page.key)?;
        let other = self.compared.get(of_id, &of.key)?;
        let outcome = compare_pages(&text, &other, page.site == of.site);
        let sites = [page, of].map(|record| site_of_key(&record.key));
        let compared = || compared_texts(&outcome, &text, &other).with_sites(&self.sites, sites);
        outcome.same().then(compared)
    }

    /// Returns whether a person forgot this page or its host.
    pub(super) fn forgotten(&self, url: &Url, host: &str) -> bool {
        self.logs.decisions.forgotten(url.as_str(), host)
    }

    /// Returns the number of the page that represents a URL: its own number if it is kept.
    pub(super) fn stands_for(&self, url: &str) -> Result<Option<u64>> {
        let Some(id) = self.store.id_of(url.as_bytes())? else { return Ok(None) };
        let of = self.store.record(id)?.and_then(|record| record.of).unwrap_or(id);
        Ok(Some(self.logs.decisions.representative(of).map_or(of, |(now, _)| now)))
    }

    /// Returns what a summary says about the seeds.
    pub(crate) fn about_seeds(&self) -> AboutSeeds {
        self.seeds.about(&self.logs.decisions, Summary::FAILED_SEEDS)
    }

    pub(crate) const fn decisions(&self) -> &Decisions {
        &self.logs.decisions
    }

    /// Removes the validators of a page. Duplicates are always fetched whole: the page they are compared with may
    /// change.
    fn forget_validators(&self, url: &str) {
        if let Some(frontier) = &self.frontier {
            frontier.note(url, VALIDATORS, Vec::new());
        }
    }

    pub(crate) fn save_counts(&mut self, data: &DataDir) -> Result<()> {
        let log = self.count_by_log()?;
        let path = data.root().join("summary.json");
        let Ok(bytes) = std::fs::read(&path) else { return Ok(()) };
        let Ok(mut summary) = serde_json::from_slice::<Summary>(&bytes) else { return Ok(()) };
        summary.pages = self.stats.pages();
        summary.needs_upgrade = self.digests().needs_upgrade();
        summary.take_discarded(&log);
        Ok(data.replace("summary.json", &serde_json::to_vec_pretty(&summary)?)?)
    }

    /// Returns the row, if its page is discarded now.
    fn row(&self, rows: &Rows, id: u64) -> Change<(Discarded, Discarded)> {
        let found =
            rows.by_id(id).and_then(|row| Some((rows.entry(&row).ok()?, rows.line(&row).ok()?)));
        let Some((entry, line)) = found else {
            return refused(Refused::NoRow);
        };
        if entry.kind == DuplicateKind::Alias {
            return refused(Refused::Redirect(entry.of.url));
        }
        if self.logs.decisions.renewed(id) {
            return refused(Refused::Renewed);
        }
        if self.logs.decisions.restored(id).is_some() {
            return refused(Refused::Restored);
        }
        if self.logs.decisions.took_over(id) {
            return refused(Refused::IsKept);
        }
        if self.logs.decisions.ended(id) {
            return refused(Refused::Ended);
        }
        Ok((entry, line))
    }

    /// Adds `discarded` (1 or -1) to the counter of this kind, and adds or subtracts the bytes.
    pub(super) fn count(&self, kind: DuplicateKind, discarded: i64, bytes: u64) {
        self.stats.update(|counts| {
            let slot = counts.of_kind(kind);
            *slot = slot.saturating_add_signed(discarded);
            counts.discarded_bytes = match discarded {
                ..0 => counts.discarded_bytes.saturating_sub(bytes),
                _ => counts.discarded_bytes.saturating_add(bytes),
            };
        });
    }
}

pub(super) fn now() -> String {
    format_time(SystemTime::now())
}

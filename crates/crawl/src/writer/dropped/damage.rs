//! A damaged archive: finds pages of the store without a complete record, and renews them.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::Result;
use hapax_url::{host_key, url_key};
use url::Url;

use crate::archived::{Ended, holder_of, holds_page, next_record, open};
use crate::dropped_links::Sources;
use crate::writer::Writer;

/// Name of the frontier's note that the archive lacks pages.
const DAMAGED: &str = "damaged";
/// Key of that note, which is about the whole data directory.
const ARCHIVE: &str = "archive";

impl Writer {
    /// Returns whether pages of these hosts cannot be read in the damaged archive. A later complete record of a page
    /// replaces a damaged one.
    pub(crate) fn is_a_page_missing(
        &mut self,
        archived: &[PathBuf],
        sources: &Sources,
    ) -> Result<Ended> {
        let Some(missing) = self.missing_pages(archived, sources)? else {
            return Ok(Ended::Stopped);
        };
        if missing.is_empty() {
            return Ok(Ended::Whole);
        }
        self.frontier.note(ARCHIVE, DAMAGED, vec![1]);
        Ok(Ended::Partly)
    }

    /// Marks pages without a complete record, so that a recrawl archives them again although they have not changed.
    pub(crate) fn renew_damaged(&mut self) -> Result<()> {
        let note = self.frontier.note_of(ARCHIVE, DAMAGED)?;
        if note.is_none_or(|note| note.is_empty()) {
            return Ok(());
        }
        let everything = Sources { all: true, ..Sources::default() };
        let archived = self.archives()?;
        let Some(missing) = self.missing_pages(&archived, &everything)? else { return Ok(()) };
        if missing.is_empty() {
            self.frontier.note(ARCHIVE, DAMAGED, Vec::new());
        } else {
            tracing::info!("fetching {} pages again, whose archive is damaged", missing.len());
        }
        self.committer.look.renewed = missing;
        Ok(())
    }

    /// Returns the pages of the store without a complete record; `None` if the run was stopped.
    ///
    /// # Complexity
    /// Reads the archive and the store once. Takes 16 bytes for each page with a record.
    fn missing_pages(
        &self,
        archived: &[PathBuf],
        sources: &Sources,
    ) -> Result<Option<HashSet<u128>>> {
        let is_wanted = |url: &Url| sources.all || sources.hosts.contains(&host_key(url));
        let (mut whole, mut copies) = (HashSet::new(), Vec::new());
        for path in archived {
            let Some(mut records) = open(path) else { continue };
            // The first reading has logged the damage.
            let mut ended = Ended::Partly;
            while let Some(record) = next_record(path, &mut records, &mut ended) {
                if self.control.stops.load(Relaxed) {
                    return Ok(None);
                }
                let target = record.header("warc-target-uri").unwrap_or_default();
                let key = url_key(target);
                // The record with the body may belong to another host.
                let Some(url) = Url::parse(target).ok().filter(|_| !whole.contains(&key)) else {
                    continue;
                };
                if holds_page(&record) && self.read_page(&record, url).is_some() {
                    whole.insert(key);
                } else if let Some(holder) = holder_of(&record) {
                    copies.push((key, url_key(holder)));
                }
            }
        }
        let copies = copies.into_iter().filter(|(_, holder)| whole.contains(holder));
        let copies: Vec<u128> = copies.map(|(copy, _)| copy).collect();
        whole.extend(copies);
        let mut missing = HashSet::new();
        for record in self.committer.store().snapshot().records() {
            let record = record?;
            // Redirects have a record too, with site 0 and nothing in the archive.
            let Some(url) = std::str::from_utf8(&record.key).ok().filter(|_| record.site != 0)
            else {
                continue;
            };
            let key = url_key(url);
            if !whole.contains(&key) && Url::parse(url).is_ok_and(|url| is_wanted(&url)) {
                missing.insert(key);
            }
        }
        Ok(Some(missing))
    }
}

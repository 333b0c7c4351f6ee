//! Undoes `forget`: the removed pages return from the archive, and may be fetched again.

use std::time::{Duration, UNIX_EPOCH};

use hapax_data::{
    Action, Answer, Comparison, DecidedBy, Decision, Discarded, DiscardedOf, DuplicateKind, Extent,
    Findings, PageMeta, Removal, Texts, matches, parse_moment, removal, stored_page,
};
use hapax_index::StoredPage;
use hapax_page::Evidence;
use hapax_page::comparison::{Compared, PageText};
use hapax_warc::format_time;
use url::Url;

use super::commit::Committer;
use super::decided::now;
use super::found::Found;
use crate::error::Result;

/// Pages between two commits.
const RETURNED_AT_A_TIME: usize = 1000;

impl Committer {
    /// Brings back the pages that were removed for a page or host; without a name, for the last one. Each page is
    /// decided about again, because its copy may be kept now. The answer lists pages that could not be brought back.
    pub(super) fn unforget(
        &mut self,
        texts: &Texts,
        url_or_host: Option<&str>,
        by: DecidedBy,
    ) -> Result<Answer> {
        let mut answer = Answer::default();
        let Some(Removal { url_or_host, pages, purged }) = removal(&self.root, url_or_host)? else {
            answer.not.push(match url_or_host {
                Some(name) => format!("{name}: not forgotten"),
                None => "nothing is forgotten".to_owned(),
            });
            return Ok(answer);
        };
        self.decide(&Decision::new(now(), Action::Unforget, url_or_host, by))?;
        for (done, page) in pages.iter().enumerate() {
            match self.bring_back(texts, page, purged.as_deref())? {
                None => answer.done += 1,
                Some(why) => answer.not.push(format!("{}: {why}", page.url)),
            }
            if done % RETURNED_AT_A_TIME == RETURNED_AT_A_TIME - 1 {
                self.commit_as_it_is()?;
            }
        }
        Ok(answer)
    }

    /// Stores a removed page. Returns why it could not.
    fn bring_back(
        &mut self,
        texts: &Texts,
        removed: &Decision,
        purged: Option<&str>,
    ) -> Result<Option<String>> {
        let name = &removed.url;
        if self.store.id_of(name.as_bytes())?.is_some() {
            return Ok(Some("it was stored again in the meantime".to_owned()));
        }
        let Some(place) = removed.warc.as_deref() else {
            return Ok(Some(NOT_ARCHIVED.to_owned()));
        };
        let url = Url::parse(name).ok();
        let read = url.as_ref().and_then(|url| stored_page(&self.warc.folder, place, url));
        let Some((document, comparison_text)) = read else {
            return Ok(Some(no_record(purged)));
        };
        let evidence = Evidence::of(&document, self.recipe);
        let time = parse_moment(&removed.time).unwrap_or_default();
        let stored = evidence.document(name.as_bytes(), url.as_ref(), time);
        let page_text = PageText::of(&document, &comparison_text).without_address(url.as_ref());
        let own = Compared::new(page_text.clone());
        let mut comparison = Comparison::new(&self.compared, &own, Findings::new());
        let alike = matches(&self.store, &stored, None, Extent::All, Some(&mut comparison))?;
        let best = self.first_alike(name, alike.into_iter())?;
        let meta = PageMeta::of(&document, hapax_extract::Date::of_text(&removed.time))
            .with_from(self.inlinks(name)?)
            .to_json();
        let canonical = document.canonical.as_ref() == url.as_ref();
        let other = document.other_text(comparison_text.thin);
        let fetched = format_time(UNIX_EPOCH + Duration::from_secs(time));
        let id = self.store.insert(&stored, best.map(|best| best.id))?;
        let Some(record) = self.store.record(id)? else { return Ok(None) };
        if let Some(best) = best {
            let Some(of) = self.store.record(best.id)? else { return Ok(None) };
            let page = StoredPage {
                id,
                url: name.clone(),
                title: document.title.clone(),
                text: comparison_text.text,
                other,
                language: document.language.to_owned(),
                fetched,
                stored_at: place.to_owned(),
                bytes: removed.bytes.unwrap_or(0),
                canonical,
                meta,
            };
            let of_page = texts.page(best.id);
            let mut line = self.line(&record, id, Some(page), &of, best.id, of_page, Some(&best));
            // As when it was discarded first.
            if !canonical && document.canonical.is_some_and(|named| named.as_str() == line.of.url) {
                line.kind = DuplicateKind::Canonical;
            }
            self.logs.discarded.append(&line)?;
            self.event_discarded(&line)?;
            self.count(line.kind, 1, line.bytes);
            return Ok(None);
        }
        let of = DiscardedOf { id: None, url: String::new(), warc: None };
        let entry = Discarded {
            bytes: removed.bytes.unwrap_or(0),
            ..Discarded::new(fetched, id, name, DuplicateKind::Near, of)
        };
        let found = Found {
            record,
            title: document.title.clone(),
            text: comparison_text.text,
            other,
            language: document.language.to_owned(),
            stored_at: place.to_owned(),
            canonical,
            page_text: Some(page_text),
            meta,
        };
        self.index_again(&entry, &found, id)?;
        self.event_restored(&entry, id, place)?;
        Ok(None)
    }
}

const NOT_ARCHIVED: &str = "the archive does not have it. The next recrawl may fetch it";

/// Says why the archive has no record of a removed page.
fn no_record(purged: Option<&str>) -> String {
    match purged {
        Some(at) => format!("its record was purged at {at}. The next recrawl may fetch it"),
        None => "its record in pages/ is missing or damaged".to_owned(),
    }
}

//! Which page of a cluster is kept: the one a person would keep, whichever came first.

use std::cmp::{Ordering, Reverse};

use anyhow::Result;
use hapax_dedup::{Level, Neighbour};
use hapax_fetch::warc::format_time;
use hapax_index::StoredPage;
use url::Url;

use super::commit::Committer;
use super::examples::examples;
use super::fetch::VALIDATORS;
use super::log::Discarded;
use super::page::PageWork;
use crate::duplicates::{Action, Decision};

/// What speaks for a page, the more the greater: it names itself as canonical, https, no version for
/// printers or phones, few parameters and a short path, fetched early, large.
///
/// Total, and apart from the time of fetching the same whatever came first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rank {
    canonical: bool,
    https: bool,
    /// Not the version for printers, phones or frames.
    plain: bool,
    parameters: Reverse<usize>,
    path: Reverse<usize>,
    time: Reverse<String>,
    bytes: u64,
    url: Reverse<String>,
}

impl Rank {
    fn new(url: &str, canonical: bool, time: &str, bytes: u64) -> Self {
        let parsed = Url::parse(url).ok();
        let parsed = parsed.as_ref();
        Self {
            canonical,
            https: parsed.is_some_and(|url| url.scheme() == "https"),
            plain: !parsed.is_some_and(is_version),
            parameters: Reverse(parsed.map_or(0, |url| url.query_pairs().count())),
            // The host's name says nothing about who copied from whom.
            path: Reverse(parsed.map_or(url.len(), |url| {
                url.path().len() + url.query().map_or(0, |query| query.len() + 1)
            })),
            time: Reverse(time.to_owned()),
            bytes,
            url: Reverse(url.to_owned()),
        }
    }

    /// Of a discarded page.
    pub(super) fn of(entry: &Discarded) -> Self {
        Self::new(&entry.url, entry.canonical, &entry.time, entry.bytes)
    }

    fn key(&self) -> impl Ord + '_ {
        (
            self.canonical,
            self.https,
            self.plain,
            self.parameters,
            self.path,
            &self.time,
            self.bytes,
            &self.url,
        )
    }
}

/// A page takes the place of another only if they are at least so much alike.
const MIN_SIMILARITY: f64 = 0.8;

/// Words of an address that tell a version of a page that has another, plainer one.
const VERSIONS: [&str; 12] = [
    "amp",
    "embed",
    "mobile",
    "m",
    "print",
    "printable",
    "printer",
    "printversion",
    "printview",
    "share",
    "touch",
    "wap",
];

/// Whether an address is one of a version for printers, phones or frames.
fn is_version(url: &Url) -> bool {
    let is_word = |word: &str| VERSIONS.iter().any(|version| word.eq_ignore_ascii_case(version));
    let words = |text: &str| text.split(['/', '.', '-', '_', '=', '&', '?']).any(is_word);
    let host = url.host_str().unwrap_or_default().split('.').next().unwrap_or_default();
    is_word(host) || words(url.path()) || url.query().is_some_and(words)
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Committer {
    /// Whether a page is better than the one that it duplicates. What a person chose stays, and so
    /// does what the page itself names as its canonical address.
    pub(super) fn is_better(&mut self, page: &PageWork, best: &Neighbour) -> Result<bool> {
        let Some(record) = self.store.record(best.id)? else { return Ok(false) };
        if Self::is_elsewhere(&record.key) {
            // It is not this worker's to replace.
            return Ok(false);
        }
        let (url, other) = (page.url.as_str(), String::from_utf8_lossy(&record.key));
        let names = page.document.canonical.as_ref().map(Url::as_str);
        let settled = self.decisions.chosen(&other) || self.decisions.was_restored(&other);
        if page.key.is_some() || names == Some(&other) || settled {
            return Ok(false);
        }
        // Other pages were discarded for that one: they must be like this one too.
        if best.level != Level::Text && best.similarity.is_none_or(|value| value < MIN_SIMILARITY) {
            return Ok(false);
        }
        let own = Rank::new(
            url,
            names == Some(url),
            &format_time(page.time),
            page.response.body.len() as u64,
        );
        let since = std::time::UNIX_EPOCH + std::time::Duration::from_secs(record.time);
        let rank = |canonical, bytes| Rank::new(&other, canonical, &format_time(since), bytes);
        // Most pages lose already by what is known without a look into the index.
        if own < rank(false, 0) {
            return Ok(false);
        }
        let (canonical, bytes) =
            self.details_of(best.id)?.map_or((false, 0), |page| (page.canonical, page.bytes));
        Ok(own > rank(canonical, bytes))
    }

    /// The page takes the place of the one that it duplicates, and that one is discarded for it.
    pub(super) fn take_over(
        &mut self,
        page: &PageWork,
        document: &hapax_dedup::Document<'_>,
        best: &Neighbour,
    ) -> Result<()> {
        let Some(other) = self.store.record(best.id)? else { return Ok(()) };
        let kept = self.details_of(best.id)?;
        let place_of_other = self.place_of(best.id).map(|(place, _)| place);
        self.forget(best.id)?;
        self.stats.update(|counts| counts.indexed = counts.indexed.saturating_sub(1));
        let id = self.store.insert(document, None)?;
        let location = self.archive(page, id, None)?;
        let place = location.as_ref().map(super::commit::place);
        self.keep(page, id, &format_time(page.time), location)?;
        let other_id = self.store.insert(&other.document(), Some(id))?;
        let Some(own) = self.store.record(id)? else { return Ok(()) };
        let text = kept.as_ref().map(|page| page.text.clone());
        let mut line = self.line(&other, other_id, kept, &own, id, None, Some(best));
        line.of.warc = place;
        line.warc = line.warc.or(place_of_other);
        if let Some(text) = text {
            (line.shared, line.different) = examples(&text, &page.basis.text);
        }
        self.discarded.append(&line)?;
        if let Some(frontier) = &self.frontier {
            // A duplicate is always fetched whole, for what it is held against may change.
            frontier.note(&line.url, VALIDATORS, Vec::new());
        }
        self.stats.update(|counts| {
            counts.discarded_bytes += line.bytes;
            match line.kind.as_str() {
                "exact" => counts.exact += 1,
                _ => counts.near += 1,
            }
        });
        self.decide(&Decision {
            time: format_time(page.time),
            action: Action::Keep,
            id: None,
            url: page.url.to_string(),
            of: Some(line.url),
            new_id: Some(id),
            old_id: Some(best.id),
            by: "survivor".to_owned(),
        })
    }

    /// A kept page, whether it is committed or not.
    fn details_of(&mut self, id: u64) -> Result<Option<StoredPage>> {
        if let Some(page) = self.recent.get(&id) {
            let text = self.texts.get(id).map(|text| text.to_string()).unwrap_or_default();
            return Ok(Some(StoredPage { text, ..page.clone() }));
        }
        if let Some(page) = self.earlier.as_ref().and_then(|index| index.page(id).ok()?) {
            return Ok(Some(page));
        }
        // Committed since it was opened.
        self.look_up_again();
        Ok(self.earlier.as_ref().and_then(|index| index.page(id).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_would_keep_comes_first() {
        let rank = |url: &str, canonical| Rank::new(url, canonical, "2026", 9);
        let order = [
            rank("https://a.example/longer/but/canonical?x=1&y=2", true),
            rank("https://a.example/long/path", false),
            rank("https://a.example/?a=1", false),
            rank("http://long-name-of-a-host.example/", false),
            rank("http://a.example/x", false),
            rank("http://a.example/x?sid=7", false),
            rank("http://a.example/x?sid=7&b=1", false),
            rank("http://a.example/print/x", false),
            rank("http://m.a.example/xyz.amp.html", false),
        ];
        assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
        let early = Rank::new("http://a.example/y", false, "2025", 1);
        assert!(early > rank("http://a.example/x", false));
    }
}

//! Filters of exported pages.

use hapax_extract::for_each_word;
use hapax_index::StoredPage;
use hapax_url::{host_key, registrable_site};
use hapax_warc::parse_time;
use serde::Serialize;
use url::Url;

use crate::lines::Discarded;
use crate::page_meta::PageMeta;
use crate::rows::is_of_host;

/// A filter of exported pages; every value that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageFilter {
    /// The host; without a port, all of its ports.
    pub host: Option<String>,
    /// The [site](registrable_site), in lower case.
    pub site: Option<String>,
    /// The language code.
    pub language: Option<String>,
    /// Fetched at this second since 1970 or later; of a discarded page, the time of its line.
    pub after: Option<u64>,
    /// Fetched before this second.
    pub before: Option<u64>,
    /// Minimum number of words of the exported text. In Chinese and Japanese they are segmented words.
    pub min_words: u64,
    /// Minimum number of copies.
    pub min_copies: u64,
    /// Minimum confidence in the text, 0 to 1. A page whose confidence is unknown does not pass.
    pub min_confidence: Option<f64>,
}

impl PageFilter {
    /// Returns whether every page passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a page may pass, by what the index has of it.
    pub(crate) fn wants_stored(&self, page: &StoredPage) -> bool {
        self.is_place(|| Url::parse(&page.url).ok())
            && self.is_time(&page.fetched)
            && self.language.as_ref().is_none_or(|language| *language == page.language)
            && self.min_confidence.is_none_or(|least| {
                PageMeta::from_json(&page.meta).confidence.is_some_and(|value| value >= least)
            })
    }

    /// Returns whether a text has enough words.
    pub(crate) fn wants_text(&self, text: &str) -> bool {
        self.min_words == 0 || has_words(text, self.min_words)
    }

    /// Returns whether the line of a discarded page passes. It has no text and no copies, so these are not compared.
    pub fn wants_discarded(&self, line: &Discarded) -> bool {
        let host = |wanted: &String| is_of_host(&line.host, wanted);
        let site = |wanted: &String| {
            Url::parse(&line.url).is_ok_and(|url| registrable_site(&url) == *wanted)
        };
        self.host.as_ref().is_none_or(host)
            && self.site.as_ref().is_none_or(site)
            && self.is_time(&line.time)
            && self.language.as_ref().is_none_or(|language| *language == line.language)
            && self
                .min_confidence
                .is_none_or(|least| line.confidence.is_some_and(|value| value >= least))
    }

    fn is_place(&self, url: impl FnOnce() -> Option<Url>) -> bool {
        if self.host.is_none() && self.site.is_none() {
            return true;
        }
        let Some(url) = url() else { return false };
        let host = |wanted: &String| is_of_host(&host_key(&url), wanted);
        self.host.as_ref().is_none_or(host)
            && self.site.as_ref().is_none_or(|wanted| registrable_site(&url) == *wanted)
    }

    fn is_time(&self, time: &str) -> bool {
        if self.after.is_none() && self.before.is_none() {
            return true;
        }
        let time = parse_time(time).and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
        time.is_some_and(|since| {
            let second = since.as_secs();
            self.after.is_none_or(|after| second >= after)
                && self.before.is_none_or(|before| second < before)
        })
    }
}

fn has_words(text: &str, least: u64) -> bool {
    let mut count = 0;
    for line in text.lines() {
        for_each_word(line, |_| count += 1);
        if count >= least {
            return true;
        }
    }
    count >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> StoredPage {
        StoredPage {
            url: url.into(),
            language: "en".into(),
            fetched: "2026-03-01T00:00:00Z".into(),
            meta: r#"{"confidence":0.5}"#.into(),
            ..StoredPage::default()
        }
    }

    #[test]
    fn each_filter_selects_by_its_own_value() {
        let page = page("http://www.a.co.uk:8080/x");
        let wants = |filter: PageFilter| filter.wants_stored(&page);
        let some = |text: &str| Some(text.to_owned());
        assert!(wants(PageFilter::default()));
        for (host, is_wanted) in
            [("www.a.co.uk", true), ("www.a.co.uk:8080", true), ("a.co.uk", false)]
        {
            assert_eq!(wants(PageFilter { host: some(host), ..PageFilter::default() }), is_wanted);
        }
        for (site, is_wanted) in [("a.co.uk", true), ("co.uk", false), ("www.a.co.uk", false)] {
            let filter = PageFilter { site: some(site), ..PageFilter::default() };
            assert_eq!(wants(filter), is_wanted, "{site}");
        }
        let march = crate::filter::parse_moment("2026-03-01").unwrap();
        for (after, before, is_wanted) in [
            (Some(march), None, true),
            (Some(march + 1), None, false),
            (None, Some(march), false),
            (None, Some(march + 1), true),
        ] {
            assert_eq!(wants(PageFilter { after, before, ..PageFilter::default() }), is_wanted);
        }
        for (least, is_wanted) in [(0.5, true), (0.51, false)] {
            let filter = PageFilter { min_confidence: Some(least), ..PageFilter::default() };
            assert_eq!(wants(filter), is_wanted, "{least}");
        }
        assert!(!wants(PageFilter { language: some("de"), ..PageFilter::default() }));
    }

    #[test]
    fn words_are_counted_in_every_script() {
        let wants =
            |least, text| PageFilter { min_words: least, ..PageFilter::default() }.wants_text(text);
        assert!(wants(4, "one two\nthree, four") && !wants(5, "one two\nthree, four"));
        assert!(wants(2, "我们在北京大学学习") && wants(0, "") && !wants(1, "..."));
    }
}

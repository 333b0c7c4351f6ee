//! The lines of discarded.jsonl and skipped.jsonl.

use hapax_page::difference::Summary;
use serde::{Deserialize, Serialize};

use crate::again::Again;
use crate::candidates::list_in_words;
use crate::cause::causes_of;
use crate::kind::DuplicateKind;
use crate::limit::SkipCause;
use crate::reason::SkipReason;

/// One line of discarded.jsonl: a discarded page, the kept page, and the evidence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Discarded {
    /// The time, in RFC 3339.
    pub time: String,
    /// The page's number in the store.
    pub id: u64,
    /// The page's URL.
    pub url: String,
    /// Why it was discarded.
    pub kind: DuplicateKind,
    /// The kept page.
    pub of: DiscardedOf,
    /// The reference (`--against`) that has the other page; missing if it is a page of this data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The page's fingerprint in hexadecimal digits; redirects have none.
    pub fingerprint: Option<String>,
    /// The kept page's fingerprint.
    pub of_fingerprint: Option<String>,
    /// Hamming distance of the two fingerprints, 0 to 64.
    pub distance: Option<u32>,
    /// The largest distance at which a Hamming table proposes a pair.
    pub threshold: Option<u32>,
    /// Similarity of the texts from 0 to 1, estimated from their sketches.
    pub similarity: Option<f64>,
    /// The similarity that was required of this pair.
    #[serde(default)]
    pub similarity_threshold: Option<f64>,
    /// The level that proposed the pair: `text`, `sketch` or `fingerprint`.
    #[serde(default)]
    pub level: Option<String>,
    /// The table or band that proposed it.
    pub table: Option<usize>,
    /// The recipe of the fingerprints.
    #[serde(default)]
    pub recipe: Option<String>,
    /// The caller's key of the page, if it differs from the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The page's title.
    pub title: String,
    /// The page's language: two letters.
    pub language: String,
    /// Host and port.
    pub host: String,
    /// Size of the page's body in bytes.
    pub bytes: u64,
    /// The evidence of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The result of comparing the texts, if any; `differences` belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedTexts>,
    /// `jaccard`, `containment`, `difference` and `part`.
    #[serde(flatten)]
    pub differences: Differences,
    /// Page type, see [`PageMeta`](crate::PageMeta).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_type: Option<String>,
    /// Expected F1 of its main text, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Sentences in both pages.
    #[serde(default)]
    pub shared: Vec<String>,
    /// Sentences in only one of them.
    #[serde(default)]
    pub different: Vec<String>,
    /// Why the text has this second address ([`hapax_url::Cause`]); empty without URLs, and in lines of before 0.3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cause: Vec<String>,
    /// Addresses that lead to the page, and that it declares.
    #[serde(flatten)]
    pub links: PageLinks,
    /// The page's location in pages/, as `FILE:OFFSET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warc: Option<String>,
}

/// Addresses that lead to a page, and that it declares: fields of [`Discarded`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLinks {
    /// The first pages, redirects and sitemaps that led to the page, as far as they were known when it was fetched.
    /// Empty for seeds and stored pages, and in lines of before 0.3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Whether the page declares itself as its canonical address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub canonical: bool,
    /// The canonical address that the page declares, if it is another one. Missing in lines of before 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_url: Option<String>,
}

/// The evidence of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The two texts were compared.
    Text,
    /// Only the sketches, because the other text was missing or not among those compared.
    Sketch,
    /// Only the fingerprints, as the policy requires.
    Fingerprint,
}

/// The result of comparing two texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedTexts {
    /// Why the pages are one: `equal-text`, `volatile` or `little-differs`.
    pub reason: String,
    /// The share of unique words: of this page, of the kept one.
    pub own: [f64; 2],
    /// The differences, in words.
    pub differs: Vec<String>,
    /// Fields of [`Discarded`].
    #[serde(skip)]
    pub differences: Differences,
    /// The differences, from which the other fields about them are made.
    #[serde(skip)]
    pub summaries: Vec<Summary>,
}

/// Measures of the differences between two texts that were compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Jaccard similarity of all words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jaccard: Option<f64>,
    /// Share of the words of the discarded page that the kept page has, and the reverse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<[f64; 2]>,
    /// The differences, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<DifferenceItem>,
    /// Of a page of kind `part`: how much of it the kept page has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartEvidence>,
}

/// Evidence that a page is a part of the kept page. Words that the site repeats on three or more pages do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEvidence {
    /// Words of the discarded page.
    pub words: u32,
    /// Words of the kept page.
    pub of_words: u32,
    /// Words of the discarded page in runs of at least 40 words that the kept page has too.
    pub shared: u32,
    /// Length of the longest of these runs.
    pub passage_words: u32,
    /// Its beginning, as compared: lower case, without punctuation.
    pub passage: String,
}

/// The differences of one kind between two texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceItem {
    /// `name`, `substitution`, `number`, `words`, `only-in-kept`, `only-in-discarded`, `moved`, `reference`,
    /// `counter` or `date`.
    pub kind: String,
    /// Number of words; of a substitution, number of places.
    pub words: usize,
    /// At most three examples, quoted.
    pub example: String,
    /// Of lines that only one page has: the number of words in lines that at least three other kept pages of its site
    /// have too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_words: Option<usize>,
    /// The number of other kept pages of the site that have these lines; a lower limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_pages: Option<u64>,
}

impl Discarded {
    /// Describes why it was discarded.
    pub fn reason(&self) -> String {
        let similarity = self.similarity.map_or(String::new(), |similarity| {
            // If the texts were compared, the threshold did not decide.
            let asked = self.similarity_threshold.filter(|_| self.compared.is_none());
            let asked = asked.map_or(String::new(), |t| format!(" (at least {t} was required)"));
            format!(", similarity {similarity:.2}{asked}")
        });
        let compared = self.compared.as_ref().map_or(String::new(), |compared| {
            format!("; compared: {}", compared.differs.join("; "))
        });
        let against = self.against.as_ref();
        let against =
            against.map_or(String::new(), |store| format!("; the other page is in {store}"));
        format!("{}{compared}{against}", self.proposal(&similarity))
    }

    fn proposal(&self, similarity: &str) -> String {
        match (self.kind, self.level.as_deref()) {
            (DuplicateKind::Alias, _) => "it redirects to the other page".to_owned(),
            (DuplicateKind::Part, _) => self.part_in_words(),
            (DuplicateKind::Canonical, _) => {
                format!("it names the other page as its canonical address{similarity}")
            }
            (_, Some("text")) => "its text is equal".to_owned(),
            (_, Some(_)) if self.table.is_none() => format!(
                "the other page of the pair is better and is kept{similarity}; the fingerprints differ in {} bits",
                self.distance.unwrap_or(0),
            ),
            (_, Some("sketch")) => format!(
                "proposed by {}{similarity}; the fingerprints differ in {} bits",
                list_in_words(self.table.unwrap_or(0)),
                self.distance.unwrap_or(0),
            ),
            _ => format!(
                "proposed by Hamming table {}, distance {} of at most {}{similarity}",
                self.table.unwrap_or(0),
                self.distance.unwrap_or(0),
                self.threshold.unwrap_or(0),
            ),
        }
    }

    fn part_in_words(&self) -> String {
        let PartEvidence { words, shared, passage_words, .. } =
            self.differences.part.clone().unwrap_or_default();
        format!(
            "it is a part of the other page: {shared} of its {words} words are there, in passages of at least 40 \
             words (the longest has {passage_words})"
        )
    }

    /// Creates a line without evidence, such as that of a redirect.
    pub fn new(
        time: String,
        id: u64,
        url: impl Into<String>,
        kind: DuplicateKind,
        of: DiscardedOf,
    ) -> Self {
        Self {
            time,
            id,
            url: url.into(),
            kind,
            of,
            against: None,
            fingerprint: None,
            of_fingerprint: None,
            distance: None,
            threshold: None,
            similarity: None,
            similarity_threshold: None,
            level: None,
            table: None,
            recipe: None,
            key: None,
            title: String::new(),
            language: String::new(),
            host: String::new(),
            bytes: 0,
            evidence: None,
            compared: None,
            differences: Differences::default(),
            page_type: None,
            confidence: None,
            shared: Vec::new(),
            different: Vec::new(),
            cause: Vec::new(),
            links: PageLinks::default(),
            warc: None,
        }
    }

    /// Sets the result of comparing the two texts.
    #[must_use]
    pub fn with_compared(self, compared: Option<ComparedTexts>) -> Self {
        let Some(mut compared) = compared else { return self };
        let differences = std::mem::take(&mut compared.differences);
        Self { differences, compared: Some(compared), ..self }
    }

    /// Sets the causes of its address.
    #[must_use]
    pub fn with_cause(mut self) -> Self {
        // A part is another page, not a second address of one.
        self.cause = match self.kind {
            DuplicateKind::Part => Vec::new(),
            _ => causes_of(&self.url, &self.of.url, &self.language),
        };
        self
    }

    /// Returns whether one of the two pages can be kept instead of the other: not with a page of a reference, which is only
    /// read, and not with a part, which has less than the other page.
    pub fn can_replace_other(&self) -> bool {
        self.against.is_none() && self.kind != DuplicateKind::Part
    }

    /// Returns the key in the store.
    pub fn own_key(&self) -> &[u8] {
        self.key.as_deref().unwrap_or(&self.url).as_bytes()
    }
}

/// The kept page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DiscardedOf {
    /// Its number in the store; `None` for a page of a reference, and for the target of a redirect that is not
    /// fetched yet.
    pub id: Option<u64>,
    /// Its URL; for a document of a reference without one, its id.
    pub url: String,
    /// Its location in pages/, as `FILE:OFFSET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warc: Option<String>,
}

/// One line of skipped.jsonl: a URL that was not fetched, or a page that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The time, in RFC 3339.
    pub time: String,
    /// The URL.
    pub url: String,
    /// The reason.
    pub reason: SkipReason,
    /// A description for people. Programs do not parse it.
    pub detail: String,
    /// Number of links from a seed, if wider rules may admit the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u16>,
    /// Set if the URL is a sitemap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemap: Option<SitemapPart>,
    /// The claim of a feed, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// When a crawl requests the URL again. Missing for stored pages and in lines of versions before 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// The flag that removes the reason, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// The rule about addresses that excluded it, as in a rules file: of `--rules`, learnt, or one that always applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Number of URLs, if the line is about more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The first pages, redirects and sitemaps that led to the URL. Empty for seeds and in lines of versions before 0.3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
}

/// The part of a sitemap that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SitemapPart {
    /// The whole sitemap.
    Whole,
    /// Entries without a separate line in the log.
    Entries,
    /// The whole sitemap, because it is nested too deep. No rule changes that.
    TooDeep,
}

/// The claim that a page is the same as another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The feed's name.
    pub feed: String,
    /// The URL of the other page.
    pub of: String,
}

impl Skipped {
    /// Returns when the URL is requested again, in words for messages.
    pub fn describe_again(&self) -> &'static str {
        match self.again.unwrap_or_else(|| self.reason.again()) {
            // The page was used, so `--retry` finds that it is known.
            Again::Recrawl if self.reason == SkipReason::CutShort && self.sitemap.is_none() => {
                "requested again by --recrawl"
            }
            again => again.describe(),
        }
    }

    /// Creates a line without the optional fields.
    pub fn new(
        time: impl Into<String>,
        url: impl Into<String>,
        cause: impl Into<SkipCause>,
        detail: impl Into<String>,
    ) -> Self {
        let (time, url, detail, cause) = (time.into(), url.into(), detail.into(), cause.into());
        let (reason, flag) = (cause.reason, cause.flag().map(str::to_owned));
        Self {
            time,
            url,
            reason,
            detail,
            depth: None,
            sitemap: None,
            claim: None,
            again: None,
            flag,
            rule: None,
            count: None,
            from: Vec::new(),
        }
    }

    /// Parses a line, also of earlier versions, which wrote the fields into `detail`.
    ///
    /// # Errors
    /// If it is not such a line.
    pub fn parse(line: &str) -> serde_json::Result<Self> {
        let mut skipped: Self = serde_json::from_str(line)?;
        if (&skipped.depth, &skipped.sitemap, &skipped.claim) == (&None, &None, &None) {
            former::read(&mut skipped);
        }
        Ok(skipped)
    }
}

mod former {
    use super::{Claim, SitemapPart, Skipped};
    use crate::reason::SkipReason;

    pub(super) fn read(line: &mut Skipped) {
        use SkipReason::{
            Budget, CutShort, Depth, Exclude, Feed, Include, Links, PrivateAddress, Robots, Scope,
            TooLarge,
        };
        match line.reason {
            Scope | Depth | Include | Exclude => {
                line.depth = line.detail.strip_prefix("at depth ").and_then(|at| at.parse().ok());
                line.sitemap = match &*line.detail {
                    "a sitemap" => Some(SitemapPart::Whole),
                    detail if detail.starts_with("a sitemap, with further entries") => {
                        Some(SitemapPart::Entries)
                    }
                    detail if detail.starts_with("a sitemap below ") => Some(SitemapPart::TooDeep),
                    _ => None,
                };
            }
            Robots | Budget | TooLarge | PrivateAddress => {
                if line.detail.ends_with("; a sitemap") {
                    line.sitemap = Some(SitemapPart::Whole);
                }
                let depth = line.detail.rsplit_once("; at depth ");
                line.depth = depth.and_then(|(_, depth)| depth.parse().ok());
            }
            Links | CutShort => {
                let detail = &line.detail;
                let is_sitemap =
                    detail.contains("entries of this sitemap") || detail.starts_with("a sitemap: ");
                line.sitemap = is_sitemap.then_some(SitemapPart::Entries);
            }
            Feed => {
                line.claim = line
                    .detail
                    .split_once(": the same as ")
                    .map(|(feed, of)| Claim { feed: feed.to_owned(), of: of.to_owned() });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let plain = Skipped::new("t", "http://a.example/", SkipReason::Scope, "at depth 3");
        for line in [
            Skipped { depth: Some(3), ..plain.clone() },
            Skipped { sitemap: Some(SitemapPart::Entries), ..plain.clone() },
            Skipped { claim: Some(Claim { feed: "a: b".into(), of: "c".into() }), ..plain.clone() },
            Skipped { reason: SkipReason::Tls, ..plain },
        ] {
            let text = serde_json::to_string(&line).unwrap();
            assert_eq!(Skipped::parse(&text).unwrap(), line, "{text}");
        }
    }

    #[test]
    fn skipped_lines_of_older_versions_are_parsed_from_their_detail_text() {
        let read = |reason: &str, detail: &str| {
            let line =
                serde_json::json!({"time": "t", "url": "u", "reason": reason, "detail": detail});
            let line = Skipped::parse(&line.to_string()).unwrap();
            (line.depth, line.sitemap, line.claim)
        };
        assert_eq!(read("scope", "at depth 12"), (Some(12), None, None));
        assert_eq!(read("scope", "a sitemap"), (None, Some(SitemapPart::Whole), None));
        let entries = "a sitemap, with further entries that are refused: 31";
        assert_eq!(read("exclude", entries), (None, Some(SitemapPart::Entries), None));
        let deep = read("depth", "a sitemap below 2 indexes");
        assert_eq!(deep, (None, Some(SitemapPart::TooDeep), None));
        let sitemap = read("robots", "robots.txt, line 2; a sitemap");
        assert_eq!(sitemap, (None, Some(SitemapPart::Whole), None));
        assert_eq!(read("budget", "3 pages; at depth 2"), (Some(2), None, None));
        let claim = Claim { feed: "x.feed".into(), of: "http://b.example/: the same as c".into() };
        let detail = "x.feed: the same as http://b.example/: the same as c";
        assert_eq!(read("feed", detail), (None, None, Some(claim)));
        let beyond = read("links", "3 entries of this sitemap: beyond --max-sitemap-urls");
        assert_eq!(beyond, (None, Some(SitemapPart::Entries), None));
        let cut = read("cut-short", "a sitemap: larger than --max-sitemap, or damaged");
        assert_eq!(cut, (None, Some(SitemapPart::Entries), None));
        assert_eq!(read("cut-short", "body ended early"), (None, None, None));
        assert_eq!(read("tls", "at depth 12"), (None, None, None));
    }
}

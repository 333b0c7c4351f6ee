//! The export of kept pages.

use std::collections::HashMap;
use std::path::PathBuf;

use hapax_dedup::Record;
use hapax_index::StoredPage;
use hapax_url::{host_key, registrable_site};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use url::Url;

use crate::corpus::Corpus;
use crate::error::Result;
use crate::export_filter::PageFilter;
use crate::page_meta::PageMeta;
use crate::page_name::page_name;
use crate::rows::Rows;
use crate::sightings::{Sighted, Sightings};
use crate::site_lines::{self, SiteLines};

/// One exported page.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedPage {
    /// Document number in the dedup store.
    pub id: u64,
    /// URL.
    pub url: String,
    /// Title.
    pub title: String,
    /// Two-letter language code, or `""`.
    pub language: String,
    /// Text, without the lines that the site repeats.
    pub text: String,
    /// Time of the request (RFC 3339).
    pub fetched: String,
    /// How often, where and when its text was seen.
    pub sighted: Sighted,
    /// Number of removed lines that the site repeats.
    pub site_lines: usize,
    /// What the tables and the archive have of it.
    pub stored: StoredFeatures,
    /// Page type, author, dates and more.
    pub meta: PageMeta,
}

/// The fields of a page in an export, with FineWeb's names for some values.
#[derive(Serialize)]
struct Fields<'a> {
    id: u64,
    url: &'a str,
    title: &'a str,
    language: &'a str,
    text: &'a str,
    fetched: &'a str,
    /// The time of the request.
    date: &'a str,
    /// The file of the archive, in the data directory.
    file_path: Option<String>,
    warc_offset: Option<u64>,
    /// The copies and the page itself.
    minhash_cluster_size: u64,
    /// The number of the kept page.
    cluster: u64,
    #[serde(flatten)]
    sighted: &'a Sighted,
    site_lines: usize,
    #[serde(flatten)]
    stored: &'a StoredFeatures,
    #[serde(flatten)]
    meta: &'a PageMeta,
}

impl Serialize for ExportedPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (file, warc_offset) = warc_place(self.stored.warc.as_deref());
        let fields = Fields {
            id: self.id,
            url: &self.url,
            title: &self.title,
            language: &self.language,
            text: &self.text,
            fetched: &self.fetched,
            date: &self.fetched,
            file_path: file,
            warc_offset,
            minhash_cluster_size: self.sighted.copies.saturating_add(1),
            cluster: self.id,
            sighted: &self.sighted,
            site_lines: self.site_lines,
            stored: &self.stored,
            meta: &self.meta,
        };
        fields.serialize(serializer)
    }
}

/// Returns the archive file of a location `NUMBER:OFFSET`, as a path in the data directory, and the offset in it.
pub fn warc_place(warc: Option<&str>) -> (Option<String>, Option<u64>) {
    let place = warc.and_then(|warc| warc.split_once(':'));
    let file = place.and_then(|(number, _)| number.parse().ok());
    let offset = place.and_then(|(_, offset)| offset.parse().ok());
    (file.map(|number| format!("pages/{}", hapax_warc::file_name(number))), offset)
}

/// What the tables and the archive have of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoredFeatures {
    /// Host, with a port that is not 80.
    pub host: String,
    /// [Site](hapax_url::registrable_site).
    pub site: String,
    /// Fingerprint in hexadecimal digits; null without tables.
    pub fingerprint: Option<String>,
    /// Sketch in hexadecimal digits; null for a page without shingles.
    pub sketch: Option<String>,
    /// Number of content words of the comparison text.
    pub token_count: Option<u32>,
    /// Location in `pages/`, as `NUMBER:OFFSET`; null without an archive.
    pub warc: Option<String>,
    /// The data directory, if several are exported as one.
    pub data: Option<String>,
    /// The caller's key of the page, if it differs from the URL.
    #[serde(skip)]
    pub key: Option<String>,
}

impl StoredFeatures {
    /// `place` is its location in the archive, or empty.
    pub(crate) fn of(url: &str, place: &str, record: Option<&Record>) -> Self {
        let key = record.map(|record| String::from_utf8_lossy(&record.key).into_owned());
        let key = key.filter(|key| key != url);
        let url = Url::parse(url).ok();
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            host: url.as_ref().map(host_key).unwrap_or_default(),
            site: url.as_ref().map(registrable_site).unwrap_or_default(),
            fingerprint: record.map(|record| record.fingerprint.to_string()),
            sketch: record.and_then(|r| r.sketch.as_ref()).map(|sketch| digits(sketch.as_bytes())),
            token_count: record.map(|record| record.tokens),
            warc: Some(place.to_owned()).filter(|place| !place.is_empty()),
            data: None,
            key,
        }
    }
}

/// Columns of the CSV. New ones are added at the end.
pub const CSV_COLUMNS: [&str; 42] = [
    "url",
    "title",
    "language",
    "fetched",
    "copies",
    "text",
    "author",
    "published",
    "modified",
    "description",
    "site_name",
    "licence",
    "page_type",
    "confidence",
    "metadata_from",
    "hosts",
    "sites",
    "first_seen",
    "last_seen",
    "id",
    "host",
    "site",
    "fingerprint",
    "token_count",
    "warc",
    "from",
    "data",
    "content_type",
    "sketch",
    "site_lines",
    "language_score",
    "canonical",
    "alternates",
    "picture",
    "type",
    "reservations",
    "against",
    "date",
    "file_path",
    "warc_offset",
    "minhash_cluster_size",
    "cluster",
];

impl ExportedPage {
    /// Returns its cells in the order of [`CSV_COLUMNS`]; missing values are empty. `metadata_from` and `alternates`
    /// are JSON, `from` and `against` are separated by spaces.
    pub fn csv_row(self) -> [String; CSV_COLUMNS.len()] {
        let (meta, sighted, stored) = (self.meta, self.sighted, self.stored);
        let from = serde_json::to_string(&meta.metadata_from).unwrap_or_default();
        let alternates = serde_json::to_string(&meta.alternates).unwrap_or_default();
        let confidence = meta.confidence.map(|value| value.to_string());
        let (file, offset) = warc_place(stored.warc.as_deref());
        let date = self.fetched.clone();
        [
            self.url,
            self.title,
            self.language,
            self.fetched,
            sighted.copies.to_string(),
            self.text,
            meta.author.unwrap_or_default(),
            meta.published.unwrap_or_default(),
            meta.modified.unwrap_or_default(),
            meta.description.unwrap_or_default(),
            meta.site_name.unwrap_or_default(),
            meta.licence.unwrap_or_default(),
            meta.page_type.unwrap_or_default(),
            confidence.unwrap_or_default(),
            from,
            sighted.hosts.to_string(),
            sighted.sites.to_string(),
            sighted.first_seen,
            sighted.last_seen,
            self.id.to_string(),
            stored.host,
            stored.site,
            stored.fingerprint.unwrap_or_default(),
            stored.token_count.map(|count| count.to_string()).unwrap_or_default(),
            stored.warc.unwrap_or_default(),
            meta.from.join(" "),
            stored.data.unwrap_or_default(),
            meta.content_type.unwrap_or_default(),
            stored.sketch.unwrap_or_default(),
            self.site_lines.to_string(),
            meta.language_score.map(|score| score.to_string()).unwrap_or_default(),
            meta.canonical.unwrap_or_default(),
            alternates,
            meta.picture.unwrap_or_default(),
            meta.declared_type.unwrap_or_default(),
            meta.reservations.join("; "),
            meta.against.join(" "),
            date,
            file.unwrap_or_default(),
            offset.map(|offset| offset.to_string()).unwrap_or_default(),
            sighted.copies.saturating_add(1).to_string(),
            self.id.to_string(),
        ]
    }
}

impl ExportedPage {
    /// Returns a bulk request of OpenSearch and Elasticsearch: the action, and the page. The name is that of the page's
    /// events in the stream.
    ///
    /// # Errors
    /// If a field cannot be serialised.
    pub fn bulk_lines(&self) -> Result<[Value; 2]> {
        let name = page_name(self.stored.key.as_deref().unwrap_or(&self.url));
        let mut page = serde_json::to_value(self)?;
        if let Some(fields) = page.as_object_mut() {
            fields.remove("id");
        }
        Ok([json!({"index": {"_id": name}}), page])
    }
}

/// The page with its whole text, without copies and the values of the tables.
impl From<StoredPage> for ExportedPage {
    fn from(page: StoredPage) -> Self {
        Self {
            id: page.id,
            sighted: Sighted::default(),
            stored: StoredFeatures::of(&page.url, &page.stored_at, None),
            text: page.text,
            site_lines: 0,
            meta: PageMeta::from_json(&page.meta),
            url: page.url,
            title: page.title,
            language: page.language,
            fetched: page.fetched,
        }
    }
}

/// Reads the kept pages of a corpus.
#[derive(Debug)]
pub struct Export<'s> {
    corpus: &'s Corpus<'s>,
    sightings: Sightings,
    site_lines: SiteLines,
    filter: PageFilter,
    clean: bool,
}

/// Returns the number of discarded copies, without redirects and parts, by kept page.
pub fn copies(rows: &Rows) -> HashMap<u64, u64> {
    let mut copies = HashMap::new();
    for row in rows.discarded().filter(|row| !row.is_alias() && !row.is_part()) {
        *copies.entry(rows.kept_for(row).0).or_default() += 1;
    }
    copies
}

impl<'s> Export<'s> {
    /// Prepares an export of the pages that pass a filter. With `clean` it first reads all pages to learn the lines that
    /// each site repeats.
    ///
    /// # Errors
    /// If the log, the tables, the index or a temporary file cannot be read or written.
    pub fn new(corpus: &'s Corpus<'s>, filter: PageFilter, clean: bool) -> Result<Self> {
        let site_lines = if clean { site_lines::learn(corpus)? } else { SiteLines::default() };
        let dirs = corpus.dirs().iter().map(|dir| dir.data.as_path());
        let sightings = Sightings::of(corpus, dirs)?;
        Ok(Self { corpus, sightings, site_lines, filter, clean })
    }

    /// Returns the corpus.
    pub const fn corpus(&self) -> &'s Corpus<'s> {
        self.corpus
    }

    /// Returns the filter.
    pub const fn filter(&self) -> &PageFilter {
        &self.filter
    }

    /// Returns a name of the pages, their values and their order: an export with the same name is the same.
    ///
    /// # Errors
    /// If the filter cannot be serialised.
    pub fn state(&self) -> Result<String> {
        let filter = serde_json::to_string(&self.filter)?;
        Ok(format!("{} {filter} {}", self.corpus.state(), self.clean))
    }

    /// Does the same for an export of a row a page in a format.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub fn state_of_rows(&self, format: &str) -> Result<String> {
        let (keys, version) = (CSV_COLUMNS.join(","), env!("CARGO_PKG_VERSION"));
        Ok(format!("{} {format} {keys} {version}", self.state()?))
    }

    /// Calls `each` with every page that passes the filter, until `each` fails, and `progress` with the number of pages
    /// read so far. Returns whether there was a page. The order depends on the indexes alone.
    ///
    /// # Errors
    /// Those of the index and the tables, and the first of `each`.
    pub fn pages<E: From<hapax_index::Error> + From<crate::Error>>(
        &self,
        progress: impl FnMut(u64),
        mut each: impl FnMut(ExportedPage) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        self.pages_from(0, progress, |_, page| each(page))
    }

    /// Does the same without the first `skip` pages that it would read. `each` is also called with the number of pages
    /// read before its page: with this number another call continues there.
    ///
    /// # Errors
    /// As [`pages`](Self::pages).
    pub fn pages_from<E: From<hapax_index::Error> + From<crate::Error>>(
        &self,
        skip: u64,
        mut progress: impl FnMut(u64),
        mut each: impl FnMut(u64, ExportedPage) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        let mut any = false;
        self.corpus.pages_from(skip, |before, dir, page| {
            progress(before + 1);
            let Some(page) = self.exported(dir, page).map_err(E::from)? else { return Ok(()) };
            any = true;
            each(before, page)
        })?;
        Ok(any)
    }

    /// Returns the first data directory of the corpus.
    pub(crate) fn first_dir(&self) -> PathBuf {
        self.corpus.dirs().first().map(|dir| dir.data.to_path_buf()).unwrap_or_default()
    }

    /// Returns a page, if it passes the filter.
    fn exported(&self, dir: usize, page: StoredPage) -> Result<Option<ExportedPage>> {
        if !self.filter.wants_stored(&page) {
            return Ok(None);
        }
        let sighted = self.sightings.page(page.id, &page.url, &page.fetched);
        if sighted.copies < self.filter.min_copies {
            return Ok(None);
        }
        let cleaned = self.site_lines.clean((&page.url, &page.language), &page.title, &page.text);
        if !self.filter.wants_text(&cleaned.text) {
            return Ok(None);
        }
        let record = self.corpus.heads().get(dir).map(|heads| heads.record(page.id)).transpose()?;
        let record = record.flatten();
        let mut stored = StoredFeatures::of(&page.url, &page.stored_at, record.as_ref());
        let directory = self.corpus.dirs().get(dir).filter(|_| self.corpus.is_joined());
        stored.data = directory.map(|dir| dir.data.display().to_string());
        let page = ExportedPage::from(page);
        let (text, site_lines) = (cleaned.text, cleaned.removed);
        Ok(Some(ExportedPage { stored, sighted, text, site_lines, ..page }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_each_key_of_the_json_as_a_column_and_its_value_there() {
        let mut page = ExportedPage::from(StoredPage {
            url: "http://a.example/".into(),
            meta:
                r#"{"against":["one","two"],"reservations":["noai"],"from":["http://b.example/"]}"#
                    .into(),
            ..StoredPage::default()
        });
        page.meta.language_score = Some(0.5);
        page.stored.sketch = Some("0f".into());
        let json = serde_json::to_value(&page).unwrap();
        for (name, _) in json.as_object().unwrap() {
            assert!(CSV_COLUMNS.contains(&name.as_str()), "no column {name}");
        }
        let row = page.csv_row();
        for (name, value) in [
            ("url", "http://a.example/"),
            ("host", "a.example"),
            ("against", "one two"),
            ("reservations", "noai"),
            ("from", "http://b.example/"),
            ("language_score", "0.5"),
            ("sketch", "0f"),
            ("site_lines", "0"),
            ("alternates", "{}"),
            ("data", ""),
        ] {
            let at = CSV_COLUMNS.iter().position(|column| *column == name).unwrap();
            assert_eq!(row[at], value, "{name}");
        }
    }
}

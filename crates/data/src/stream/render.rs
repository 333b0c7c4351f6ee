//! Events as text: JSON lines, and the bulk format of OpenSearch and Elasticsearch.

use serde_json::{Map, Value, json};

use super::event::EventKind;
use super::streamed::Streamed;
use crate::error::{Error, Result};
use crate::spelling::did_you_mean;

/// Fields that count copies. They are missing if the counts are unknown.
const COUNTS: [&str; 6] =
    ["copies", "minhash_cluster_size", "hosts", "sites", "first_seen", "last_seen"];
/// Fields from the tables.
const OF_TABLES: [&str; 3] = ["fingerprint", "sketch", "token_count"];
/// Fields that every event has.
const ALWAYS: [&str; 6] = ["event", "cursor", "time", "id", "url", "key"];
/// Fields that `--fields` selects: first those of a page, then those of a duplicate.
const SELECTED: [&str; 43] = [
    "title",
    "language",
    "text",
    "fetched",
    "page_type",
    "confidence",
    "reservations",
    "author",
    "published",
    "modified",
    "description",
    "site_name",
    "language_score",
    "canonical",
    "alternates",
    "picture",
    "licence",
    "type",
    "metadata_from",
    "against",
    "from",
    "host",
    "site",
    "warc",
    "data",
    "content_type",
    "date",
    "file_path",
    "warc_offset",
    "cluster",
    "minhash_cluster_size",
    "copies",
    "hosts",
    "sites",
    "first_seen",
    "last_seen",
    "site_lines",
    "fingerprint",
    "sketch",
    "token_count",
    "of",
    "kind",
    "why",
];

/// The format of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// One JSON object a line.
    Jsonl,
    /// Bulk requests of OpenSearch and Elasticsearch: `index` for a page that is kept, `delete` for any other.
    OpenSearchBulk,
}

/// The selected fields; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Fields(Option<Vec<String>>);

impl Fields {
    /// Parses names separated by commas.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown name.
    pub fn parse(names: &str) -> Result<Self> {
        let mut fields = Vec::new();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !SELECTED.contains(&name) && !ALWAYS.contains(&name) {
                return Err(Error::Invalid(format!(
                    "--fields: no field {name:?}. Fields: {}{}",
                    SELECTED.join(", "),
                    did_you_mean(name, SELECTED.into_iter())
                )));
            }
            fields.push(name.to_owned());
        }
        Ok(Self(Some(fields)))
    }

    /// Returns whether a field needs the tables.
    pub(super) fn need_tables(&self) -> bool {
        OF_TABLES.iter().any(|name| self.has(name))
    }

    /// Returns whether a field needs the counts of copies.
    pub(super) fn need_counts(&self) -> bool {
        COUNTS.iter().any(|name| self.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|fields| fields.iter().any(|field| field == name))
    }
}

impl Streamed {
    /// Returns the JSON values to print, one a line. An event without effect on a search index has none in the bulk
    /// format.
    ///
    /// # Errors
    /// If a field cannot be serialised.
    pub fn lines(&self, format: StreamFormat, fields: &Fields) -> Result<Vec<Value>> {
        Ok(match format {
            StreamFormat::Jsonl => vec![self.object(fields)?],
            StreamFormat::OpenSearchBulk => self.bulk(fields)?,
        })
    }

    fn object(&self, fields: &Fields) -> Result<Value> {
        let event = &self.event;
        let mut object = Map::new();
        object.insert("event".into(), serde_json::to_value(event.event)?);
        object.insert("cursor".into(), self.cursor.to_string().into());
        object.insert("time".into(), event.time.clone().into());
        object.insert("id".into(), event.id.into());
        object.insert("url".into(), event.url.clone().into());
        if let Some(key) = &event.key {
            object.insert("key".into(), key.clone().into());
        }
        if let Some(of) = event.of.as_ref().filter(|_| fields.has("of")) {
            object.insert("of".into(), serde_json::to_value(of)?);
        }
        if let Some(kind) = event.kind.filter(|_| fields.has("kind")) {
            object.insert("kind".into(), kind.as_str().into());
        }
        if let Some(why) = event.why.as_ref().filter(|_| fields.has("why")) {
            object.insert("why".into(), why.clone().into());
        }
        object.extend(self.page_fields(fields)?);
        Ok(Value::Object(object))
    }

    /// Returns the fields of the export, except the URL.
    fn page_fields(&self, fields: &Fields) -> Result<Map<String, Value>> {
        let Some(page) = &self.page else { return Ok(Map::new()) };
        let Value::Object(mut object) = serde_json::to_value(page)? else { return Ok(Map::new()) };
        let unknown = page.sighted.first_seen.is_empty();
        object.retain(|name, _| {
            let name = name.as_str();
            let is_left_out = matches!(name, "id" | "url") || unknown && COUNTS.contains(&name);
            !is_left_out && fields.has(name)
        });
        Ok(object)
    }

    fn bulk(&self, fields: &Fields) -> Result<Vec<Value>> {
        let id = self.event.page_id();
        if !self.event.event.keeps() {
            // A redirect was never in the index, except if the page was kept before: then this removes it.
            return Ok(vec![json!({"delete": {"_id": id}})]);
        }
        if self.page.is_none() {
            // It has left since. A later event removes it.
            return Ok(Vec::new());
        }
        let mut page = Map::new();
        page.insert("url".into(), self.event.url.clone().into());
        page.extend(self.page_fields(fields)?);
        Ok(vec![json!({"index": {"_id": id}}), Value::Object(page)])
    }
}

impl EventKind {
    /// Returns the name in the stream.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::Restored => "restored",
            Self::Discarded => "discarded",
            Self::Replaced => "replaced",
            Self::Removed => "removed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{ExportedPage, StoredFeatures};
    use crate::kind::DuplicateKind;
    use crate::page_meta::PageMeta;
    use crate::sightings::Sighted;
    use crate::stream::cursor::Position;
    use crate::stream::{Cursor, EventOf, PageEvent};

    fn kept() -> Streamed {
        let url = "http://a.example/";
        let meta = PageMeta {
            page_type: Some("article".into()),
            confidence: Some(0.5),
            reservations: vec!["noai".into()],
            ..PageMeta::default()
        };
        Streamed {
            cursor: Cursor(vec![Position { stream: 1, offset: 2, line: 3 }]),
            event: PageEvent::of_page(EventKind::Kept, "t".into(), 7, (url, None)),
            page: Some(ExportedPage {
                id: 7,
                url: url.into(),
                title: "T".into(),
                language: "en".into(),
                text: "Text".into(),
                fetched: "f".into(),
                sighted: Sighted { copies: 4, first_seen: "f".into(), ..Sighted::default() },
                stored: StoredFeatures::default(),
                site_lines: 5,
                meta,
            }),
        }
    }

    fn discarded() -> Streamed {
        let mut streamed = Streamed { page: None, ..kept() };
        streamed.event.event = EventKind::Discarded;
        streamed.event.kind = Some(DuplicateKind::Exact);
        streamed.event.why = Some("its text is equal".into());
        streamed.event.of = Some(EventOf { id: Some(3), url: "http://b.example/".into() });
        streamed
    }

    #[test]
    fn a_kept_page_has_each_field_of_the_export() {
        let exported = serde_json::to_value(kept().page.unwrap()).unwrap();
        let mut without = kept();
        without.page.as_mut().unwrap().sighted = Sighted::default();
        let lines = [kept(), without]
            .map(|event| event.lines(StreamFormat::Jsonl, &Fields::default()).unwrap().remove(0));
        let line = lines[0].as_object().unwrap();
        for (name, value) in exported.as_object().unwrap() {
            assert_eq!(line.get(name), Some(value), "{name}");
            // A new field of the export must be selectable too.
            let known = SELECTED.contains(&name.as_str()) || ALWAYS.contains(&name.as_str());
            assert!(known, "{name} is missing in SELECTED");
            let is_count = COUNTS.contains(&name.as_str());
            assert_eq!(lines[1].get(name).is_none(), is_count, "unknown counts: {name}");
        }
        assert_eq!(line["cursor"], "1-0000000000000001-2-00000003");
        assert_eq!((&line["event"], &line["id"]), (&"kept".into(), &7.into()));
    }

    #[test]
    fn selected_fields_leave_the_identity_of_the_event() {
        let fields = Fields::parse("title, of").unwrap();
        for (streamed, other) in [(kept(), "title"), (discarded(), "of")] {
            let lines = streamed.lines(StreamFormat::Jsonl, &fields).unwrap();
            let names: Vec<&str> = lines[0].as_object().unwrap().keys().map(|k| &**k).collect();
            let mut all = vec!["cursor", "event", "id", "time", "url", other];
            all.sort_unstable();
            assert_eq!(names, all);
        }
        let error = Fields::parse("titel").unwrap_err().to_string();
        assert!(error.contains("did you mean title?"), "{error}");
    }

    #[test]
    fn the_bulk_format_indexes_kept_pages_and_deletes_all_others_under_one_name() {
        let lines = |streamed: &Streamed| {
            streamed.lines(StreamFormat::OpenSearchBulk, &Fields::default()).unwrap()
        };
        let indexed = lines(&kept());
        let name = indexed[0]["index"]["_id"].clone();
        assert_eq!(name.as_str().unwrap().len(), 32);
        assert_eq!(
            (&indexed[1]["url"], &indexed[1]["text"]),
            (&"http://a.example/".into(), &"Text".into())
        );
        assert_eq!(lines(&discarded()), [json!({"delete": {"_id": name}})]);
        let gone = Streamed { page: None, ..kept() };
        assert!(lines(&gone).is_empty(), "a later event deletes it");
    }
}

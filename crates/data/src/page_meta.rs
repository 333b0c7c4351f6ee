//! Metadata of a kept page: JSON in the field `meta` of the index.

use std::collections::BTreeMap;

use hapax_extract::{Date, Document};
use hapax_page::as_it_stands;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::comparison::round;

/// Metadata of a page; empty in an index of an earlier version. Serialized for an export it has all keys: a value that
/// the page does not declare is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageMeta {
    /// Page type: `article`, `forum`, `product`, `listing`, `documentation` or `other`.
    pub page_type: Option<String>,
    /// Expected F1 of its main text, 0 to 1.
    pub confidence: Option<f64>,
    /// Rights that the page or its host reserves, as declared: `noai`, `tdm-reservation: 1`, `content-signal:
    /// ai-train=no`, `rsl: URL`.
    pub reservations: Vec<String>,
    /// The references (`--against-mark`) that have the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// The first pages, redirects and sitemaps that led to the page, as far as they were known when it was fetched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Authors, joined by `; `.
    pub author: Option<String>,
    /// Time of publication (RFC 3339), or only its date.
    pub published: Option<String>,
    /// Time of the last change, likewise.
    pub modified: Option<String>,
    /// Summary of the page.
    pub description: Option<String>,
    /// Name of the site.
    pub site_name: Option<String>,
    /// Confidence in the language, 0 to 1.
    pub language_score: Option<f64>,
    /// Canonical address.
    pub canonical: Option<String>,
    /// URLs of versions in other languages, by language tag.
    pub alternates: BTreeMap<String, String>,
    /// URL of the main picture.
    pub picture: Option<String>,
    /// Licence: its URL or its name.
    pub licence: Option<String>,
    /// Type as declared: `NewsArticle`, `article`.
    #[serde(rename = "type")]
    pub declared_type: Option<String>,
    /// Media type of the response, such as `text/html`.
    pub content_type: Option<String>,
    /// Where these values were found, by their names: `json-ld`, `open-graph`, `meta`, ...
    pub metadata_from: BTreeMap<String, String>,
}

impl PageMeta {
    /// Returns the metadata of a document. A date more than a day after the day of its fetch is not believed.
    pub fn of(document: &Document, fetched: Option<Date>) -> Self {
        let found = &document.metadata;
        let latest = fetched.map(Date::next);
        let named = |(name, source): (&&'static str, &hapax_extract::MetadataSource)| {
            ((*name).to_owned(), source.as_str().to_owned())
        };
        let mut metadata_from: BTreeMap<String, String> = found.sources.iter().map(named).collect();
        let mut date = |name: &str, found: Option<(hapax_extract::Moment, _)>| {
            let (moment, source): (_, hapax_extract::MetadataSource) = found?;
            metadata_from.insert(name.to_owned(), source.as_str().to_owned());
            Some(moment.to_string())
        };
        let published = date("published", found.published(latest));
        let modified = date("modified", found.modified(latest));
        Self {
            page_type: Some(document.page_type.as_str().to_owned()),
            confidence: Some(round(document.confidence.into())),
            reservations: document.reservations.clone(),
            against: Vec::new(),
            from: Vec::new(),
            author: found.author.clone(),
            published,
            modified,
            description: found.description.clone(),
            site_name: found.site_name.clone(),
            language_score: Some(round(document.language_score.into())),
            canonical: document.canonical.as_ref().map(as_it_stands),
            alternates: found.alternates.clone(),
            picture: found.picture.clone(),
            licence: found.licence.clone(),
            declared_type: found.declared_type.clone(),
            content_type: document.content_type.clone(),
            metadata_from,
        }
    }

    /// Sets the references that have the page.
    #[must_use]
    pub fn with_against(self, against: Vec<String>) -> Self {
        Self { against, ..self }
    }

    /// Sets the inlinks.
    #[must_use]
    pub fn with_from(self, from: Vec<String>) -> Self {
        Self { from, ..self }
    }

    /// Adds references and inlinks to the result of [`to_json`](Self::to_json), which has neither, without building it
    /// again.
    pub fn extend_json(json: &str, against: &[String], from: &[String]) -> String {
        let mut json = json.to_owned();
        for (name, values) in [("against", against), ("from", from)] {
            if let Ok(values) = serde_json::to_string(values)
                && values != "[]"
                && json.ends_with('}')
            {
                let comma = if json == "{}" { "" } else { "," };
                json.truncate(json.len() - 1);
                json.push_str(&format!("{comma}\"{name}\":{values}}}"));
            }
        }
        json
    }

    /// Parses the result of [`to_json`](Self::to_json). Returns empty metadata for any other text.
    pub fn from_json(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the JSON for the index, without the keys of missing values.
    pub fn to_json(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.retain(|_, value| match value {
                Value::Null => false,
                Value::Array(all) => !all.is_empty(),
                Value::Object(all) => !all.is_empty(),
                _ => true,
            });
        }
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_metadata_round_trips_and_unreadable_metadata_is_empty() {
        let meta = PageMeta {
            page_type: Some("article".into()),
            confidence: Some(0.912),
            alternates: BTreeMap::from([("de".into(), "https://a.example/de".into())]),
            ..PageMeta::default()
        };
        let json = meta.to_json();
        assert_eq!(
            json,
            r#"{"alternates":{"de":"https://a.example/de"},"confidence":0.912,"page_type":"article"}"#
        );
        assert_eq!(PageMeta::from_json(&json), meta);
        let list = |of: &str| vec![of.to_owned()];
        let whole = meta.clone().with_against(list("a")).with_from(list("https://a.example/\""));
        let extended = PageMeta::extend_json(&json, &whole.against, &whole.from);
        assert_eq!(PageMeta::from_json(&extended), whole);
        assert_eq!(PageMeta::extend_json(&json, &[], &[]), json);
        assert_eq!(PageMeta::extend_json("{}", &[], &list("b")), r#"{"from":["b"]}"#);
        for text in ["", "{}", r#"{"of_a_later_version":1}"#, "{"] {
            assert_eq!(PageMeta::from_json(text), PageMeta::default(), "{text}");
        }
    }

    #[test]
    fn a_date_after_the_day_of_the_fetch_is_not_believed_and_missing_values_are_null() {
        let html = r#"<meta property="article:published_time" content="2026-03-02T10:00:00Z"><meta name="author" content="Ada Moss">"#;
        let url = url::Url::parse("https://a.example/").unwrap();
        let document =
            hapax_extract::extract(&url, None, html.as_bytes(), &hapax_extract::Limits::default());
        let of = |day| PageMeta::of(&document, Date::new(2026, 3, day));
        assert_eq!(of(1).published.as_deref(), Some("2026-03-02T10:00:00Z"));
        assert_eq!(of(1).metadata_from["published"], "open-graph");
        assert_eq!(PageMeta::of(&document, Date::new(2026, 2, 28)).published, None);
        let exported = serde_json::to_value(of(1)).unwrap();
        assert_eq!(exported["author"], "Ada Moss");
        for name in
            ["modified", "description", "site_name", "licence", "picture", "type", "canonical"]
        {
            assert_eq!(exported.get(name), Some(&Value::Null), "{name}");
        }
    }
}

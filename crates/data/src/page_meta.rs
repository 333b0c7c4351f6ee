//! Metadata of a kept page: JSON in the field `meta` of the index.

use hapax_extract::Document;
use serde::{Deserialize, Serialize};

use crate::comparison::round;

/// Metadata of a page; empty in an index of an earlier version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageMeta {
    /// Page type: `article`, `forum`, `product`, `listing`, `documentation` or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_type: Option<String>,
    /// Expected F1 of its main text, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Rights that the page or its host reserves, as declared: `noai`, `tdm-reservation: 1`, `content-signal:
    /// ai-train=no`, `rsl: URL`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<String>,
    /// The references (`--against-mark`) that have the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
}

impl PageMeta {
    /// Returns the metadata of a document.
    pub fn of(document: &Document) -> Self {
        Self {
            page_type: Some(document.page_type.as_str().to_owned()),
            confidence: Some(round(document.confidence.into())),
            reservations: document.reservations.clone(),
            against: Vec::new(),
        }
    }

    /// Sets the references that have the page.
    #[must_use]
    pub fn with_against(self, against: Vec<String>) -> Self {
        Self { against, ..self }
    }

    /// Parses the result of [`to_json`](Self::to_json). Returns empty metadata for any other text.
    pub fn from_json(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Returns the JSON for the index.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
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
            ..PageMeta::default()
        };
        let json = meta.to_json();
        assert_eq!(json, r#"{"page_type":"article","confidence":0.912}"#);
        assert_eq!(PageMeta::from_json(&json), meta);
        for text in ["", "{}", r#"{"of_a_later_version":1}"#, "{"] {
            assert_eq!(PageMeta::from_json(text), PageMeta::default(), "{text}");
        }
    }
}

//! One line of events.jsonl: a change of a page, without its text.

use serde::{Deserialize, Serialize};

use crate::kind::DuplicateKind;
use crate::lines::Discarded;
use crate::page_name::page_name;
use crate::tables::url_of_key;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A new page is kept.
    Kept,
    /// A recrawl found other content at a known URL, and the page is kept.
    Changed,
    /// A page that was discarded is kept.
    Restored,
    /// A page is a duplicate of another one.
    Discarded,
    /// A kept page became a duplicate because another page is kept instead of it.
    Replaced,
    /// A page is gone or was forgotten.
    Removed,
}

impl EventKind {
    /// Returns whether the page is kept after the event. After any other event it is not.
    pub const fn keeps(self) -> bool {
        matches!(self, Self::Kept | Self::Changed | Self::Restored)
    }
}

/// The page that another page duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventOf {
    /// Its number in the store; `None` for a redirect's target that is not fetched yet.
    pub id: Option<u64>,
    /// Its URL.
    pub url: String,
}

/// How the text of a known page has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextChange {
    /// Similarity of the two texts: the share of their words that both have. `None` without a stored text of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The location of the page as it was in pages/, as `FILE:OFFSET`, if it is archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The location of the page as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A change of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageEvent {
    /// The kind of change.
    pub event: EventKind,
    /// The time of the decision, in RFC 3339.
    pub time: String,
    /// The page's number in the store.
    pub id: u64,
    /// The page's URL.
    pub url: String,
    /// The caller's key of the page, if it differs from the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The location of a kept page in pages/ as `FILE:OFFSET`, if it is not in the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warc: Option<String>,
    /// The time of its request, if it is not in the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// The page that it duplicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<EventOf>,
    /// The kind of duplicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DuplicateKind>,
    /// The reason, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The change of a known page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<TextChange>,
}

impl PageEvent {
    /// Creates an event about the page with this key in the store.
    pub fn new(event: EventKind, time: String, id: u64, key: &str) -> Self {
        let url = url_of_key(key).to_owned();
        Self {
            event,
            time,
            id,
            url,
            key: None,
            warc: None,
            fetched: None,
            of: None,
            kind: None,
            why: None,
            change: None,
        }
    }

    /// Creates an event about a page with a URL and perhaps another key.
    pub fn of_page(
        event: EventKind,
        time: String,
        id: u64,
        (url, key): (&str, Option<&str>),
    ) -> Self {
        let key = key.filter(|key| *key != url).map(str::to_owned);
        Self { key, ..Self::new(event, time, id, url) }
    }

    /// Creates the event of a page that is discarded by this line.
    pub fn duplicate(event: EventKind, time: String, line: &Discarded) -> Self {
        Self {
            of: Some(EventOf { id: line.of.id, url: line.of.url.clone() }),
            kind: Some(line.kind),
            why: Some(line.reason()),
            ..Self::of_page(event, time, line.id, (&line.url, line.key.as_deref()))
        }
    }

    /// Adds the reason.
    #[must_use]
    pub fn because(self, why: &str) -> Self {
        Self { why: Some(why.to_owned()), ..self }
    }

    /// Returns a short name of the page that every event about it has: 128 bits of the SHA-256 of its key in
    /// hexadecimal digits. A URL may be longer than another system accepts.
    pub fn page_id(&self) -> String {
        page_name(self.key.as_deref().unwrap_or(&self.url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_only_fields_with_values_and_round_trips() {
        let event = PageEvent::of_page(EventKind::Kept, "t".into(), 7, ("u", Some("u")));
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"event":"kept","time":"t","id":7,"url":"u"}"#);
        assert_eq!(serde_json::from_str::<PageEvent>(&line).unwrap(), event);
        let keyed = PageEvent::of_page(EventKind::Kept, "t".into(), 7, ("u", Some("k")));
        assert_ne!(event.page_id(), keyed.page_id());
        assert_eq!(event.page_id(), "0bfe935e70c321c7ca3afc75ce0d0ca2");
    }
}

//! A document of a JSONL file, the input of `crawl dedup` and `crawl pages`.

use std::path::Path;

use hapax_page::Kind;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::kind::page_kind;

/// Longest line in bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Describes an error without the parser's line number, which is always 1.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

/// One document of the input.
#[derive(Clone, Debug, Deserialize)]
pub struct Item {
    /// Its id.
    #[serde(deserialize_with = "text_or_integer")]
    pub id: String,
    /// Its URL.
    pub url: Option<String>,
    /// Its title, which replaces the page's title.
    pub title: Option<String>,
    content_type: Option<String>,
    text: Option<String>,
    html: Option<String>,
    path: Option<String>,
}

/// Reads an id: a string, or an integer as its digits.
fn text_or_integer<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    struct Id;
    impl Visitor<'_> for Id {
        type Value = String;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string or an integer")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }
    }
    from.deserialize_any(Id)
}

impl Item {
    /// Parses a line.
    ///
    /// # Errors
    /// A description of the error.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("the line is longer than {MAX_LINE} bytes"));
        }
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Err("not a JSON object".to_owned());
        }
        serde_json::from_slice(line).map_err(|error| said(&error))
    }

    /// Does the same, but accepts a URL instead of an id, as `crawl export` writes it.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_page(line: &[u8]) -> Result<Self, String> {
        Self::parse(line).or_else(|error| {
            let mut value = serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
            let url = value.get("url").filter(|_| value.get("id").is_none()).cloned();
            let (Some(url), Some(object)) = (url, value.as_object_mut()) else { return Err(error) };
            object.insert("id".into(), url);
            serde_json::from_value(value).map_err(|error| said(&error))
        })
    }

    /// Does the same, but a document without id and URL gets `name` as its id.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_named(line: &[u8], name: &str) -> Result<Self, String> {
        Self::parse_page(line).or_else(|error| {
            let mut value = serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
            let unnamed = value.get("id").is_none() && value.get("url").is_none();
            let Some(object) = value.as_object_mut().filter(|_| unnamed) else { return Err(error) };
            object.insert("id".into(), name.into());
            serde_json::from_value(value).map_err(|error| said(&error))
        })
    }

    /// Returns the content type and bytes from the field that is set; `read` opens files.
    ///
    /// # Errors
    /// A description of the error.
    pub fn body(
        &self,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<(String, Vec<u8>), String> {
        let given = self.content_type.clone();
        match (&self.text, &self.html, &self.path) {
            (Some(text), None, None) => Ok(("text/plain".into(), text.clone().into_bytes())),
            (None, Some(html), None) => {
                Ok((given.unwrap_or_else(|| "text/html".into()), html.clone().into_bytes()))
            }
            (None, None, Some(path)) => {
                let bytes = read(path)?;
                let kind = || match page_kind(Path::new(path), &bytes) {
                    Ok(Kind::Html) => Ok("text/html".to_owned()),
                    Ok(Kind::Plain) => Ok("text/plain".to_owned()),
                    Err(why) => Err(format!("{path}: {why}")),
                };
                Ok((given.map_or_else(kind, Ok)?, bytes))
            }
            _ => Err("give exactly one of \"text\", \"html\" and \"path\"".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_an_id_too() {
        let id = |json: &str| Item::parse(json.as_bytes()).map(|item| item.id);
        assert_eq!(id("{\"id\":7,\"text\":\"x\"}"), Ok("7".to_owned()));
        assert_eq!(id("{\"id\":-7,\"text\":\"x\"}"), Ok("-7".to_owned()));
        assert_eq!(id("{\"id\":\"7\",\"text\":\"x\"}"), Ok("7".to_owned()));
    }

    #[test]
    fn a_bad_json_line_is_reported_without_the_parsers_line_number() {
        for (line, wanted) in [
            ("nonsense", "not a JSON object"),
            ("[1,2]", "not a JSON object"),
            ("7", "not a JSON object"),
            (
                "{\"id\":7.5}",
                "invalid type: floating point `7.5`, expected a string or an integer (column 9)",
            ),
            ("{\"id\":", "EOF while parsing a value (column 6)"),
            ("{\"url\":\"u\"}", "missing field `id` (column 11)"),
        ] {
            assert_eq!(Item::parse(line.as_bytes()).unwrap_err(), wanted, "{line}");
        }
        assert_eq!(
            Item::parse_page(b"{\"url\":7}").unwrap_err(),
            "invalid type: integer `7`, expected a string"
        );
        assert_eq!(Item::parse_page(b" {\"url\":\"u\"}").unwrap().id, "u");
        let named = |line: &str| Item::parse_named(line.as_bytes(), "f:3").map(|item| item.id);
        assert_eq!(named("{\"text\":\"x\"}"), Ok("f:3".into()));
        assert_eq!(named("{\"id\":1,\"text\":\"x\"}"), Ok("1".into()));
        assert_eq!(named("{\"url\":\"u\",\"text\":\"x\"}"), Ok("u".into()));
        assert!(named("{\"url\":7,\"text\":\"x\"}").is_err());
        assert_eq!(named("x"), Err("not a JSON object".into()));
    }
}

//! A document of a JSONL file, as `crawl dedup` and `crawl pages` take them.

use std::path::Path;

use hapax_page::Kind;
use serde::Deserialize;

use super::kind::page_kind;

/// A longer line is an error.
pub const MAX_LINE: usize = 64 << 20;

/// What is wrong with a line. It is one line to the parser too, whatever its number is in the file.
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
    /// Its name.
    pub id: String,
    /// Its URL.
    pub url: Option<String>,
    /// Its title, which replaces that of the page.
    pub title: Option<String>,
    content_type: Option<String>,
    text: Option<String>,
    html: Option<String>,
    path: Option<String>,
}

impl Item {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_LINE {
            return Err(format!("a line of more than {MAX_LINE} bytes"));
        }
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Err("not a JSON object".to_owned());
        }
        serde_json::from_slice(line).map_err(|error| said(&error))
    }

    /// The same of a page that may be called by its address alone, as `crawl export` writes it.
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

    /// The content type and bytes, from whichever of the three ways was used; `read` opens files.
    ///
    /// # Errors
    /// What is wrong with it, in words.
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
            _ => Err("exactly one of \"text\", \"html\" and \"path\" is needed".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_said_without_the_parsers_own_lines() {
        for (line, wanted) in [
            ("nonsense", "not a JSON object"),
            ("[1,2]", "not a JSON object"),
            ("7", "not a JSON object"),
            ("{\"id\":7}", "invalid type: integer `7`, expected a string (column 7)"),
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
    }
}

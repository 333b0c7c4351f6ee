//! The metadata of a page in front of its Markdown, as YAML.

use serde_json::Value;

use crate::error::Result;
use crate::export::ExportedPage;

/// Fields that come first. Further ones follow in the order of their names.
const FIRST: [&str; 6] = ["url", "title", "language", "fetched", "author", "published"];

/// Returns the front matter: all fields of the JSONL export except `text`, and a `note` if there is one.
///
/// # Errors
/// If a field cannot be serialised.
pub(super) fn front_matter(page: &ExportedPage, note: Option<&str>) -> Result<String> {
    let mut value = serde_json::to_value(page)?;
    let mut out = String::from("---\n");
    if let Value::Object(fields) = &mut value {
        fields.remove("text");
        let mut line = |name: &str, value: &Value| {
            out.push_str(name);
            out.push_str(": ");
            write_value(value, &mut out);
            out.push('\n');
        };
        for name in FIRST {
            if let Some(value) = fields.remove(name) {
                line(name, &value);
            }
        }
        let mut rest: Vec<(&String, &Value)> = fields.iter().collect();
        rest.sort_by_key(|(name, _)| *name);
        rest.into_iter().for_each(|(name, value)| line(name, value));
        if let Some(note) = note {
            line("note", &note.into());
        }
    }
    out.push_str("---\n\n");
    Ok(out)
}

/// Writes a value in the flow style of YAML. Its depth is that of the fields.
fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => quote(text, out),
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_value(value, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                quote(name, out);
                out.push_str(": ");
                write_value(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

/// Writes a double-quoted scalar of YAML 1.2, and escapes all other characters.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if stands(c) => out.push(c),
            _ => {
                let code = u32::from(c);
                out.push_str(&match code {
                    0..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                });
            }
        }
    }
    out.push('"');
}

/// Returns whether YAML 1.2.2 can print it and it is not a line end, byte-order mark or bidirectional control.
fn stands(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_title_is_one_that_yaml_takes_and_is_read_back() {
        for c in '\0'..=char::MAX {
            let mut text = String::new();
            quote(&c.to_string(), &mut text);
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
            // YAML 1.2.2, rule 1, without line ends.
            let printable = |c: char| {
                let code = u32::from(c);
                matches!(code, 0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfffd | 0x10000..=0x10ffff)
            };
            assert!(inner.chars().all(printable), "{:x}", u32::from(c));
            let read = match inner.strip_prefix('\\') {
                None => inner.chars().next().unwrap(),
                Some("n") => '\n',
                Some("t") => '\t',
                Some("r") => '\r',
                Some(code) if code.starts_with(['x', 'u', 'U']) => {
                    char::from_u32(u32::from_str_radix(&code[1..], 16).unwrap()).unwrap()
                }
                Some(other) => other.chars().next().unwrap(),
            };
            assert_eq!(read, c);
        }
    }

    #[test]
    fn a_page_cannot_leave_its_front_matter() {
        let page = ExportedPage {
            title: "a\"\n---\nevil: true\u{85}\u{2028}\u{7f}".to_owned(),
            text: "a text".to_owned(),
            id: 1,
            url: "http://a.example/".to_owned(),
            language: String::new(),
            fetched: String::new(),
            stored: crate::StoredFeatures::default(),
            sighted: crate::Sighted { copies: 2, ..crate::Sighted::default() },
            site_lines: 0,
            meta: crate::PageMeta {
                author: Some("Ada\nevil: true".to_owned()),
                ..crate::PageMeta::default()
            },
        };
        let text = front_matter(&page, Some("flat text")).unwrap();
        assert!(text.starts_with(
            "---\nurl: \"http://a.example/\"\ntitle: \"a\\\"\\n---\\nevil: true\\x85\\u2028\\x7F\"\nlanguage: \"\"\nfetched: \"\"\n\
             author: \"Ada\\nevil: true\"\n"
        ), "{text}");
        assert!(text.ends_with("note: \"flat text\"\n---\n\n"), "{text}");
        // The fields of JSONL, except the text.
        let Value::Object(fields) = serde_json::to_value(&page).unwrap() else { panic!() };
        for name in fields.keys().filter(|name| *name != "text") {
            assert!(text.contains(&format!("\n{name}: ")), "{name}: {text}");
        }
        assert_eq!(text.lines().count(), fields.len() + 3, "{text}");
    }
}

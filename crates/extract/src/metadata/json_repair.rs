//! Repairs JSON-LD that is almost JSON: comments around it, line breaks in strings, commas before a bracket.

/// Beginnings and ends that hide a script from old browsers.
const WRAPPERS: [&str; 8] =
    ["<!--", "-->", "//<![CDATA[", "//]]>", "/*<![CDATA[*/", "/*]]>*/", "<![CDATA[", "]]>"];

/// Returns the text with the faults removed that sites make most often.
///
/// # Complexity
/// Linear in the text.
pub(crate) fn repaired(json: &str) -> String {
    let mut text = json.trim_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '\u{feff}'));
    let mut before = usize::MAX;
    while text.len() < before {
        before = text.len();
        for wrapper in WRAPPERS {
            text = text.strip_prefix(wrapper).unwrap_or(text).trim();
            text = text.strip_suffix(wrapper).unwrap_or(text).trim();
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => match chars.next() {
                Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                    out.push('\\');
                    out.push(c);
                }
                Some(c) => out.push(c),
                None => {}
            },
            '"' => {
                in_string = !in_string;
                out.push('"');
            }
            c if c.is_control() => out.push(' '),
            ']' | '}' if !in_string => {
                let end = out.trim_end().len();
                if out.get(..end).is_some_and(|before| before.ends_with(',')) {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns the string values of a name in JSON that cannot be parsed, such as JSON that was cut.
///
/// # Complexity
/// Linear in the text.
pub(crate) fn strings_of<'a>(json: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let quoted = format!("\"{name}\"");
    let places: Vec<usize> =
        json.match_indices(&quoted).map(|(at, found)| at + found.len()).take(MAX_STRINGS).collect();
    places.into_iter().filter_map(move |at| {
        let value = json.get(at..)?.trim_start().strip_prefix(':')?.trim_start();
        value.strip_prefix('"')?.split_once('"').map(|(value, _)| value)
    })
}

/// Maximum number of values of one name in JSON that cannot be parsed.
const MAX_STRINGS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_faults_are_repaired() {
        for json in [
            "<!-- {\"a\": \"x y\"} -->",
            "//<![CDATA[\n{\"a\": \"x y\"}\n//]]>",
            "{\"a\": \"x\ny\",}",
            "{\"a\": \"x y\", \n}; ",
            "\u{feff}{\"a\": \"x\\ y\"}",
        ] {
            let value: serde_json::Value = serde_json::from_str(&repaired(json)).unwrap();
            assert_eq!(value.get("a").unwrap(), "x y", "{json}");
        }
        // A string may contain a comma before a bracket.
        assert_eq!(repaired(r#"{"a": ",]\""}"#), r#"{"a": ",]\""}"#);
        assert_eq!(repaired("\\"), "\\");
    }

    #[test]
    fn dates_of_json_that_was_cut_are_found() {
        let json = r#"{"datePublished" : "2026-03-01", "x": ["#;
        assert_eq!(strings_of(json, "datePublished").collect::<Vec<_>>(), ["2026-03-01"]);
        assert_eq!(strings_of(r#"{"datePublished": 7"#, "datePublished").count(), 0);
        assert_eq!(strings_of(&"\"a\":\"b\"".repeat(99), "a").count(), MAX_STRINGS);
    }
}

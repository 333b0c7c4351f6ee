//! Exports a kept page as Markdown. Its text is escaped, so that it contains no markup.

use crate::export::ExportedPage;

/// Returns the front matter (YAML) and the text.
pub fn markdown(page: &ExportedPage) -> String {
    let mut out = String::with_capacity(page.text.len() + 512);
    out.push_str("---\n");
    for (name, value) in [
        ("url", &page.url),
        ("title", &page.title),
        ("language", &page.language),
        ("fetched", &page.fetched),
    ] {
        out.push_str(name);
        out.push_str(": ");
        quote(value, &mut out);
        out.push('\n');
    }
    let meta = &page.meta;
    for (name, value) in [
        ("author", &meta.author),
        ("published", &meta.published),
        ("modified", &meta.modified),
        ("description", &meta.description),
    ] {
        let Some(value) = value else { continue };
        out.push_str(name);
        out.push_str(": ");
        quote(value, &mut out);
        out.push('\n');
    }
    out.push_str(&format!("copies: {}\n---\n\n", page.sighted.copies));
    let mut first = true;
    // CommonMark treats a single carriage return as a line end.
    for line in page.text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()) {
        if !std::mem::take(&mut first) {
            out.push_str("\n\n");
        }
        paragraph(line, &mut out);
    }
    out.push('\n');
    out
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

/// Escapes a line into a plain paragraph: without HTML, link, image, code or list.
fn paragraph(line: &str, out: &mut String) {
    // Control characters are invisible, but some viewers interpret them.
    let is_blank = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let line: String = line.chars().map(|c| if is_blank(c) { ' ' } else { c }).collect();
    let mut line = line.trim();
    // MDX takes such a line for code.
    for word in ["import", "export"] {
        if let Some(rest) = line.strip_prefix(word) {
            out.push_str(if word == "import" { "&#105;mport" } else { "&#101;xport" });
            line = rest;
            break;
        }
    }
    let mut before = ' ';
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        let is_markup = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '$' | '{' | '}'
            | '@' => true,
            // `![` begins an image; the others headings, lists and rules, or titles and definitions of some dialects.
            '!' => next == '[',
            '#' | '+' | '-' | '=' | ':' | '%' | '^' if at == 0 => true,
            // `1.` and `1)` begin a list.
            '.' | ')' if at > 0 && is_number(line, at) => true,
            // Viewers link `http://` and `www.`, some of them any host name.
            ':' => before.is_ascii_alphabetic() && !next.is_whitespace(),
            '.' => ends_with_www(line, at) || before.is_alphanumeric() && next.is_alphabetic(),
            _ => false,
        };
        if is_markup {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
}

fn is_number(line: &str, end: usize) -> bool {
    line.get(..end).is_some_and(|start| start.bytes().all(|byte| byte.is_ascii_digit()))
}

fn ends_with_www(line: &str, end: usize) -> bool {
    let start = line.as_bytes().get(end.saturating_sub(3)..end);
    start.is_some_and(|start| start.eq_ignore_ascii_case(b"www"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(line: &str) -> String {
        let mut out = String::new();
        paragraph(line, &mut out);
        out
    }

    /// Undoes the escaping, as CommonMark does.
    fn shown(escaped: &str) -> String {
        let mut chars = escaped.chars();
        let mut out = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' => out.extend(chars.next()),
                _ => out.push(c),
            }
        }
        out
    }

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
    fn page_lines_are_escaped_in_markdown_and_render_as_their_text() {
        for line in [
            "<img src=x onerror=alert(1)>",
            "![](http://evil.example/beacon)",
            "[text](javascript:alert(1))",
            "<http://evil.example/>",
            "see http://evil.example/ and www.evil.example",
            "&lt;b&gt; &#60;",
            "`code` *bold* _it_ ~~gone~~ | a | $x$",
            "# heading",
            "- item",
            "+ item",
            "=====",
            "-----",
            "> quote",
            "~~~",
            "12. item",
            "3) item",
            ": definition",
            "% title",
            "[^1]: note",
            "{{ site.secret }}",
            "back\\slash\\",
        ] {
            let text = escaped(line);
            assert_eq!(shown(&text), line);
            let mut plain = text.clone();
            while let Some(at) = plain.find('\\') {
                plain.replace_range(at..at + 2, "");
            }
            assert!(
                !plain.contains(['<', '>', '[', ']', '`', '*', '_', '&', '|', '~', '{']),
                "{text}"
            );
            for live in ["://", "www.", "evil.", "!["] {
                assert!(!plain.contains(live), "{text}");
            }
            let start = text.trim_start_matches(|c: char| c.is_ascii_digit());
            assert!(!start.starts_with(['#', '-', '+', '=', '.', ')', ':', '%']), "{text}");
        }
        assert_eq!(
            escaped("It was 12:30, at 3.5 % - well-known!"),
            "It was 12:30, at 3.5 % - well-known!"
        );
        assert_eq!(escaped("    indented\u{0}\u{85}x"), "indented  x");
    }

    #[test]
    fn control_characters_hide_no_markdown_markup() {
        for control in ['\u{1}', '\u{b}', '\u{85}', '\u{2028}', '\0'] {
            for markup in ["# Head", "- item", "+ item", "1. item", "===", ":::note", "    code"] {
                let line = escaped(&format!("{control}{markup}{control}"));
                assert_eq!(line, escaped(markup), "{control:?}");
                assert!(line.starts_with('\\') || line.starts_with("1\\.") || line == "code");
            }
        }
        // MDX executes these.
        for line in ["import fs from 'fs'", "export const a = 1", "\u{1}import x", "exporting"] {
            let escaped = escaped(line);
            assert!(escaped.starts_with("&#"), "{escaped}");
            let read = escaped.replace("&#105;", "i").replace("&#101;", "e");
            assert_eq!(shown(&read), line.trim_start_matches('\u{1}'));
        }
    }

    #[test]
    fn a_page_cannot_leave_its_front_matter_or_its_paragraphs() {
        let page = ExportedPage {
            title: "a\"\n---\nevil: true\u{85}\u{2028}\u{7f}".to_owned(),
            text: "one\r    two\n\n---\n\u{2028}\nthree".to_owned(),
            id: 1,
            url: String::new(),
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
        let text = markdown(&page);
        assert_eq!(
            text,
            "---\nurl: \"\"\ntitle: \"a\\\"\\n---\\nevil: true\\x85\\u2028\\x7F\"\nlanguage: \"\"\nfetched: \"\"\n\
             author: \"Ada\\nevil: true\"\ncopies: 2\n---\n\none\n\ntwo\n\n\\---\n\nthree\n"
        );
    }
}

//! Text without structure as Markdown: each line is a paragraph, and its text is escaped, so that it contains no markup.

/// Returns the lines of a text as paragraphs.
pub(super) fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 512);
    // CommonMark treats a single carriage return as a line end.
    for line in text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()) {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        paragraph(line, &mut out);
    }
    out.push('\n');
    out
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
    fn the_lines_of_a_text_are_paragraphs() {
        let text = flat("one\r    two\n\n---\n\u{2028}\nthree");
        assert_eq!(text, "one\n\ntwo\n\n\\---\n\nthree\n");
    }
}

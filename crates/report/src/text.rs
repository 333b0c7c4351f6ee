//! Formats text and values for people, and escapes text from the web.

use std::time::Duration;

use crate::shell::is_hidden;

/// Escapes control characters, so that a page's title cannot control the terminal.
pub fn escape(text: &str) -> String {
    let escaped = |c: char| -> Vec<char> {
        if is_hidden(c) { c.escape_unicode().collect() } else { vec![c] }
    };
    text.chars().flat_map(escaped).collect()
}

/// A value as JSON on one line. JSON allows raw control characters above 0x1f, some of which a terminal obeys, so
/// they are escaped; a JSON parser reads the same value.
pub fn json(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if !text.contains(is_hidden) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if is_hidden(c) {
            out += &format!("\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Escaped text on one line, cut to `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let flat: String = escape(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= width {
        return flat;
    }
    let mut cut: String = flat.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// `1,234,567`.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 page`, `2,000 pages`, `2 aliases`.
pub fn counted(value: u64, noun: &str) -> String {
    let end = match value {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{end}", number(value))
}

/// `1.2 MiB`.
pub fn bytes(value: u64) -> String {
    let mut value = value as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{value:.0} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// `1h 02m 03s`, `4.2s`.
pub fn duration(value: Duration) -> String {
    let seconds = value.as_secs();
    match seconds {
        0..=59 => format!("{:.1}s", value.as_secs_f64()),
        60..=3599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m {:02}s", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(escape("a\u{1b}[31mb\r\u{202e}"), "a\\u{1b}[31mb\\u{d}\\u{202e}");
        assert_eq!(line("a\n  b\tc", 80), "a b c");
        assert_eq!(line("abcdef", 4), "abc…");
    }

    #[test]
    fn json_for_a_terminal_is_the_same_to_a_program() {
        let value = serde_json::json!({"a\u{9b}31m": "\u{7f}\u{202e}\n \u{10ffff}b"});
        let text = json(&value);
        assert_eq!(text, "{\"a\\u009b31m\":\"\\u007f\\u202e\\n \u{10ffff}b\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn numbers_sizes_and_durations_are_formatted_for_people() {
        assert_eq!((number(1_234_567).as_str(), number(12).as_str()), ("1,234,567", "12"));
        assert_eq!([counted(1, "seed"), counted(2000, "page")], ["1 seed", "2,000 pages"]);
        assert_eq!((bytes(1536).as_str(), bytes(10).as_str()), ("1.5 KiB", "10 B"));
        assert_eq!(duration(Duration::from_secs(3723)), "1h 02m 03s");
    }
}

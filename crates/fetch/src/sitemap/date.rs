//! Dates of sitemap and feed entries.

use time::OffsetDateTime;
use time::UtcOffset;
use time::format_description::well_known::{Rfc2822, Rfc3339};

/// Returns a date in a form that sorts as text: W3C dates as written, except that times of other zones become UTC; dates
/// of RSS (RFC 822) become W3C dates. `None` if it is no date.
pub(super) fn sortable(text: &str) -> Option<String> {
    let year = text.as_bytes().get(..4)?;
    if year.iter().all(u8::is_ascii_digit) {
        return Some(utc(text).unwrap_or_else(|| text.to_owned()));
    }
    // Some feeds have a wrong day of the week.
    let date = text.split_once(',').map_or(text, |(_, date)| date.trim());
    written(OffsetDateTime::parse(date, &Rfc2822).ok()?)
}

/// Converts a W3C date with the offset of a zone; `None` if it has none.
fn utc(text: &str) -> Option<String> {
    let is_offset = |at: usize| matches!(text.as_bytes().get(at), Some(b'+' | b'-'));
    // The W3C format allows times without seconds, unlike RFC 3339.
    let with_seconds = is_offset(16).then(|| {
        let (time, zone) = text.split_at_checked(16)?;
        Some(format!("{time}:00{zone}"))
    });
    let text = with_seconds.flatten().unwrap_or_else(|| text.to_owned());
    let date = OffsetDateTime::parse(&text, &Rfc3339).ok()?;
    (!date.offset().is_utc()).then(|| written(date)).flatten()
}

fn written(date: OffsetDateTime) -> Option<String> {
    let date = date.checked_to_offset(UtcOffset::UTC)?;
    let (year, month, day) = date.to_calendar_date();
    let (hour, minute, second) = date.to_hms();
    (0..=9999).contains(&year).then(|| {
        let month = u8::from(month);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W3C-DTF; RFC 822 and RFC 2822, which RSS 2.0 requires.
    #[test]
    fn dates_of_all_formats_sort_as_text() {
        for (date, expected) in [
            ("2026", Some("2026")),
            ("2026-02-01", Some("2026-02-01")),
            ("2026-02-01T10:00Z", Some("2026-02-01T10:00Z")),
            ("2026-02-01T10:00:30.5Z", Some("2026-02-01T10:00:30.5Z")),
            ("2026-02-01T01:30:05+02:00", Some("2026-01-31T23:30:05Z")),
            ("2026-02-01T01:30+02:00", Some("2026-01-31T23:30:00Z")),
            ("2026-12-31T23:30:00-01:00", Some("2027-01-01T00:30:00Z")),
            ("2026-02-31T01:30:05+02:00", Some("2026-02-31T01:30:05+02:00")),
            ("Sun, 01 Feb 2026 10:00:05 GMT", Some("2026-02-01T10:00:05Z")),
            ("Wed, 01 Feb 2026 10:00:05 +0130", Some("2026-02-01T08:30:05Z")),
            ("1 Feb 2026 10:00 EST", Some("2026-02-01T15:00:00Z")),
            ("9999-12-31T23:59:59-23:59", Some("9999-12-31T23:59:59-23:59")),
            ("Fri, 31 Dec 9999 23:59:59 -2359", None),
            ("yesterday", None),
            ("Sun, 45 Feb 2026 10:00:05 GMT", None),
            ("", None),
            ("né", None),
            ("\u{fc}\u{fc}\u{fc}, 1", None),
        ] {
            assert_eq!(sortable(date).as_deref(), expected, "{date}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_date_or_not(text in "\\PC{0,40}", digits in "[0-9T:+\\-Z. ]{0,40}") {
            let _ = (sortable(&text), sortable(&digits));
        }
    }
}

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Formats a time as RFC 3339 in UTC with seconds. Times before 1970 become 1970-01-01T00:00:00Z.
pub fn format_time(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time.max(SystemTime::UNIX_EPOCH));
    let whole = time.replace_nanosecond(0).unwrap_or(time);
    whole.format(&Rfc3339).unwrap_or_else(|_| "9999-12-31T23:59:59Z".to_owned())
}

/// Parses the output of [`format_time`] and drops fractions of a second. Returns `None` for invalid times, times
/// before 1970, or times not in UTC.
pub fn parse_time(text: &str) -> Option<SystemTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let whole = time.replace_nanosecond(0).ok()?;
    let since_1970 = u64::try_from(whole.unix_timestamp()).ok()?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(since_1970);
    text.ends_with('Z').then_some(time)
}

/// Parses a WARC-Date of any precision, from the year to fractions of a second (WARC 1.1, section 5.4), or the digits
/// of an ARC date. A date without an offset is in UTC. Returns `None` for invalid dates or dates before 1970.
pub fn parse_date(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    if let Ok(time) = OffsetDateTime::parse(text, &Rfc3339) {
        let seconds = u64::try_from(time.unix_timestamp()).ok()?;
        return Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    }
    let (text, offset) = split_offset(text);
    let end = text.find(['.', ',', 'Z', 'z']).unwrap_or(text.len());
    let digits: String = text.get(..end)?.chars().filter(|c| !"-:Tt ".contains(*c)).collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Missing parts are the first of their kind.
    let whole = match digits.len() {
        4 | 6 | 8 | 10 | 12 => digits.clone() + "00000101000000".get(digits.len()..)?,
        14..=17 => digits.get(..14)?.to_owned(),
        _ => return None,
    };
    let (date, time) = whole.split_at(8);
    let part = |text: &str, range: std::ops::Range<usize>| text.get(range)?.parse::<u8>().ok();
    let month = time::Month::try_from(part(date, 4..6)?).ok()?;
    let year = date.get(..4)?.parse().ok()?;
    let date = time::Date::from_calendar_date(year, month, part(date, 6..8)?).ok()?;
    let time =
        time::Time::from_hms(part(time, 0..2)?, part(time, 2..4)?, part(time, 4..6)?).ok()?;
    let seconds = date.with_time(time).assume_utc().unix_timestamp() - offset;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// Length of a date with day, which has no offset.
const DAY: usize = "2016-09-19".len();

/// Splits `+02:00`, `+0200` or `-05` from a time. Returns it in seconds.
fn split_offset(text: &str) -> (&str, i64) {
    let split = || {
        let at = text.rfind(['+', '-']).filter(|at| *at > DAY)?;
        let (time, offset) = text.split_at(at);
        let digits: String = offset.get(1..)?.chars().filter(|c| *c != ':').collect();
        if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let hours: i64 = digits.get(..2)?.parse().ok()?;
        let minutes: i64 = digits.get(2..)?.parse().unwrap_or(0);
        let seconds = (hours * 60 + minutes) * 60;
        Some((time, if offset.starts_with('-') { -seconds } else { seconds }))
    };
    split().unwrap_or((text, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_any_precision() {
        for (text, whole) in [
            ("2016", "2016-01-01T00:00:00Z"),
            ("2016-09", "2016-09-01T00:00:00Z"),
            ("2016-09-19", "2016-09-19T00:00:00Z"),
            ("2016-09-19T17:20Z", "2016-09-19T17:20:00Z"),
            ("2016-09-19T17:20:24Z", "2016-09-19T17:20:24Z"),
            ("2016-09-19T17:20:24.123456789Z", "2016-09-19T17:20:24Z"),
            ("2016-09-19T19:20:24+02:00", "2016-09-19T17:20:24Z"),
            ("2016-09-19T19:20+02:00", "2016-09-19T17:20:00Z"),
            ("2016-09-19 19:20:24+0200", "2016-09-19T17:20:24Z"),
            ("2016-09-19T12:20-05", "2016-09-19T17:20:00Z"),
            ("2016-09-19T12:50:24.5-04:30", "2016-09-19T17:20:24Z"),
            ("2016-09-19T17:20:24", "2016-09-19T17:20:24Z"),
            ("20160919172024", "2016-09-19T17:20:24Z"),
            ("201609191720", "2016-09-19T17:20:00Z"),
        ] {
            assert_eq!(parse_date(text).map(format_time).as_deref(), Some(whole), "{text}");
        }
        for text in ["", "yesterday", "2016-13-01", "1969-12-31T23:59:59Z", "201", "2016-02-30"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}

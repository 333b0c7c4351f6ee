//! Times as WARC and the logs write them: RFC 3339 in UTC with seconds.

use std::time::SystemTime;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// RFC 3339 in UTC with seconds. A time before 1970 is written as its first second.
pub fn format_time(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time.max(SystemTime::UNIX_EPOCH));
    let whole = time.replace_nanosecond(0).unwrap_or(time);
    whole.format(&Rfc3339).unwrap_or_else(|_| "9999-12-31T23:59:59Z".to_owned())
}

/// Reads what [`format_time`] writes, fractions of a second left out; `None` for what is no time from 1970
/// on, or not in UTC.
pub fn parse_time(text: &str) -> Option<SystemTime> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    let whole = time.replace_nanosecond(0).ok()?;
    let since_1970 = u64::try_from(whole.unix_timestamp()).ok()?;
    let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(since_1970);
    text.ends_with('Z').then_some(time)
}

//! Dates and times as pages declare them.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Pages are not older than the Web.
const FIRST_YEAR: i32 = 1990;
/// The last year, if the time of the fetch is unknown.
const LAST_YEAR: i32 = 2100;
/// The largest offset from UTC in minutes: 14 hours.
const MAX_OFFSET: i32 = 14 * 60;

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: i32,
    month: u8,
    day: u8,
}

impl Date {
    /// Returns a day from 1990 to 2100, or `None` if the calendar lacks it.
    pub fn new(year: i32, month: u8, day: u8) -> Option<Self> {
        let possible =
            (FIRST_YEAR..=LAST_YEAR).contains(&year) && (1..=days_of(year, month)).contains(&day);
        possible.then_some(Self { year, month, day })
    }

    /// Returns the day (UTC) of a time; `None` outside of 1990 to 2100.
    ///
    /// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
    pub fn of(time: SystemTime) -> Option<Self> {
        let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let days = i64::try_from(seconds / 86_400).ok()? + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = u8::try_from(of_year - (153 * shifted + 2) / 5 + 1).ok()?;
        let month = u8::try_from(if shifted < 10 { shifted + 3 } else { shifted - 9 }).ok()?;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self::new(i32::try_from(year).ok()?, month, day)
    }

    /// Returns the day with which an RFC 3339 time begins.
    pub fn of_text(time: &str) -> Option<Self> {
        let mut parts = time.get(..10)?.splitn(3, '-');
        let mut number = || parts.next()?.parse::<u16>().ok();
        let (year, month, day) = (number()?, number()?, number()?);
        Self::new(year.into(), u8::try_from(month).ok()?, u8::try_from(day).ok()?)
    }

    /// Returns the day after.
    #[must_use]
    pub fn next(self) -> Self {
        let Self { year, month, day } = self;
        let next_month = if month < 12 { (year, month + 1) } else { (year + 1, 1) };
        Self::new(year, month, day + 1)
            .or_else(|| Self::new(next_month.0, next_month.1, 1))
            .unwrap_or(self)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

const fn days_of(year: i32, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

/// A time of the day with its offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    hour: u8,
    minute: u8,
    second: u8,
    offset: i32,
}

impl Clock {
    /// Returns a time of the day; `offset` is in minutes. A leap second becomes the second before it.
    pub(crate) fn new(hour: u8, minute: u8, second: u8, offset: i32) -> Option<Self> {
        let possible = hour < 24 && minute < 60 && second <= 60 && offset.abs() <= MAX_OFFSET;
        possible.then_some(Self { hour, minute, second: second.min(59), offset })
    }
}

/// A date, with the time of the day if the page declares it with its offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub(crate) date: Date,
    pub(crate) clock: Option<Clock>,
}

impl Moment {
    /// Returns the date as the page declares it.
    pub const fn date(&self) -> Date {
        self.date
    }

    /// Returns whether it is before another: as instants if both have a time of the day, otherwise by their days.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        match (self.seconds(), other.seconds()) {
            (Some(one), Some(other)) => one < other,
            _ => self.date < other.date,
        }
    }

    /// Seconds since an arbitrary day, in UTC.
    ///
    /// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
    fn seconds(&self) -> Option<i64> {
        let Clock { hour, minute, second, offset } = self.clock?;
        let Date { year, month, day } = self.date;
        let (year, month) = (i64::from(year) - i64::from(month <= 2), i64::from(month));
        let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day);
        let days = 365 * year + year / 4 - year / 100 + year / 400 + of_year;
        let minutes = i64::from(hour) * 60 + i64::from(minute) - i64::from(offset);
        Some(days * 86_400 + minutes * 60 + i64::from(second))
    }

    /// Returns the time of a count of seconds since 1970.
    pub(crate) fn of_seconds(seconds: u64) -> Option<Self> {
        let time = UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds))?;
        let part = |size: u64, modulus: u64| u8::try_from(seconds / size % modulus).ok();
        let clock = Clock::new(part(3_600, 24)?, part(60, 60)?, part(1, 60)?, 0);
        Some(Self { date: Date::of(time)?, clock })
    }
}

/// RFC 3339: `2026-03-01`, or with its time `2026-03-01T09:30:00+01:00`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.date)?;
        let Some(Clock { hour, minute, second, offset }) = self.clock else { return Ok(()) };
        write!(f, "T{hour:02}:{minute:02}:{second:02}")?;
        if offset == 0 {
            return f.write_str("Z");
        }
        let sign = if offset < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_that_the_calendar_lacks_are_no_dates() {
        for (year, month, day) in [
            (1989, 12, 31),
            (2101, 1, 1),
            (2023, 2, 29),
            (2100, 2, 29),
            (2024, 13, 1),
            (2024, 4, 31),
            (2024, 0, 1),
            (2024, 1, 0),
        ] {
            assert_eq!(Date::new(year, month, day), None, "{year}-{month}-{day}");
        }
        assert_eq!(Date::new(2024, 2, 29).unwrap().to_string(), "2024-02-29");
        assert!(Date::new(2000, 2, 29).is_some());
    }

    #[test]
    fn counting_days_since_1970_and_counting_them_one_by_one_agree() {
        let mut date = Date::new(1990, 1, 1).unwrap();
        for day in 7_305..47_000u64 {
            let time = UNIX_EPOCH + Duration::from_secs(day * 86_400 + 86_399);
            assert_eq!(Date::of(time), Some(date));
            assert_eq!(Date::of_text(&format!("{date}T00:00:00Z")), Some(date));
            date = date.next();
        }
        assert_eq!(Date::of(UNIX_EPOCH), None);
        assert_eq!(["", "2026-03", "2026-3-100", "äää-03-01T"].map(Date::of_text), [None; 4]);
    }

    #[test]
    fn moments_are_compared_as_instants_if_both_have_a_time() {
        let moment = |month, day, hour, offset| Moment {
            date: Date::new(2026, month, day).unwrap(),
            clock: Clock::new(hour, 0, 0, offset),
        };
        let published = moment(2, 2, 0, 0);
        assert!(!moment(2, 1, 23, -120).is_before(&published));
        assert!(moment(2, 1, 21, -120).is_before(&published));
        assert!(moment(2, 2, 23, 0).is_before(&moment(2, 2, 23, -480)));
        assert!(moment(2, 28, 23, 0).is_before(&moment(3, 1, 0, 0)));
        let day = |day| Moment { clock: None, ..moment(2, day, 0, 0) };
        assert!(!day(2).is_before(&moment(2, 2, 23, -480)) && day(1).is_before(&published));
        for days in 7_305..40_000u64 {
            let at = |seconds| Moment::of_seconds(days * 86_400 + seconds).unwrap();
            assert_eq!(at(86_399).seconds().unwrap() + 1, at(86_400).seconds().unwrap());
        }
    }

    #[test]
    fn a_moment_is_written_as_rfc_3339_demands() {
        let moment = |offset| Moment {
            date: Date::new(2026, 3, 1).unwrap(),
            clock: Clock::new(9, 5, 60, offset),
        };
        assert_eq!(moment(0).to_string(), "2026-03-01T09:05:59Z");
        assert_eq!(moment(-210).to_string(), "2026-03-01T09:05:59-03:30");
        assert_eq!(moment(900).to_string(), "2026-03-01");
        let stamp = Moment::of_seconds(1_400_000_000).unwrap();
        assert_eq!(stamp.to_string(), "2014-05-13T16:53:20Z");
    }
}

//! Finds a date in a text: a declared value such as `2026-03-01T09:30Z`, or a visible line.

use super::date::{Clock, Date, Moment};
use super::limits::MAX_DATE_TEXT;
use super::months::month;
use crate::lang::is_cjk;

/// Maximum number of tokens of a text that are read.
const MAX_TOKENS: usize = 96;

/// Which number comes first in a date such as 3/4/2026.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    DayFirst,
    MonthFirst,
}

impl Order {
    /// Returns the order that readers of a page expect. Of English, only the United States writes the month first: the
    /// region of the declared language decides, then the country of the host.
    pub(crate) fn of(language: &str, declared: Option<&str>, host: &str) -> Self {
        let region = declared.and_then(|tag| tag.split_once(['-', '_'])).map(|(_, region)| region);
        let region = region.map(str::to_ascii_lowercase);
        match (language, region.as_deref()) {
            ("en", Some("us")) => Self::MonthFirst,
            ("en", Some("gb" | "uk" | "au" | "nz" | "ie" | "in" | "za")) => Self::DayFirst,
            ("en", _) => {
                let country = host.rsplit('.').next().unwrap_or_default();
                // Other countries' domains are used for their sound too: .io, .co, .tv.
                let day = matches!(
                    country,
                    "uk" | "au"
                        | "nz"
                        | "ie"
                        | "in"
                        | "za"
                        | "sg"
                        | "hk"
                        | "my"
                        | "eu"
                        | "de"
                        | "fr"
                );
                if day { Self::DayFirst } else { Self::MonthFirst }
            }
            _ => Self::DayFirst,
        }
    }
}

/// Returns the date of a declared value. Besides dates it may be a count of seconds or milliseconds since 1970.
///
/// # Complexity
/// Linear in the value, up to [`MAX_DATE_TEXT`].
pub(crate) fn declared(value: &str, order: Order) -> Option<Moment> {
    let value = value.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: u64 = value.parse().ok()?;
        match value.len() {
            10 => return Moment::of_seconds(number),
            13 => return Moment::of_seconds(number / 1000),
            8 | 12 | 14 => return compact(number, value.len()),
            _ => return None,
        }
    }
    basic(value).or_else(|| first(value, order, true))
}

/// `20260301T093000Z`, the basic format of ISO 8601.
fn basic(value: &str) -> Option<Moment> {
    let (day, time) = value.split_once(['T', 't'])?;
    let end = time.find(|c: char| !c.is_ascii_digit()).unwrap_or(time.len());
    let (clock, zone) = time.split_at_checked(end)?;
    let all_digits = day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits || !matches!(clock.len(), 4 | 6) {
        return None;
    }
    let part = |text: &str, at: usize| text.get(at..at + 2).unwrap_or("00").to_owned();
    let date = format!("{}-{}-{}", day.get(..4)?, part(day, 4), part(day, 6));
    let clock = format!("{}:{}:{}", part(clock, 0), part(clock, 2), part(clock, 4));
    first(&format!("{date}T{clock}{zone}"), Order::DayFirst, true)
}

/// Returns the first date of a visible text.
///
/// # Complexity
/// Linear in the text, up to [`MAX_DATE_TEXT`].
pub(crate) fn visible(text: &str, order: Order) -> Option<Moment> {
    first(text, order, false)
}

fn first(text: &str, order: Order, declared: bool) -> Option<Moment> {
    let tokens = tokens(text);
    // Most texts have no number, and so no date.
    if !tokens.iter().any(|token| matches!(token.kind, Kind::Number(..))) {
        return None;
    }
    (0..tokens.len()).find_map(|at| {
        let rest = tokens.get(at..)?;
        // A number that continues another: 1.2012-03-04.
        let joined = at.checked_sub(1).and_then(|before| tokens.get(before));
        if joined.is_some_and(|t| matches!(t.kind, Kind::Mark('.' | '/' | '-' | ':')))
            && !rest.first()?.spaced
        {
            return None;
        }
        let (date, length) = date(rest, order, declared)?;
        let clock = tokens.get(at + length..).and_then(clock);
        Some(Moment { date, clock })
    })
}

#[derive(Debug)]
struct Token {
    kind: Kind,
    /// White space precedes it.
    spaced: bool,
}

#[derive(Debug)]
enum Kind {
    /// Value and number of digits.
    Number(u64, usize),
    /// In lower case; each ideograph is a word.
    Word(String),
    Mark(char),
}

impl Token {
    fn number(&self, digits: std::ops::RangeInclusive<usize>) -> Option<u64> {
        match self.kind {
            Kind::Number(value, length) if digits.contains(&length) => Some(value),
            _ => None,
        }
    }

    fn is_mark(&self, marks: &[char]) -> bool {
        matches!(self.kind, Kind::Mark(mark) if marks.contains(&mark))
    }

    fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }

    fn is_word(&self, words: &[&str]) -> bool {
        self.word().is_some_and(|word| words.contains(&word))
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let text = text.get(..text.floor_char_boundary(MAX_DATE_TEXT)).unwrap_or_default();
    let mut tokens: Vec<Token> = Vec::new();
    let mut spaced = false;
    for c in text.chars() {
        let previous = tokens.last_mut().filter(|_| !spaced).map(|token| &mut token.kind);
        match (previous, c) {
            (_, c) if c.is_whitespace() => {
                spaced = true;
                continue;
            }
            (Some(Kind::Number(value, length)), c) if c.is_ascii_digit() => {
                *value = value.saturating_mul(10).saturating_add(digit(c));
                *length += 1;
            }
            (Some(Kind::Word(word)), c)
                if c.is_alphabetic() && !is_cjk(c) && !word.ends_with(is_cjk) =>
            {
                word.extend(c.to_lowercase());
            }
            (_, c) => {
                if tokens.len() >= MAX_TOKENS {
                    break;
                }
                let kind = match c {
                    '0'..='9' => Kind::Number(digit(c), 1),
                    c if c.is_alphabetic() => Kind::Word(c.to_lowercase().collect()),
                    '\u{2010}'..='\u{2015}' | '\u{2212}' => Kind::Mark('-'),
                    c => Kind::Mark(c),
                };
                tokens.push(Token { kind, spaced });
            }
        }
        spaced = false;
    }
    tokens
}

fn digit(c: char) -> u64 {
    u64::from(c.to_digit(10).unwrap_or(0))
}

/// Returns the date at the beginning of the tokens, and its number of tokens.
fn date(tokens: &[Token], order: Order, declared: bool) -> Option<(Date, usize)> {
    year_first(tokens)
        .or_else(|| numbers(tokens, order, declared))
        .or_else(|| day_and_name(tokens))
        .or_else(|| name_and_day(tokens))
        .or_else(|| {
            let all = tokens.first()?.number(8..=8).filter(|_| declared)?;
            Some((compact(all, 8)?.date, 1))
        })
}

fn small(value: u64) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

fn civil(year: u64, month: u64, day: u64) -> Option<Date> {
    Date::new(i32::try_from(year).ok()?, small(month), small(day))
}

/// `20260301`, with hour and minute, with seconds; these without an offset.
fn compact(number: u64, digits: usize) -> Option<Moment> {
    let day = number / 10u64.pow(u32::try_from(digits.checked_sub(8)?).ok()?);
    Some(Moment { date: civil(day / 10_000, day / 100 % 100, day % 100)?, clock: None })
}

/// `2026-03-01`, `2026/3/1`, `2026年3月1日`, `2026. 3. 1.`, `2026. március 1.`
fn year_first(tokens: &[Token]) -> Option<(Date, usize)> {
    let [year, first, rest @ ..] = tokens else { return None };
    let year = year.number(4..=4)?;
    if let Some(month) = first.word().and_then(month) {
        let day = rest.first()?.number(1..=2)?;
        return Some((civil(year, month.into(), day)?, 3));
    }
    if first.is_mark(&['.'])
        && let Some(month) = rest.first().and_then(Token::word).and_then(month)
    {
        let day = rest.get(1)?.number(1..=2)?;
        return Some((civil(year, month.into(), day)?, 4));
    }
    let [month, second, day, ..] = rest else { return None };
    let alike = match (&first.kind, &second.kind) {
        (Kind::Mark(a), Kind::Mark(b)) => a == b && matches!(a, '-' | '/' | '.'),
        (Kind::Word(a), Kind::Word(b)) => {
            matches!((&**a, &**b), ("年", "月") | ("년", "월"))
        }
        _ => false,
    };
    let found = civil(year, month.number(1..=2)?, day.number(1..=2)?).filter(|_| alike)?;
    let ends = tokens.get(5).is_some_and(|token| token.is_word(&["日", "일"]));
    Some((found, 5 + usize::from(ends)))
}

/// `1/3/2026`, `1.3.2026`, `3-1-26`.
fn numbers(tokens: &[Token], order: Order, declared: bool) -> Option<(Date, usize)> {
    let [first, mark, second, again, year, ..] = tokens else { return None };
    let (first, second) = (first.number(1..=2)?, second.number(1..=2)?);
    let alike = match (&mark.kind, &again.kind) {
        (Kind::Mark(a), Kind::Mark(b)) => a == b && matches!(a, '-' | '/' | '.'),
        _ => false,
    };
    if !alike {
        return None;
    }
    let year = match year.number(4..=4) {
        Some(year) => year,
        // Two digits in a visible line may be a version.
        None => {
            let short = year.number(2..=2).filter(|_| declared || mark.is_mark(&['/']))?;
            short_year(short)
        }
    };
    let month_first = order == Order::MonthFirst && !mark.is_mark(&['.']);
    let (day, month) = if month_first { (second, first) } else { (first, second) };
    let found = civil(year, month, day).or_else(|| civil(year, day, month))?;
    Some((found, 5))
}

/// `1 March 2026`, `1. März 2026`, `1er mars 2026`, `1 de marzo de 2026`, `01-Mar-2026`.
fn day_and_name(tokens: &[Token]) -> Option<(Date, usize)> {
    let day = tokens.first()?.number(1..=2)?;
    let ending = ["st", "nd", "rd", "th", "er", "º", "ª", "o", "de", "of", "the"];
    let mut at = 1 + skipped(tokens.get(1..)?, &['.', ',', '-', '/', '\'', 'º'], &ending);
    let month = month(tokens.get(at)?.word()?)?;
    at += 1;
    at += skipped(tokens.get(at..)?, &['.', ',', '-', '/', '\'', '’'], &["de", "of", "del", "г"]);
    let year = year(tokens, at)?;
    Some((civil(year, month.into(), day)?, at + 1))
}

/// `March 1, 2026`, `Mar. 1st 2026`.
fn name_and_day(tokens: &[Token]) -> Option<(Date, usize)> {
    let month = month(tokens.first()?.word()?)?;
    let mut at = 1 + skipped(tokens.get(1..)?, &['.', '-', '/'], &["the"]);
    let day = tokens.get(at)?.number(1..=2)?;
    at += 1;
    at += skipped(
        tokens.get(at..)?,
        &['.', ',', '-', '/', '\'', '’'],
        &["st", "nd", "rd", "th", "of"],
    );
    let year = year(tokens, at)?;
    Some((civil(year, month.into(), day)?, at + 1))
}

/// Returns the year at this token: four digits, or two after an apostrophe.
fn year(tokens: &[Token], at: usize) -> Option<u64> {
    let token = tokens.get(at)?;
    let apostrophe = || tokens.get(at.checked_sub(1)?).filter(|token| token.is_mark(&APOSTROPHES));
    token.number(4..=4).or_else(|| Some(short_year(apostrophe().and(token.number(2..=2))?)))
}

const APOSTROPHES: [char; 2] = ['\'', '’'];

const fn short_year(year: u64) -> u64 {
    year + if year < 70 { 2000 } else { 1900 }
}

/// Maximum number of marks and words between two parts of a date.
const MAX_BETWEEN: usize = 3;

/// Returns how many tokens are such marks or words.
fn skipped(tokens: &[Token], marks: &[char], words: &[&str]) -> usize {
    tokens.iter().take(MAX_BETWEEN).take_while(|t| t.is_mark(marks) || t.is_word(words)).count()
}

/// Returns the time that follows a date, if its offset from UTC is there too: without it, it is not a time.
fn clock(tokens: &[Token]) -> Option<Clock> {
    let start = skipped(tokens, &[',', '-', '|', '•', '·'], &["t", "at", "um", "à", "kl"]);
    let [hour, colon, minute, rest @ ..] = tokens.get(start..)? else { return None };
    let (mut hour, minute) = (small(hour.number(1..=2)?), small(minute.number(2..=2)?));
    if !colon.is_mark(&[':']) {
        return None;
    }
    let (mut second, mut rest) = (0, rest);
    if let [colon, seconds, after @ ..] = rest
        && colon.is_mark(&[':'])
    {
        (second, rest) = (small(seconds.number(2..=2)?), after);
        if let [point, fraction, after @ ..] = rest
            && point.is_mark(&['.', ','])
            && fraction.number(1..=12).is_some()
            && !fraction.spaced
        {
            rest = after;
        }
    }
    let half = rest.first().and_then(Token::word).filter(|word| matches!(*word, "am" | "pm"));
    if let Some(half) = half {
        hour = if half == "pm" { hour % 12 + 12 } else { hour % 12 };
        rest = rest.get(1..)?;
    }
    Clock::new(hour, minute, second, offset(rest)?)
}

/// Abbreviations of time zones that mean one offset, in minutes.
const ZONES: [(&str, i32); 16] = [
    ("z", 0),
    ("gmt", 0),
    ("utc", 0),
    ("edt", -240),
    ("est", -300),
    ("cdt", -300),
    ("mdt", -360),
    ("mst", -420),
    ("pdt", -420),
    ("pst", -480),
    ("cet", 60),
    ("cest", 120),
    ("eet", 120),
    ("eest", 180),
    ("msk", 180),
    ("jst", 540),
];

fn offset(tokens: &[Token]) -> Option<i32> {
    let zone = tokens.first().and_then(Token::word);
    let zone = zone.and_then(|zone| ZONES.iter().find(|(name, _)| *name == zone));
    // GMT+0200
    let signed = tokens.get(usize::from(zone.is_some())..).and_then(numeric_offset);
    signed.or_else(|| zone.map(|(_, offset)| *offset))
}

fn numeric_offset(tokens: &[Token]) -> Option<i32> {
    let [sign, hours, rest @ ..] = tokens else { return None };
    if hours.spaced {
        return None;
    }
    let factor = match sign.kind {
        Kind::Mark('+') => 1,
        Kind::Mark('-') => -1,
        _ => return None,
    };
    let minutes = match hours.number(4..=4) {
        Some(both) => both / 100 * 60 + both % 100,
        None => {
            let more = match rest {
                [colon, minutes, ..] if colon.is_mark(&[':']) => minutes.number(2..=2)?,
                _ => 0,
            };
            hours.number(1..=2)? * 60 + more
        }
    };
    Some(factor * i32::try_from(minutes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str, order: Order) -> String {
        declared(value, order).map(|moment| moment.to_string()).unwrap_or_default()
    }

    #[test]
    fn declared_dates_are_read_in_every_common_form() {
        for (value, expected) in [
            ("2026-03-01", "2026-03-01"),
            ("2026-03-01T09:30:05Z", "2026-03-01T09:30:05Z"),
            ("2026-03-01T09:30:05.123+01:00", "2026-03-01T09:30:05+01:00"),
            ("2026-03-01 09:30:05 -0430", "2026-03-01T09:30:05-04:30"),
            ("2026-03-01T09:30+02", "2026-03-01T09:30:00+02:00"),
            // A time without an offset is not a time.
            ("2026-03-01T09:30:05", "2026-03-01"),
            ("20260301", "2026-03-01"),
            ("20260301T093000Z", "2026-03-01T09:30:00Z"),
            ("20260301T0930+0100", "2026-03-01T09:30:00+01:00"),
            ("20260301T0930", "2026-03-01"),
            ("20260301093000", "2026-03-01"),
            ("1772357400", "2026-03-01T09:30:00Z"),
            ("1772357400000", "2026-03-01T09:30:00Z"),
            ("Sun, 01 Mar 2026 09:30:00 GMT", "2026-03-01T09:30:00Z"),
            ("Mar 1, 2026 9:30 PM EST", "2026-03-01T21:30:00-05:00"),
            ("Mar 1, 2026 12:05 am GMT+0200", "2026-03-01T00:05:00+02:00"),
            ("1er mars 2026", "2026-03-01"),
            ("1. März 2026", "2026-03-01"),
            ("1 de marzo de 2026", "2026-03-01"),
            ("1 марта 2026 г.", "2026-03-01"),
            ("01-Mar-2026", "2026-03-01"),
            ("2026年3月1日", "2026-03-01"),
            ("2026년 3월 1일", "2026-03-01"),
            ("2026. 3. 1.", "2026-03-01"),
            ("2026. március 1.", "2026-03-01"),
            ("13/3/2026", "2026-03-13"),
            ("3/13/2026", "2026-03-13"),
            ("13.3.26", "2026-03-13"),
            ("Mar 1 '26", "2026-03-01"),
            ("1 March ’26", "2026-03-01"),
        ] {
            assert_eq!(read(value, Order::DayFirst), expected, "{value}");
        }
    }

    #[test]
    fn values_without_a_day_are_no_dates() {
        for value in [
            "",
            "2026",
            "2026-03",
            "March 2026",
            "12:30",
            "1.2.3.4",
            "2026-02-30",
            "1776",
            "0000-00-00T00:00:00Z",
            "99999999999999999999999",
            "192.168.1.20",
            "v1.2012-03-04",
        ] {
            assert_eq!(read(value, Order::DayFirst), "", "{value}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_that_of_the_page() {
        assert_eq!(read("3/4/2026", Order::DayFirst), "2026-04-03");
        assert_eq!(read("3/4/2026", Order::MonthFirst), "2026-03-04");
        // No language writes the month first with full stops.
        assert_eq!(read("3.4.2026", Order::MonthFirst), "2026-04-03");
        for (language, declared, host, expected) in [
            ("en", None, "a.com", Order::MonthFirst),
            ("en", Some("en-GB"), "a.com", Order::DayFirst),
            ("en", Some("en_US"), "a.co.uk", Order::MonthFirst),
            ("en", Some("en"), "a.co.uk", Order::DayFirst),
            ("fr", Some("en-US"), "a.com", Order::DayFirst),
        ] {
            assert_eq!(
                Order::of(language, declared, host),
                expected,
                "{language} {declared:?} {host}"
            );
        }
    }

    #[test]
    fn a_date_is_found_within_a_line_and_long_lines_are_cut() {
        let found = |text: &str| visible(text, Order::MonthFirst).map(|m| m.to_string());
        assert_eq!(
            found("By Ada Moss | Posted on March 1, 2026 at noon").as_deref(),
            Some("2026-03-01")
        );
        assert_eq!(found("发布时间：2026-03-01 10:20 来源").as_deref(), Some("2026-03-01"));
        assert_eq!(found("version 1.2.12"), None);
        let late = format!("{}2026-03-01", "word ".repeat(MAX_DATE_TEXT / 5));
        assert_eq!(found(&late), None);
        assert_eq!(found(&format!("{}2026-03-01", ". ".repeat(MAX_TOKENS))), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_a_problem(text in "[0-9a-zA-ZäТ年月日:/.,+ -]{0,60}") {
            declared(&text, Order::MonthFirst);
            visible(&text, Order::DayFirst);
        }
    }
}

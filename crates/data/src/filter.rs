//! Filters of the log's rows, and the parsers of their arguments.

use crate::cause::WantedCause;
use crate::error::{Error, Result};
use crate::kind::DuplicateKind;
use crate::rows::{Row, Rows};

/// A filter of rows; every field that is set must match.
#[derive(Clone, Debug)]
pub struct RowFilter {
    /// Hosts, by their numbers in the log ([`Rows::host_numbers`]).
    pub host: Option<Vec<u32>>,
    /// The kind.
    pub kind: Option<DuplicateKind>,
    /// Smallest and largest Hamming distance.
    pub distance: Option<(u8, u8)>,
    /// Seconds since 1970: the first one included, the last one excluded.
    pub similarity: Option<(u16, u16)>,
    /// From this second since 1970 on, and before that one.
    pub time: (u64, u64),
    /// The language code.
    pub language: Option<[u8; 2]>,
    /// Text in lower case that URL or title must contain.
    pub text: Option<String>,
    /// A cause of the address.
    pub cause: Option<WantedCause>,
    /// Only restored rows.
    pub restored: bool,
}

impl RowFilter {
    /// Returns whether a row matches.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn wants(&self, rows: &Rows, row: &Row) -> Result<bool> {
        let plain = self.host.as_ref().is_none_or(|hosts| hosts.contains(&row.host))
            && self.kind.is_none_or(|kind| kind == row.kind)
            && self.distance.is_none_or(|(low, high)| (low..=high).contains(&row.distance))
            && self.similarity.is_none_or(|(low, high)| (low..=high).contains(&row.similarity))
            && (self.time.0..self.time.1).contains(&row.time)
            && self.language.is_none_or(|language| language == row.language)
            && (!self.restored || rows.decisions.restored(row.id).is_some());
        if !plain {
            return Ok(false);
        }
        if let Some(cause) = &self.cause
            && !rows.has_cause(row, cause)?
        {
            return Ok(false);
        }
        let Some(text) = &self.text else { return Ok(true) };
        if !rows.may_contain(row, text)? {
            return Ok(false);
        }
        let entry = rows.entry(row)?;
        Ok(entry.url.to_lowercase().contains(text)
            || entry.title.to_lowercase().contains(text)
            || entry.of.url.to_lowercase().contains(text))
    }
}

/// Parses a similarity or a range of them, as thousandths. Rows are shown with two decimals, so an argument with at
/// most two decimals matches all rows that are shown like it.
///
/// # Errors
/// [`Error::Invalid`].
pub fn parse_similarities(text: &str) -> Result<(u16, u16)> {
    let (low, high) = range::<f64>("similarity", text, |v| v)?;
    let thousandths = |value: f64| (value * 1000.0).round().clamp(0.0, 1000.0) as u16;
    let ends = text.split_once("..").unwrap_or((text, text));
    let exact = |end: &str| end.trim().split_once('.').is_some_and(|(_, digits)| digits.len() > 2);
    // Rounded by the same code as the output.
    let shown = |row: u16| format!("{:.2}", f64::from(row) / 1000.0).parse().unwrap_or(0.0);
    let rows =
        |is_in: &dyn Fn(f64) -> bool| (0..=1000u16).filter(|row| is_in(shown(*row))).collect();
    let from = |rows: Vec<u16>| rows.first().copied().unwrap_or(u16::MAX - 1);
    let to = |rows: Vec<u16>| rows.last().copied().unwrap_or(0);
    Ok((
        if exact(ends.0) { thousandths(low) } else { from(rows(&|shown: f64| shown >= low)) },
        if exact(ends.1) { thousandths(high) } else { to(rows(&|shown: f64| shown <= high)) },
    ))
}

/// Parses a distance or a range of them: `3`, or `2..5`, both ends included.
///
/// # Errors
/// [`Error::Invalid`].
pub fn parse_distances(text: &str) -> Result<(u8, u8)> {
    range("distance", text, |distance| distance)
}

fn range<T: std::str::FromStr + Copy + PartialOrd>(
    name: &str,
    text: &str,
    read: impl Fn(T) -> T,
) -> Result<(T, T)> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    match (low.trim().parse().map(&read), high.trim().parse().map(&read)) {
        (Ok(low), Ok(high)) if low <= high => Ok((low, high)),
        _ => {
            let like = if name == "similarity" { "0.97, or 0.5..0.7" } else { "3, or 2..5" };
            Err(Error::Invalid(format!("{name} {text}: invalid value. Write it like {like}")))
        }
    }
}

/// Parses a day or a time (RFC 3339), as seconds since 1970.
///
/// # Errors
/// [`Error::Invalid`].
pub fn parse_moment(text: &str) -> Result<u64> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let time = hapax_warc::parse_time(&whole);
    let seconds = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    seconds.map(|since| since.as_secs()).ok_or_else(|| {
        Error::Invalid(format!(
            "{text:?} is not a time. Write it like 2026-11-20 or 2026-11-20T19:00:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_means_the_rows_that_are_shown_so() {
        let matches = |text: &str, row: u16| {
            let (low, high) = parse_similarities(text).unwrap();
            (low..=high).contains(&row)
        };
        for row in 0..=1000 {
            let shown = format!("{:.2}", f64::from(row) / 1000.0);
            assert!(matches(&shown, row), "{row} is shown as {shown}");
            for other in ["0.00", "0.50", "0.96", "0.97", "0.98", "1.00"] {
                assert_eq!(matches(other, row), shown == other, "{other} and {row}");
            }
            assert_eq!(matches("0.974", row), row == 974);
            let is_in = shown.as_str() >= "0.50" && row <= 974;
            assert_eq!(matches("0.5..0.974", row), is_in);
        }
        assert!(matches("1", 1000) && !matches("1", 994) && !matches("2", 1000));
        assert!(parse_similarities("0.7..0.5").is_err());
    }

    #[test]
    fn ranges_and_times_are_read_or_refused() {
        assert_eq!(range::<u8>("distance", "2..5", |v| v).unwrap(), (2, 5));
        assert_eq!(range::<u8>("distance", "3", |v| v).unwrap(), (3, 3));
        for wrong in ["5..2", "x", "..", "1..", "-1"] {
            assert!(range::<u8>("distance", wrong, |v| v).is_err(), "{wrong}");
        }
        assert_eq!(parse_moment("1970-01-02").unwrap(), 86_400);
        assert!(parse_moment("yesterday").is_err());
    }
}

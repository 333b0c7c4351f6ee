//! Filters and sort order of rows.

use std::cmp::Ordering;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::exit::{USAGE, coded};
use crate::spelling::did_you_mean;
use hapax_data::{DuplicateKind, Row, Rows};

/// Which rows are wanted.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Only this host
    #[arg(long, help_heading = "Filter")]
    pub(crate) host: Option<String>,
    /// Only this kind: exact, near, canonical, alias
    #[arg(long, help_heading = "Filter")]
    pub(crate) kind: Option<String>,
    /// Only this distance, or a range such as 2..3
    #[arg(long, value_name = "K", help_heading = "Filter")]
    pub(crate) distance: Option<String>,
    /// Only this similarity, or a range such as 0.5..0.7, rounded as the list shows it; with three decimals exactly
    #[arg(long, value_name = "S", help_heading = "Filter")]
    pub(crate) similarity: Option<String>,
    /// Only from this time on, such as 2026-11-20 or 2026-11-20T19:00:00Z
    #[arg(long, value_name = "TIME", help_heading = "Filter")]
    pub(crate) since: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME", help_heading = "Filter")]
    pub(crate) until: Option<String>,
    /// Only this language, such as zh
    #[arg(long, value_name = "CODE", help_heading = "Filter")]
    pub(crate) language: Option<String>,
    /// Only rows with this text in URL or title
    #[arg(long = "match", value_name = "TEXT", help_heading = "Filter")]
    pub(crate) text: Option<String>,
    /// Only what was restored
    #[arg(long, help_heading = "Filter")]
    pub(crate) restored: bool,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// As they were discarded
    #[default]
    Time,
    /// By Hamming distance
    Distance,
    /// By similarity, the least alike first
    Similarity,
    /// By host
    Host,
    /// By size
    Bytes,
    /// By the page that was kept
    Of,
}

impl Order {
    /// How two rows follow on each other.
    pub(crate) fn compare(self, rows: &Rows, a: &Row, b: &Row) -> Ordering {
        self.compare_across((rows, a), (rows, b)).then(a.offset.cmp(&b.offset))
    }

    /// How two rows of two logs follow on each other.
    pub(crate) fn compare_across(
        self,
        (a_rows, a): (&Rows, &Row),
        (b_rows, b): (&Rows, &Row),
    ) -> Ordering {
        match self {
            // In one log, they lie in this order.
            Self::Time => a.time.cmp(&b.time),
            Self::Distance => a.distance.cmp(&b.distance),
            Self::Similarity => a.similarity.cmp(&b.similarity),
            Self::Host => a_rows.host(a).cmp(b_rows.host(b)),
            Self::Bytes => a.bytes.cmp(&b.bytes),
            Self::Of => a.of.cmp(&b.of),
        }
    }
}

/// A filter whose words were read.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    host: Option<Vec<u32>>,
    kind: Option<DuplicateKind>,
    distance: Option<(u8, u8)>,
    similarity: Option<(u16, u16)>,
    time: (u64, u64),
    language: Option<[u8; 2]>,
    text: Option<String>,
    restored: bool,
}

impl Filter {
    /// Reads the filter's words.
    pub(crate) fn test(&self, rows: &Rows) -> Result<Test> {
        let kind = self.kind.as_ref().map(|kind| {
            DuplicateKind::parse(kind).ok_or_else(|| {
                let names = DuplicateKind::ALL.map(DuplicateKind::as_str);
                let guess = did_you_mean(kind, names.into_iter());
                coded(USAGE, format!("--kind {kind}: there are {}{guess}", names.join(", ")))
            })
        });
        let distance = self.distance.as_deref().map(|text| range::<u8>("distance", text, |v| v));
        let similarity = self.similarity.as_deref().map(similarities);
        let time = |name: &str, text: &Option<String>, open: u64| match text {
            Some(text) => {
                parse_time(text).map_err(|error| coded(USAGE, format!("--{name}: {error}")))
            }
            None => Ok(open),
        };
        let language = self.language.as_ref().map(|language| {
            <[u8; 2]>::try_from(language.as_bytes()).map_err(|_| {
                coded(USAGE, format!("--language {language}: two letters, such as en or zh"))
            })
        });
        Ok(Test {
            host: self.host.as_deref().map(|host| rows.host_numbers(host)),
            kind: kind.transpose()?,
            distance: distance.transpose()?,
            similarity: similarity.transpose()?,
            time: (time("since", &self.since, 0)?, time("until", &self.until, u64::MAX)?),
            language: language.transpose()?,
            text: self
                .text
                .as_ref()
                .filter(|text| !text.is_empty())
                .map(|text| text.to_lowercase()),
            restored: self.restored,
        })
    }
}

impl Test {
    /// Whether a row is wanted.
    pub(crate) fn wants(&self, rows: &Rows, row: &Row) -> Result<bool> {
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
        let Some(text) = &self.text else { return Ok(true) };
        let entry = rows.entry(row)?;
        Ok(entry.url.to_lowercase().contains(text)
            || entry.title.to_lowercase().contains(text)
            || entry.of.url.to_lowercase().contains(text))
    }
}

/// The thousandths that are meant. A row is shown with two decimals: who names no more means all rows that
/// are shown so.
fn similarities(text: &str) -> Result<(u16, u16)> {
    let (low, high) = range::<f64>("similarity", text, |v| v)?;
    let thousandths = |value: f64| (value * 1000.0).round().clamp(0.0, 1000.0) as u16;
    let ends = text.split_once("..").unwrap_or((text, text));
    let exact = |end: &str| end.trim().split_once('.').is_some_and(|(_, digits)| digits.len() > 2);
    // Rounded by the same code as what is shown.
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

/// `3`, or `2..5`, both ends included.
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
            Err(coded(USAGE, format!("--{name} {text}: write it like {like}")))
        }
    }
}

/// A day or a moment, in seconds since 1970.
fn parse_time(text: &str) -> Result<u64> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let time = hapax_warc::parse_time(&whole);
    let seconds = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    seconds.map(|since| since.as_secs()).ok_or_else(|| {
        coded(
            USAGE,
            format!("{text:?} is no time: write it like 2026-11-20 or 2026-11-20T19:00:00Z"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similarity_means_the_rows_that_are_shown_so() {
        let matches = |text: &str, row: u16| {
            let (low, high) = similarities(text).unwrap();
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
        assert!(similarities("0.7..0.5").is_err());
    }

    #[test]
    fn ranges_and_times_are_read_or_refused() {
        assert_eq!(range::<u8>("distance", "2..5", |v| v).unwrap(), (2, 5));
        assert_eq!(range::<u8>("distance", "3", |v| v).unwrap(), (3, 3));
        for wrong in ["5..2", "x", "..", "1..", "-1"] {
            assert!(range::<u8>("distance", wrong, |v| v).is_err(), "{wrong}");
        }
        assert_eq!(parse_time("1970-01-02").unwrap(), 86_400);
        assert!(parse_time("yesterday").is_err());
    }
}

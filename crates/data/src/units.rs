//! Durations, sizes and limits with units, as users write them in flags and settings files.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Why a text is not a duration or size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// The longest duration: added to a clock, it must not overflow.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// Removes a limit that an earlier run, the environment or a file has set.
pub const NONE: &str = "none";

/// A duration as written, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    text: String,
    value: Duration,
}

/// A number of bytes as written, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    text: String,
    value: u64,
}

/// A limit, or [`NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<T>(pub Option<T>);

impl Time {
    /// The duration.
    pub const fn duration(&self) -> Duration {
        self.value
    }
}

impl Size {
    /// The number of bytes.
    pub const fn bytes(&self) -> u64 {
        self.value
    }
}

impl FromStr for Time {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Ok(Self { value: parse_duration(text)?, text: text.to_owned() })
    }
}

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Ok(Self { value: parse_size(text)?, text: text.to_owned() })
    }
}

/// The value of a limit: a number, a size or a time.
pub trait Limited: FromStr + Serialize {
    /// The expected form of its text.
    const WRITTEN: &'static str;

    /// Returns the error for a text that cannot be parsed.
    fn wrong(error: Self::Err) -> String;
}

impl Limited for u64 {
    const WRITTEN: &'static str = "a whole number";

    fn wrong(_: std::num::ParseIntError) -> String {
        format!("not a whole number below 2^64 or `{NONE}`")
    }
}

impl Limited for Size {
    const WRITTEN: &'static str = "a size";

    fn wrong(error: UnitError) -> String {
        error.to_string()
    }
}

impl Limited for Time {
    const WRITTEN: &'static str = "a time";

    fn wrong(error: UnitError) -> String {
        error.to_string()
    }
}

impl<T: Limited> FromStr for Limit<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            NONE => Ok(Self(None)),
            text => text.parse().map(|limit| Self(Some(limit))).map_err(T::wrong),
        }
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses a number of concurrent requests.
///
/// # Errors
/// For 0 and for text that is not a whole number.
pub fn check_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {}", usize::MAX))
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<T: Limited> Serialize for Limit<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(limit) => limit.serialize(to),
            None => to.serialize_str(NONE),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl<'de, T: Limited> Deserialize<'de> for Limit<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LimitVisitor(PhantomData))
    }
}

struct LimitVisitor<T>(PhantomData<T>);

impl<T: Limited> Visitor<'_> for LimitVisitor<T> {
    type Value = Limit<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or \"{NONE}\"", T::WRITTEN)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Limit<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Limit<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Limit<T>, E> {
        text.parse().map_err(E::custom)
    }
}

/// Parses a duration: `500ms`, `1s`, `1.5s`, `2m`, `3h`, `1d`; `0` needs no unit.
///
/// # Errors
/// For other texts, and for more than a hundred years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong =
        || UnitError(format!("{text:?} is not a duration: write it like 500ms, 1s, 2m, 3h"));
    let (value, unit) = split_unit(text);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if value == "0" => 0.0,
        _ => return Err(wrong()),
    };
    let seconds = value.parse::<f64>().ok().map(|value| value * factor);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time.ok_or_else(wrong)? {
        time if time <= LONGEST => Ok(time),
        _ => Err(UnitError(format!("{text:?} is too long. The maximum is 100 years"))),
    }
}

/// Parses a size in bytes: `100`, `64KiB`, `1.5MiB`, `2GB`.
///
/// # Errors
/// For other texts.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError(format!("{text:?} is not a size: write it like 64MiB, 2GB"));
    let (value, unit) = split_unit(text);
    let factor: f64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024f64.powi(2),
        "gib" | "g" => 1024f64.powi(3),
        "tib" | "t" => 1024f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(wrong()),
    };
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.map(|value| (value * factor) as u64).ok_or_else(wrong)
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (value, unit) = text.split_at(at);
    (value.trim(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse_duration("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_duration("0").unwrap(), Duration::ZERO);
        assert_eq!(parse_duration("2h").unwrap(), Duration::from_secs(7200));
        assert!(parse_duration("9999999999999s").is_err() && parse_duration("36600d").is_ok());
        assert!(parse_duration("5").is_err() && parse_duration("-1s").is_err());
        assert_eq!(parse_size("64MiB").unwrap(), 64 << 20);
        assert_eq!(parse_size("2kB").unwrap(), 2000);
        assert!(parse_size("many").is_err());
    }

    #[test]
    fn a_limit_is_a_number_or_none_in_flags_and_files() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            pages: Limit<u64>,
        }
        for (text, pages) in [("pages = 7\n", Some(7)), ("pages = \"none\"\n", None)] {
            let file = File { pages: Limit(pages) };
            assert_eq!(toml::from_str::<File>(text).unwrap(), file);
            assert_eq!(toml::to_string(&file).unwrap(), text);
        }
        for wrong in ["pages = -1", "pages = 1.5", "pages = \"many\"", "pages = []"] {
            let error = toml::from_str::<File>(wrong).unwrap_err().to_string();
            assert!(error.contains("whole number"), "{error}");
        }
        assert_eq!(("0".parse(), "none".parse()), (Ok(Limit(Some(0u64))), Ok(Limit::<u64>(None))));
        assert!("-1".parse::<Limit<u64>>().is_err() && "None".parse::<Limit<u64>>().is_err());
        let size = |text: &str| text.parse::<Limit<Size>>();
        assert!(size("none").is_ok() && size("1k").is_ok() && size("nine").is_err());
        assert!("none".parse::<Limit<Time>>().is_ok() && "1 year".parse::<Limit<Time>>().is_err());
    }
}

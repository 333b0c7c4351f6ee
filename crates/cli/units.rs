//! Parses times and sizes.

use std::time::Duration;

use anyhow::Result;

use crate::exit::{USAGE, coded};

/// What is added to a clock must not overflow it.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// What takes back a limit that an earlier run, the environment or a file has set.
pub(crate) const NONE: &str = "none";

pub(crate) fn check_duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(crate) fn check_size(text: &str) -> Result<String, String> {
    parse_size(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// How many at a time.
pub(crate) fn check_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("{text:?} is no whole number from 1 to {}", usize::MAX))
}

/// As `check_duration`, or [`NONE`].
pub(crate) fn check_duration_limit(text: &str) -> Result<String, String> {
    if text == NONE { Ok(text.to_owned()) } else { check_duration(text) }
}

/// As `check_size`, or [`NONE`].
pub(crate) fn check_size_limit(text: &str) -> Result<String, String> {
    if text == NONE { Ok(text.to_owned()) } else { check_size(text) }
}

/// A number, or [`NONE`].
pub(crate) fn parse_limit(text: &str) -> Result<u64, String> {
    if text == NONE {
        return Ok(u64::MAX);
    }
    text.parse().map_err(|_| format!("it is neither a whole number below 2^64 nor `{NONE}`"))
}

/// How a file holds a limit: a number, or [`NONE`].
pub(crate) mod limit {
    use std::fmt;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    use super::{NONE, parse_limit};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(limit: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match limit {
            Some(number) if *number < u64::MAX => to.serialize_u64(*number),
            _ => to.serialize_str(NONE),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        from.deserialize_any(Limit).map(Some)
    }

    struct Limit;

    impl Visitor<'_> for Limit {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number or \"{NONE}\"")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            let wrong = serde::de::Unexpected::Signed(number);
            u64::try_from(number).map_err(|_| E::invalid_value(wrong, &self))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            parse_limit(text).map_err(E::custom)
        }
    }
}

/// `500ms`, `1s`, `1.5s`, `2m`, `3h`, `1d`; `0` needs no unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration> {
    let (value, unit) = split_unit(text);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if value == "0" => 0.0,
        _ => {
            return Err(coded(
                USAGE,
                format!("{text:?} is no time: write it like 500ms, 1s, 2m, 3h"),
            ));
        }
    };
    let seconds = value.parse::<f64>().ok().map(|value| value * factor);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        Some(time) if time <= LONGEST => Ok(time),
        Some(_) => Err(coded(USAGE, format!("{text:?} is longer than a hundred years"))),
        None => Err(coded(USAGE, format!("{text:?} is no time: write it like 500ms, 1s, 2m, 3h"))),
    }
}

/// `100`, `64KiB`, `1.5MiB`, `2GB`.
pub(crate) fn parse_size(text: &str) -> Result<u64> {
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
        _ => return Err(coded(USAGE, format!("{text:?} is no size: write it like 64MiB, 2GB"))),
    };
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value
        .map(|value| (value * factor) as u64)
        .ok_or_else(|| coded(USAGE, format!("{text:?} is no size: write it like 64MiB, 2GB")))
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
        #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        struct File {
            #[serde(with = "limit")]
            pages: Option<u64>,
        }
        for (text, pages) in [("pages = 7\n", 7), ("pages = \"none\"\n", u64::MAX)] {
            let file = File { pages: Some(pages) };
            assert_eq!(toml::from_str::<File>(text).unwrap(), file);
            assert_eq!(toml::to_string(&file).unwrap(), text);
        }
        for wrong in ["pages = -1", "pages = 1.5", "pages = \"many\"", "pages = []"] {
            let error = toml::from_str::<File>(wrong).unwrap_err().to_string();
            assert!(error.contains("whole number"), "{error}");
        }
        assert_eq!((parse_limit("0"), parse_limit("none")), (Ok(0), Ok(u64::MAX)));
        assert!(parse_limit("-1").is_err() && parse_limit("None").is_err());
        assert!(check_size_limit("none").is_ok() && check_size_limit("nine").is_err());
        assert!(check_duration_limit("none").is_ok() && check_duration_limit("1 year").is_err());
    }
}

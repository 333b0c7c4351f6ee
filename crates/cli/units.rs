//! Times and sizes as people write them.

use std::time::Duration;

use anyhow::Result;

use crate::exit::{USAGE, coded};

/// What is added to a clock must not overflow it.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

pub(crate) fn check_duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(crate) fn check_size(text: &str) -> Result<String, String> {
    parse_size(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
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
}

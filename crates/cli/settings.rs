//! The main job's settings: flag over environment over file over default.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use hapax_extract::Recipe;
use serde::{Deserialize, Serialize};

use crate::exit::{USAGE, coded};

/// How far a crawl goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeName {
    /// The seeds' hosts
    Host,
    /// The seeds' hosts without www. and all hosts below them
    Domain,
    /// URLs that begin like a seed up to its last slash
    Prefix,
    /// Everything
    Any,
}

/// How duplicates are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PolicyName {
    /// Equal text, Hamming distance or sketch, confirmed by similarity
    Default,
    /// Equal text or Hamming distance alone, as in the papers
    Simhash,
}

/// Every setting, each of which may stand in a flag, in HAPAX_NAME, or in the file.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// Stop after so many fetched pages, counted over the whole data directory
    #[arg(long, env = "HAPAX_MAX_PAGES", value_name = "N", help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_pages: Option<u64>,
    /// Follow links so far from a seed
    #[arg(long, env = "HAPAX_MAX_DEPTH", value_name = "N", help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_depth: Option<u16>,
    /// Stop after so many bytes received, such as 10GiB
    #[arg(long, env = "HAPAX_MAX_BYTES", value_name = "SIZE", value_parser = check_size, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<String>,
    /// Stop after this time, such as 2h
    #[arg(long, env = "HAPAX_TIME_LIMIT", value_name = "TIME", value_parser = check_duration, help_heading = "Limits")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_limit: Option<String>,
    /// Which URLs belong to the crawl [default: host]
    #[arg(long, env = "HAPAX_SCOPE", value_name = "SCOPE", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ScopeName>,
    /// Fetch only URLs that match (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) include: Vec<String>,
    /// Never fetch URLs that match (repeatable)
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    /// Requests at a time [default: 64]
    #[arg(long, env = "HAPAX_CONCURRENCY", value_name = "N", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) concurrency: Option<usize>,
    /// Requests at a time to one host [default: 1]
    #[arg(long, env = "HAPAX_PER_HOST", value_name = "N", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) per_host: Option<usize>,
    /// Pause between two requests to a host; slow hosts get a longer one [default: 1s]
    #[arg(long, env = "HAPAX_DELAY", value_name = "TIME", value_parser = check_duration, help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<String>,
    /// The User-Agent header [default: hapax/VERSION (+CONTACT)]
    #[arg(long, env = "HAPAX_USER_AGENT", value_name = "TEXT", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// A URL or mail address put into the User-Agent, for webmasters
    #[arg(long, env = "HAPAX_CONTACT", value_name = "TEXT", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contact: Option<String>,
    /// Do not ask this host's robots.txt: only for your own hosts (repeatable)
    #[arg(long, value_name = "HOST", help_heading = "Politeness")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ignore_robots: Vec<String>,
    /// Allow a private network, such as 10.0.0.0/8 (repeatable)
    #[arg(long, value_name = "CIDR", help_heading = "Safety")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow_private: Vec<String>,
    /// Largest Hamming distance of near-duplicates, 0 to 7 [default: 3]
    #[arg(long, env = "HAPAX_DISTANCE", value_name = "K", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) distance: Option<u32>,
    /// Smallest similarity that confirms a near-duplicate on another host [default: 0.5]
    #[arg(long, env = "HAPAX_SIMILARITY", value_name = "S", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity: Option<f64>,
    /// The same on one host [default: 0.55]
    #[arg(long, env = "HAPAX_SIMILARITY_SAME_HOST", value_name = "S", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) similarity_same_host: Option<f64>,
    /// How duplicates are decided [default: default]
    #[arg(long, env = "HAPAX_POLICY", value_name = "NAME", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyName>,
    /// What fingerprints are made of; a data directory keeps to one [default: content-words-tf]
    #[arg(long, env = "HAPAX_RECIPE", value_name = "NAME", help_heading = "Duplicates")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recipe: Option<String>,
    /// Keep no WARC of what was fetched
    #[arg(long, help_heading = "Output")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_warc: bool,
    /// Build no search index
    #[arg(long, help_heading = "Output")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_index: bool,
}

impl Settings {
    /// Reads a settings file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the settings in {}", path.display()))?;
        toml::from_str(&text).map_err(|error| {
            coded(
                USAGE,
                format!("{}: {}{}", path.display(), error.to_string().trim_end(), suggest(&error)),
            )
        })
    }

    /// Fills what is not set here from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        let list = |own: Vec<String>, other: Vec<String>| if own.is_empty() { other } else { own };
        Self {
            max_pages: self.max_pages.or(other.max_pages),
            max_depth: self.max_depth.or(other.max_depth),
            max_bytes: self.max_bytes.or(other.max_bytes),
            time_limit: self.time_limit.or(other.time_limit),
            scope: self.scope.or(other.scope),
            include: list(self.include, other.include),
            exclude: list(self.exclude, other.exclude),
            concurrency: self.concurrency.or(other.concurrency),
            per_host: self.per_host.or(other.per_host),
            delay: self.delay.or(other.delay),
            user_agent: self.user_agent.or(other.user_agent),
            contact: self.contact.or(other.contact),
            ignore_robots: list(self.ignore_robots, other.ignore_robots),
            allow_private: list(self.allow_private, other.allow_private),
            distance: self.distance.or(other.distance),
            similarity: self.similarity.or(other.similarity),
            similarity_same_host: self.similarity_same_host.or(other.similarity_same_host),
            policy: self.policy.or(other.policy),
            recipe: self.recipe.or(other.recipe),
            no_warc: self.no_warc || other.no_warc,
            no_index: self.no_index || other.no_index,
        }
    }

    /// The pause between two requests to a host.
    pub(crate) fn delay(&self) -> Result<Duration> {
        self.delay.as_deref().map_or(Ok(Duration::from_secs(1)), parse_duration)
    }

    /// The User-Agent header and the token by which robots.txt knows it.
    pub(crate) fn agent(&self) -> (String, String) {
        if let Some(agent) = &self.user_agent {
            let token = agent.split(['/', ' ']).next().unwrap_or_default().to_ascii_lowercase();
            return (agent.clone(), token);
        }
        let version = env!("CARGO_PKG_VERSION");
        let agent = match &self.contact {
            Some(contact) => format!("hapax/{version} (+{contact})"),
            None => format!("hapax/{version}"),
        };
        (agent, "hapax".to_owned())
    }

    /// What fingerprints are made of.
    pub(crate) fn recipe(&self) -> Result<Recipe> {
        let Some(name) = &self.recipe else { return Ok(Recipe::default()) };
        Recipe::parse(name).ok_or_else(|| {
            let names: Vec<&str> = Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
            coded(USAGE, format!("--recipe {name}: there are {}", names.join(", ")))
        })
    }

    /// The thresholds of the duplicate decision.
    pub(crate) fn policy(&self) -> Result<hapax_dedup::Policy> {
        let default = hapax_dedup::Policy::default();
        let distance = self.distance.unwrap_or(default.distance);
        if distance > hapax_dedup::MAX_DISTANCE {
            return Err(coded(
                USAGE,
                format!("--distance {distance}: 0 to {} are possible", hapax_dedup::MAX_DISTANCE),
            ));
        }
        for value in [self.similarity, self.similarity_same_host].into_iter().flatten() {
            if !(0.0..=1.0).contains(&value) {
                return Err(coded(USAGE, format!("--similarity {value}: it lies between 0 and 1")));
            }
        }
        Ok(hapax_dedup::Policy {
            distance,
            similarity: self.similarity.unwrap_or(default.similarity),
            similarity_same_site: self.similarity_same_host.unwrap_or(default.similarity_same_site),
            hamming_only: self.policy == Some(PolicyName::Simhash),
            ..default
        })
    }
}

/// `did you mean` for a key of the file that is nearly right.
fn suggest(error: &toml::de::Error) -> String {
    let text = error.message();
    let Some(wrong) = text.split('`').nth(1).filter(|_| text.contains("unknown field")) else {
        return String::new();
    };
    let known = text.split('`').skip(3).step_by(2);
    let best = known.map(|name| (edit_distance(wrong, name), name)).min();
    best.filter(|(distance, _)| *distance <= 3)
        .map(|(_, name)| format!("\ndid you mean `{name}`?"))
        .unwrap_or_default()
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = *slot;
            left = substitute.min(left + 1).min(*slot + 1);
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

fn check_duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn check_size(text: &str) -> Result<String, String> {
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
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| {
        coded(USAGE, format!("{text:?} is no time: write it like 500ms, 1s, 2m, 3h"))
    })
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
        assert!(parse_duration("5").is_err() && parse_duration("-1s").is_err());
        assert_eq!(parse_size("64MiB").unwrap(), 64 << 20);
        assert_eq!(parse_size("2kB").unwrap(), 2000);
        assert!(parse_size("many").is_err());
    }

    #[test]
    fn a_flag_wins_over_the_file_and_a_wrong_name_is_guessed() {
        let file: Settings = toml::from_str("max-pages = 5\ndelay = \"2s\"").unwrap();
        let flags = Settings { max_pages: Some(7), ..Settings::default() };
        let both = flags.or(file);
        assert_eq!((both.max_pages, both.delay.as_deref()), (Some(7), Some("2s")));
        let error = toml::from_str::<Settings>("max-page = 5").unwrap_err();
        assert_eq!(suggest(&error), "\ndid you mean `max-pages`?");
    }

    #[test]
    fn the_file_of_defaults_is_read_and_says_nothing_new() {
        let text = include_str!("../../config/default.toml");
        let read: Settings = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), "", "every line is a comment");
        let uncommented: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("#: "))
            .flat_map(|line| [line, "\n"])
            .collect();
        toml::from_str::<Settings>(&uncommented).unwrap();
        assert!(uncommented.lines().count() >= 20, "every setting stands in the file");
    }
}

//! All settings, and how their layers are merged.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use clap::Args;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::defences::{BodyLimits, DocumentLimits, HostLimits, UrlSettings};
use super::groups::{
    ClusterSettings, Duplicates, FileOnly, Limits, Output, Politeness, RequestSettings,
    RevisitSettings, Safety, ScopeSettings,
};

/// Every setting, in groups. A list that a file names is emptied by one empty value, a switch turned off by
/// `=false`, a limit without a default by `none`.
#[derive(Args, Clone, Debug, Default, Serialize)]
pub(crate) struct Settings {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) scope: ScopeSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) revisits: RevisitSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) politeness: Politeness,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) safety: Safety,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) requests: RequestSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) bodies: BodyLimits,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) documents: DocumentLimits,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) urls: UrlSettings,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) hosts: HostLimits,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) duplicates: Duplicates,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) cluster: ClusterSettings,
    #[arg(skip)]
    #[serde(flatten)]
    pub(crate) common: FileOnly,
}

/// The name of a setting.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
            let command = Settings::augment_args(clap::Command::new("crawl"));
            let flags = command.get_arguments().filter_map(clap::Arg::get_long);
            // Leaks once in a process.
            let flags = flags.map(|flag| &*flag.to_owned().leak());
            flags.chain(["data", "log-file", "metrics"]).collect()
        });
        let name = String::deserialize(from)?;
        match NAMES.contains(&name.as_str()) {
            true => Ok(Self(name)),
            false => Err(D::Error::unknown_field(&name, &NAMES)),
        }
    }
}

/// A text or map of settings from which each group reads its fields.
trait Source {
    type Error;
    fn group<T: DeserializeOwned>(&self) -> Result<T, Self::Error>;
}

impl Source for &str {
    type Error = toml::de::Error;

    fn group<T: DeserializeOwned>(&self) -> Result<T, Self::Error> {
        toml::from_str(self)
    }
}

impl Source for Map<String, Value> {
    type Error = serde_json::Error;

    fn group<T: DeserializeOwned>(&self) -> Result<T, Self::Error> {
        T::deserialize(Value::Object(self.clone()))
    }
}

/// Settings whose values may contain passwords.
pub(super) const SECRET: [&str; 3] = ["proxy", "header", "cookies"];

impl Settings {
    fn read_groups<S: Source>(source: &S) -> Result<Self, S::Error> {
        source.group::<BTreeMap<Name, IgnoredAny>>()?;
        Ok(Self {
            limits: source.group()?,
            scope: source.group()?,
            revisits: source.group()?,
            politeness: source.group()?,
            safety: source.group()?,
            requests: source.group()?,
            bodies: source.group()?,
            documents: source.group()?,
            urls: source.group()?,
            hosts: source.group()?,
            duplicates: source.group()?,
            output: source.group()?,
            cluster: source.group()?,
            common: source.group()?,
        })
    }

    /// Reads a settings file. Errors name the line.
    pub(super) fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        Self::read_groups(&text)
    }

    /// The settings that are set, by name.
    fn set(&self) -> Result<Map<String, Value>, serde_json::Error> {
        let mut all = Map::deserialize(serde_json::to_value(self)?)?;
        all.retain(|_, value| !value.is_null());
        Ok(all)
    }

    /// Returns the settings of `below` that these do not replace, as words for a message. Values that may be secret are left
    /// out.
    pub(crate) fn held_from(&self, below: &Self) -> Result<Option<String>> {
        let own = self.set()?;
        let held = below.set()?.into_iter().filter(|(name, _)| !own.contains_key(name));
        let held: Vec<String> = held
            .map(|(name, value)| match SECRET.contains(&name.as_str()) {
                true => format!("--{name}"),
                false => format!("--{name} {}", value.to_string().trim_matches('"')),
            })
            .collect();
        Ok((!held.is_empty()).then(|| held.join(", ")))
    }

    /// Merges these settings over `below`, which fills unset ones.
    pub(crate) fn over(self, below: Self) -> Result<Self> {
        let mut layers = below.set()?;
        layers.extend(self.set()?);
        let common = self.common.over(below.common);
        Ok(Self { common, ..Self::read_groups(&layers)? })
    }
}

impl FileOnly {
    fn over(self, below: Self) -> Self {
        Self {
            data: self.data.or(below.data),
            log_file: self.log_file.or(below.log_file),
            metrics: self.metrics.or(below.metrics),
        }
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let all = Map::deserialize(from)?;
        Self::read_groups(&all).map_err(D::Error::custom)
    }
}

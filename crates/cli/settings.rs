//! Settings of the main job. Priority: flag, environment, file, default.

// Paths are explicit because a fuzz target includes this file alone.
#[path = "settings/all.rs"]
mod all;
#[path = "settings/defences.rs"]
mod defences;
#[path = "settings/file.rs"]
mod file;
#[path = "settings/groups.rs"]
mod groups;

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hapax_crawl::Requests;
use hapax_extract::Recipe;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::exit::{USAGE, coded};
use crate::spelling::recipe_named;
use hapax_data::units::Time;

pub(crate) use all::Settings;

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

/// What happens to pages that are a part of another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PartsRule {
    /// They stay; `duplicates passages --kind part` lists them
    Keep,
    /// They are discarded at the end of the run
    Discard,
}

impl Settings {
    /// The non-empty values of a list.
    pub(crate) fn list(values: &Option<Vec<String>>) -> impl Iterator<Item = &String> {
        values.iter().flatten().filter(|value| !value.is_empty())
    }

    /// Whether requests carry credentials, so that responses may be private.
    pub(crate) fn is_personal(&self) -> bool {
        self.requests.cookies == Some(true) || Self::list(&self.requests.header).next().is_some()
    }

    pub(crate) fn index(&self) -> bool {
        self.output.no_index != Some(true) && self.output.links_only != Some(true)
    }

    pub(crate) fn ignore_robots(&self) -> Vec<String> {
        Self::list(&self.politeness.ignore_robots).cloned().collect()
    }

    /// Checks the host names of a flag, which must not be URLs.
    fn hosts(flag: &str, named: &Option<Vec<String>>) -> Result<Vec<String>> {
        let host = |text: &String| {
            if text.contains('/') {
                let host = Url::parse(text).ok().map(|url| hapax_fetch::host_and_port(&url));
                let host = host.unwrap_or_else(|| "a.example or a.example:8443".to_owned());
                return Err(coded(USAGE, format!("--{flag} {text:?}: not a host. Write {host}")));
            }
            Ok(text.clone())
        };
        Self::list(named).map(host).collect()
    }

    pub(crate) fn delay(&self) -> Duration {
        self.politeness.delay.as_ref().map_or(Duration::from_secs(1), Time::duration)
    }

    /// The product token of the User-Agent, for robots.txt and `<meta name=robots>`.
    pub(crate) fn product_token(&self) -> String {
        let (user_agent, robots_agent) =
            (self.politeness.user_agent.clone(), self.politeness.robots_agent.clone());
        Requests { user_agent, robots_agent, ..Requests::default() }.agent().1
    }

    pub(crate) fn requests(&self) -> Result<Requests> {
        let proxy = self.safety.proxy.as_deref().map(|text| {
            let proxy =
                Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.has_host());
            proxy.ok_or_else(|| {
                // Do not quote it: it may contain a password.
                coded(USAGE, "--proxy: write it like http://proxy.example:3128")
            })
        });
        let header = |text: &String| {
            let (name, value) = text.split_once(':').ok_or_else(|| {
                coded(
                    USAGE,
                    "--header: a value has no colon. Write it like \"Accept-Language: de\"",
                )
            })?;
            let name = name.trim();
            // These headers frame the request or have separate flags.
            let own = ["host", "content-length", "transfer-encoding", "connection", "user-agent"];
            if own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                let way =
                    if name.eq_ignore_ascii_case("user-agent") { ". Use --user-agent" } else { "" };
                return Err(coded(
                    USAGE,
                    format!("--header {name}: the crawler sets this header{way}"),
                ));
            }
            Ok((name.to_owned(), value.trim().to_owned()))
        };
        Ok(Requests {
            user_agent: self.politeness.user_agent.clone(),
            contact: self.politeness.contact.clone(),
            robots_agent: self.politeness.robots_agent.clone(),
            limits: self.limits()?,
            guard: self.guard()?,
            proxy: proxy.transpose()?,
            insecure: Self::hosts("insecure", &self.safety.insecure)?,
            roots: self.safety.ca.clone().unwrap_or_default(),
            headers: Self::list(&self.requests.header).map(header).collect::<Result<_>>()?,
            cookies: self.requests.cookies == Some(true),
            ignore_robots: Self::hosts("ignore-robots", &self.politeness.ignore_robots)?,
        })
    }

    pub(crate) fn guard(&self) -> Result<hapax_fetch::AddressGuard> {
        let mut guard = hapax_fetch::AddressGuard::default();
        for cidr in Self::list(&self.safety.allow_private) {
            let net = cidr.parse().map_err(|_| {
                coded(
                    USAGE,
                    format!("--allow-private {cidr:?}: not a network. Write it like 10.0.0.0/8"),
                )
            })?;
            guard.allow.push(net);
        }
        for text in Self::list(&self.safety.ports) {
            let (from, to) = text.split_once('-').unwrap_or((text, text));
            let ports = from.trim().parse().ok().zip(to.trim().parse().ok());
            let ports = ports.filter(|(from, to)| *from > 0 && from <= to).ok_or_else(|| {
                coded(USAGE, format!("--ports {text:?}: write it like 443 or 8000-8999"))
            })?;
            guard.ports.push(ports.0..=ports.1);
        }
        Ok(guard)
    }

    pub(crate) fn recipe(&self) -> Result<Recipe> {
        self.duplicates.recipe.as_deref().map_or(Ok(Recipe::default()), recipe_named)
    }

    pub(crate) fn policy(&self) -> Result<hapax_dedup::Policy> {
        let default = hapax_dedup::Policy::default();
        let distance = self.duplicates.distance.unwrap_or(default.distance);
        if distance > hapax_dedup::MAX_DISTANCE {
            return Err(coded(
                USAGE,
                format!(
                    "--distance {distance}: out of range. Allowed: 0 to {}",
                    hapax_dedup::MAX_DISTANCE
                ),
            ));
        }
        for (name, value) in [
            ("similarity", self.duplicates.similarity),
            ("similarity-same-host", self.duplicates.similarity_same_host),
        ] {
            if let Some(value) = value.filter(|value| !(0.0..=1.0).contains(value)) {
                return Err(coded(
                    USAGE,
                    format!("--{name} {value}: out of range. Allowed: 0 to 1"),
                ));
            }
        }
        Ok(hapax_dedup::Policy {
            distance,
            similarity: self.duplicates.similarity.unwrap_or(default.similarity),
            similarity_same_site: self
                .duplicates
                .similarity_same_host
                .unwrap_or(default.similarity_same_site),
            hamming_only: self.duplicates.policy == Some(PolicyName::Simhash),
            ..default
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use hapax_data::units::Limit;

    #[test]
    fn a_flag_wins_over_the_file_and_a_wrong_name_is_guessed() {
        let file: Settings = toml::from_str("max-pages = 5\ndelay = \"2s\"").unwrap();
        let mut flags = Settings::default();
        flags.limits.max_pages = Some(Limit(Some(7)));
        let both = flags.over(file).unwrap();
        let delay = both.politeness.delay.map(|delay| delay.duration());
        assert_eq!(both.limits.max_pages, Some(Limit(Some(7))));
        assert_eq!(delay, Some(Duration::from_secs(2)));
        let error = Settings::parse("max-page = 5", "c.toml").unwrap_err().to_string();
        assert!(error.contains("unknown field `max-page`; did you mean `max-pages`?"), "{error}");
        let error = Settings::parse("zzzzzzzz = 5", "c.toml").unwrap_err().to_string();
        assert!(error.ends_with("`crawl --help` explains them") && error.contains("zzzzzzzz"));
        let error = Settings::parse("scope = \"web\"", "c.toml").unwrap_err().to_string();
        assert!(error.contains("`prefix`") && !error.contains("did you mean"), "{error}");
        let all = "max-pages = \"none\"\nmax-depth = \"none\"\nmax-bytes = \"none\"";
        let none = Settings::parse(all, "c.toml").unwrap();
        assert_eq!(
            (none.limits.max_pages, none.limits.max_depth),
            (Some(Limit(None)), Some(Limit(None)))
        );
        assert_eq!(
            Settings::parse(&toml::to_string(&none).unwrap(), "").unwrap().limits.max_pages,
            none.limits.max_pages
        );
    }

    #[test]
    fn the_file_of_defaults_is_read_and_says_nothing_new() {
        let text = include_str!("../../config/default.toml");
        let read: Settings = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), "", "every line is a comment");
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#: ")).collect();
        toml::from_str::<Settings>(&lines.join("\n")).unwrap();
        let names: std::collections::BTreeSet<&str> =
            lines.iter().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        let command = Settings::augment_args(clap::Command::new("crawl"));
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
        // Flags that other commands have too.
        let flags = flags.chain(["data", "log-file", "metrics"]).collect();
        assert_eq!(names, flags, "every setting stands in the file");
    }
}

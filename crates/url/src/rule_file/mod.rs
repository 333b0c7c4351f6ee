//! Rules about addresses that a person gives to a crawl, one a line:
//!
//! ```text
//! # Comments and blank lines are skipped.
//! drop-parameter sort a.example/shop/
//! drop-parameter sid
//! host-alias http://m.a.example https://www.a.example
//! skip a.example/print/*
//! skip */*/amp$
//! ```
//!
//! - `drop-parameter NAME [PLACE]` requests addresses without this parameter. A name that begins with `;` is one of a
//!   path segment. PLACE is a pattern as for `skip` [default: everywhere].
//! - `host-alias FROM TO` requests the same address at another host. Both may have a scheme and a port.
//! - `skip PATTERN` does not request addresses. A pattern is a host (or `*`) and a path as in robots.txt: `*` matches
//!   any text, `$` ends the address, and without it the rest may be anything.
//!
//! All aliases apply first, then parameters are dropped, then addresses are skipped.

mod glob;

use std::collections::HashMap;
use std::fmt::{Display, Formatter};

use url::{Url, form_urlencoded};

use self::glob::{Pattern, authority, authority_of, path_and_query};

/// Maximum number of rules.
pub const MAX_GIVEN_RULES: usize = 10_000;
/// Longest line, in bytes.
const MAX_LINE: usize = 4096;
/// Most aliases that one address follows.
const MAX_ALIASES: usize = 8;
/// Most stars in a pattern.
const MAX_STARS: usize = 16;

/// A line that is not a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The line, from 1 on.
    pub line: usize,
    /// The problem, and how to write a rule.
    pub message: String,
}

impl Display for RuleError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

impl std::error::Error for RuleError {}

/// The rules of a file. [`apply`](Self::apply) is idempotent.
#[derive(Clone, Debug, Default)]
pub struct GivenRules {
    /// By the host that they replace.
    aliases: HashMap<String, Vec<Alias>>,
    /// By name.
    dropped: HashMap<String, Vec<(Option<Pattern>, String)>>,
    /// By host; those of any host by the empty text.
    skipped: HashMap<String, Vec<(Pattern, String)>>,
    /// The text of all rules in their order.
    lines: Vec<String>,
}

#[derive(Clone, Debug)]
struct Alias {
    scheme: Option<String>,
    to_scheme: Option<String>,
    to: Origin,
    rule: String,
}

/// A host with an optional port.
#[derive(Clone, Debug)]
struct Origin {
    host: String,
    port: Option<u16>,
}

/// What rules make of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// No rule is about it.
    Unchanged,
    /// Another address is requested.
    Rewritten {
        /// That address.
        to: Url,
        /// The rules, separated by `; `.
        rule: String,
    },
    /// It is not requested.
    Skipped {
        /// The rule.
        rule: String,
    },
}

impl GivenRules {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// The first line that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut rules = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            let rule = text.trim();
            if rule.is_empty() || rule.starts_with('#') {
                continue;
            }
            rules.add(rule).map_err(|message| RuleError { line, message })?;
        }
        Ok(rules)
    }

    /// Adds a rule; the error says what is wrong with it.
    ///
    /// # Errors
    /// If the text cannot be parsed, or there are too many rules.
    pub fn add(&mut self, rule: &str) -> Result<(), String> {
        if rule.len() > MAX_LINE {
            return Err(format!("the line is longer than {MAX_LINE} bytes"));
        }
        if self.lines.len() >= MAX_GIVEN_RULES {
            return Err(format!("more than {MAX_GIVEN_RULES} rules"));
        }
        if rule.matches('*').count() > MAX_STARS {
            return Err(format!("more than {MAX_STARS} stars in a pattern"));
        }
        let mut words = rule.split_whitespace();
        let (verb, one, two) = (words.next().unwrap_or_default(), words.next(), words.next());
        let text = rule.split_whitespace().collect::<Vec<_>>().join(" ");
        match (verb, one, two, words.next()) {
            ("drop-parameter", Some(name), place, None) => {
                let place = place.map(Pattern::parse).transpose()?;
                self.dropped.entry(name.to_owned()).or_default().push((place, text.clone()));
            }
            ("host-alias", Some(from), Some(to), None) => self.alias(from, to, &text)?,
            ("skip", Some(pattern), None, None) => {
                let pattern = Pattern::parse(pattern)?;
                let host = pattern.host().unwrap_or_default().to_owned();
                self.skipped.entry(host).or_default().push((pattern, text.clone()));
            }
            _ => {
                return Err(format!(
                    "not a rule: {:?}. Write `drop-parameter NAME [HOST/PATH]`, `host-alias FROM TO`, \
                     `skip HOST/PATH`, or a comment that begins with #",
                    rule.get(..rule.floor_char_boundary(200)).unwrap_or_default()
                ));
            }
        }
        self.lines.push(text);
        Ok(())
    }

    fn alias(&mut self, from: &str, to: &str, rule: &str) -> Result<(), String> {
        let (scheme, from) = scheme_of(from)?;
        let (to_scheme, to) = scheme_of(to)?;
        let alias = Alias { scheme, to_scheme, to: Origin::parse(&to), rule: rule.to_owned() };
        let own = self.aliases.entry(from.clone()).or_default();
        let meets = |other: &&Alias| {
            other.scheme.is_none() || alias.scheme.is_none() || other.scheme == alias.scheme
        };
        if let Some(other) = own.iter().find(meets) {
            return Err(format!(
                "{from} has an alias already: {:?}. Remove one of them",
                other.rule
            ));
        }
        let schemes = match &alias.scheme {
            Some(scheme) => vec![scheme.clone()],
            None => vec!["http".to_owned(), "https".to_owned()],
        };
        own.push(alias);
        for scheme in schemes {
            // A circle of aliases passes through the newest one.
            let start =
                Url::parse(&format!("{scheme}://{from}/")).map_err(|error| error.to_string())?;
            if self.at_other_host(&start).is_none_or(|(end, _)| self.next_host(&end).is_some()) {
                return Err(format!(
                    "the aliases lead in a circle, or over more than {MAX_ALIASES} hosts. Name the last host at once"
                ));
            }
        }
        Ok(())
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the rules as they were written, without comments.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Applies the rules to an address in normal form.
    pub fn apply(&self, url: &Url) -> Applied {
        if self.is_empty() {
            return Applied::Unchanged;
        }
        let (mut now, mut by) = (None, Vec::new());
        if let Some((to, rule)) = self.at_other_host(url) {
            by.push(rule);
            now = Some(to);
        }
        if let Some((to, rules)) = self.without_parameters(now.as_ref().unwrap_or(url)) {
            by.extend(rules);
            now = Some(to);
        }
        if let Some(rule) = self.skips(now.as_ref().unwrap_or(url)) {
            by.push(rule.to_owned());
            return Applied::Skipped { rule: by.join("; ") };
        }
        match now {
            Some(to) if to != *url => Applied::Rewritten { to, rule: by.join("; ") },
            _ => Applied::Unchanged,
        }
    }

    /// Follows all aliases. Returns the address, and the rules.
    fn at_other_host(&self, url: &Url) -> Option<(Url, String)> {
        let (mut now, rule) = self.next_host(url)?;
        let mut by = rule.to_owned();
        for _ in 1..MAX_ALIASES {
            let Some((next, rule)) = self.next_host(&now) else { break };
            now = next;
            by = format!("{by}; {rule}");
        }
        Some((now, by))
    }

    fn next_host(&self, url: &Url) -> Option<(Url, &str)> {
        let aliases = self.aliases.get(&authority(url))?;
        let is_own = |alias: &&Alias| alias.scheme.as_deref().is_none_or(|own| own == url.scheme());
        let alias = aliases.iter().find(is_own)?;
        let mut to = url.clone();
        to.set_host(Some(&alias.to.host)).ok()?;
        if let Some(scheme) = &alias.to_scheme {
            to.set_scheme(scheme).ok()?;
        }
        to.set_port(alias.to.port).ok()?;
        Some((to, &alias.rule))
    }

    fn without_parameters(&self, url: &Url) -> Option<(Url, Vec<String>)> {
        if self.dropped.is_empty() {
            return None;
        }
        let host = authority(url);
        let path = path_and_query(url);
        let mut by: Vec<String> = Vec::new();
        let mut drops = |name: &str| {
            let rules = self.dropped.get(name).map_or(&[][..], Vec::as_slice);
            let rule = rules
                .iter()
                .find(|(place, _)| place.as_ref().is_none_or(|place| place.matches(&host, path)));
            if let Some((_, rule)) = rule
                && !by.contains(rule)
            {
                by.push(rule.clone());
            }
            rule.is_some()
        };
        let query = url.query().map(|query| {
            let kept = query.split('&').filter(|pair| !drops(&name_of(pair)));
            kept.collect::<Vec<_>>().join("&")
        });
        let own_path = url.path().contains(';').then(|| {
            let bare = |segment: &str| {
                let mut parts = segment.split(';');
                let name = parts.next().unwrap_or_default().to_owned();
                let kept = parts.filter(|pair| !drops(&format!(";{}", name_of(pair))));
                kept.fold(name, |all, pair| format!("{all};{pair}"))
            };
            url.path().split('/').map(bare).collect::<Vec<_>>().join("/")
        });
        if by.is_empty() {
            return None;
        }
        let mut to = url.clone();
        if let Some(path) = own_path {
            to.set_path(&path);
        }
        to.set_query(query.as_deref().filter(|query| !query.is_empty()));
        Some((to, by))
    }

    fn skips(&self, url: &Url) -> Option<&str> {
        if self.skipped.is_empty() {
            return None;
        }
        let (host, path) = (authority(url), path_and_query(url));
        let own =
            [host.as_str(), ""].into_iter().filter_map(|name| self.skipped.get(name)).flatten();
        own.into_iter()
            .find(|(pattern, _)| pattern.matches(&host, path))
            .map(|(_, rule)| rule.as_str())
    }
}

impl Origin {
    /// Splits a host in normal form from its port.
    fn parse(text: &str) -> Self {
        let port =
            text.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        match port {
            Some((host, port)) => Self { host: host.to_owned(), port: port.parse().ok() },
            None => Self { host: text.to_owned(), port: None },
        }
    }
}

/// Splits the scheme from a host. Returns the host in normal form, without the default port of the scheme.
fn scheme_of(text: &str) -> Result<(Option<String>, String), String> {
    let Some((scheme, host)) = text.split_once("://") else {
        return Ok((None, authority_of(text)?));
    };
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(format!("{text:?}: the scheme must be http or https"));
    }
    let host = host.strip_suffix('/').unwrap_or(host);
    authority_of(host)?;
    let url = Url::parse(&format!("{scheme}://{host}/")).map_err(|error| error.to_string())?;
    Ok((Some(scheme), authority(&url)))
}

/// Returns the decoded name of a parameter.
fn name_of(pair: &str) -> String {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    form_urlencoded::parse(name.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;

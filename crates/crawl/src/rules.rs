//! The rules of a run: scope, depth and patterns.

use std::sync::{Arc, PoisonError, RwLock};

use hapax_data::{Limit, SkipReason};
use hapax_url::{Applied, GivenRules, Rejected, Scope, UrlLimits, normalize};
use regex::RegexSet;
use url::Url;

use crate::admission::{Admission, Skip};
use crate::config::ScopeRules;
use crate::error::{Error, Result};

/// Which URLs are crawled. Clones share the scope, which grows when seeds move.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    scope: Arc<RwLock<Scope>>,
    include: Option<RegexSet>,
    exclude: RegexSet,
    given: Arc<GivenRules>,
    max_depth: u16,
    pub(super) limits: UrlLimits,
}

impl Rules {
    pub(crate) fn new<'s>(
        config: &ScopeRules,
        seeds: impl IntoIterator<Item = &'s Url>,
    ) -> Result<Self> {
        let set = |field, patterns: &[String]| {
            RegexSet::new(patterns).map_err(|error| Error::config(field, error.to_string()))
        };
        let include = set("scope.include", &config.include)?;
        Ok(Self {
            scope: Arc::new(RwLock::new(Scope::new(config.kind, seeds))),
            include: (!include.is_empty()).then_some(include),
            exclude: set("scope.exclude", &config.exclude)?,
            given: Arc::new(config.given.clone()),
            max_depth: config.max_depth.unwrap_or(u16::MAX),
            limits: config.urls.clone(),
        })
    }

    /// Adds the target of a moved seed to the scope.
    pub(crate) fn seed_moved(&self, to: &Url) {
        self.scope.write().unwrap_or_else(PoisonError::into_inner).add(to);
    }

    pub(super) const fn have_depth(&self) -> bool {
        self.max_depth < u16::MAX
    }

    /// Returns the normal form of a URL, unless it is a trap or not a web address.
    pub(crate) fn normal(&self, url: &Url) -> Option<Url> {
        normalize(url, &self.limits).ok()
    }

    pub(super) fn in_scope(&self, url: &Url) -> bool {
        self.scope.read().unwrap_or_else(PoisonError::into_inner).contains(url)
    }

    /// Returns why patterns exclude a stored page. Scope and depth do not apply to it.
    pub(crate) fn leaves_out(&self, url: &Url) -> Option<SkipReason> {
        if self.include.as_ref().is_some_and(|set| !set.is_match(url.as_str())) {
            Some(SkipReason::Include)
        } else {
            self.exclude.is_match(url.as_str()).then_some(SkipReason::Exclude)
        }
    }

    /// Returns what the given rules make of a link: its normal form, and the result. `None` if no rule is about it. A
    /// person named the seeds (depth 0): rules do not apply to them.
    pub(crate) fn given(&self, url: &Url, depth: u16) -> Option<(Url, Applied)> {
        if depth == 0 || self.given.is_empty() {
            return None;
        }
        let normal = self.normal(url)?;
        let applied = self.given.apply(&normal);
        (applied != Applied::Unchanged).then_some((normal, applied))
    }

    /// Applies the given rules, then scope, depth and patterns to the address that they request.
    pub(crate) fn admit(&self, url: &Url, depth: u16) -> Admission {
        match self.given(url, depth) {
            Some((_, Applied::Rewritten { to, .. })) => self.admit_as_it_is(&to, depth),
            Some((normal, Applied::Skipped { rule })) => {
                match self.admit_as_it_is(&normal, depth) {
                    Admission::Admitted(url) => Admission::Refused(by_rule(url, depth, rule)),
                    refused => refused,
                }
            }
            _ => self.admit_as_it_is(url, depth),
        }
    }

    /// Applies scope, depth and patterns. Include patterns apply to links and not to seeds (depth 0), where links are
    /// found.
    pub(crate) fn admit_as_it_is(&self, url: &Url, depth: u16) -> Admission {
        let normal = match normalize(url, &self.limits) {
            Ok(normal) => normal,
            Err(Rejected::Scheme) => return Admission::NoWebAddress,
            Err(Rejected::Trap(trap)) => {
                let skip = Skip::new(url.clone(), Limit::from(trap), trap.as_str());
                return Admission::Refused(Skip { depth: Some(depth), ..skip });
            }
        };
        let reason = if !self.in_scope(&normal) {
            SkipReason::Scope
        } else if depth > self.max_depth {
            SkipReason::Depth
        } else if depth > 0
            && self.include.as_ref().is_some_and(|set| !set.is_match(normal.as_str()))
        {
            SkipReason::Include
        } else if self.exclude.is_match(normal.as_str()) {
            SkipReason::Exclude
        } else {
            return Admission::Admitted(normal);
        };
        let detail = format!("at depth {depth}");
        let skip = Skip { depth: Some(depth), ..Skip::new(normal, reason, detail) };
        Admission::Refused(skip)
    }
}

/// Refuses a URL because of a given rule.
pub(crate) fn by_rule(url: Url, depth: u16, rule: String) -> Skip {
    let skip = Skip::new(url, SkipReason::Exclude, "a rule of --rules skips it");
    Skip { depth: Some(depth), rule: Some(rule), ..skip }
}

/// Returns whether a list contains the host of a URL, with its port or without one (all ports).
pub(crate) fn names_host(hosts: &[String], url: &Url) -> bool {
    let with_port = hapax_fetch::host_and_port(url);
    let name = url.host_str().unwrap_or_default();
    hosts
        .iter()
        .any(|host| host.eq_ignore_ascii_case(name) || host.eq_ignore_ascii_case(&with_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_rules_apply_to_links_in_scope_and_not_to_seeds() {
        let url = |text: &str| Url::parse(text).unwrap();
        let given =
            GivenRules::parse("drop-parameter sid\nskip */print/\nhost-alias b.example a.example");
        let scope = ScopeRules { given: given.unwrap(), ..ScopeRules::default() };
        let rules = Rules::new(&scope, [&url("http://a.example/")]).unwrap();
        let admitted = |text: &str, depth| match rules.admit(&url(text), depth) {
            Admission::Admitted(url) => url.to_string(),
            Admission::Refused(skip) => {
                format!("{} {}", skip.cause.reason, skip.rule.unwrap_or_default())
            }
            other => format!("{other:?}"),
        };
        for (link, depth, expected) in [
            ("http://a.example/x?sid=1#y", 1, "http://a.example/x"),
            ("http://a.example/x?sid=1", 0, "http://a.example/x?sid=1"),
            ("http://b.example/x", 1, "http://a.example/x"),
            ("http://a.example/print/7", 2, "exclude skip */print/"),
            ("http://c.example/print/7", 2, "scope "),
        ] {
            assert_eq!(admitted(link, depth), expected, "{link}");
        }
    }

    #[test]
    fn a_host_is_named_with_or_without_its_port_in_any_case() {
        let url = |text: &str| Url::parse(text).unwrap();
        let hosts = ["A.example".to_owned(), "b.example:8080".to_owned()];
        assert!(names_host(&hosts, &url("https://a.example/x")));
        assert!(names_host(&hosts, &url("http://a.example:81/")));
        assert!(names_host(&hosts, &url("http://b.example:8080/")));
        assert!(!names_host(&hosts, &url("http://b.example/")));
        assert!(!names_host(&hosts, &url("http://aa.example/")));
    }
}

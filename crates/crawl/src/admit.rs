//! Admission: decides whether a URL belongs to the crawl.
//!
//! It runs when a URL is queued, and again when it is leased, because rules may have changed in between. Recrawls apply
//! only [`Rules`] to the known pages that they queue: the check at the lease follows.

use hapax_data::SkipReason;
use hapax_frontier::EntryKind;
use hapax_url::host_key;
use url::Url;

use crate::admission::{Admission, Skip};
use crate::rules::Rules;

/// When a URL is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before it is queued.
    Queue,
    /// Before it is queued as the target of a redirect: the page is behind the redirect, so the given rules (`--rules`) do
    /// not apply.
    Redirect,
    /// Before it is requested. Only exclude patterns and forgotten pages apply to seeds, which a person named; only
    /// forgotten pages apply to sitemaps and probes. The fetch task applies given rules.
    Lease(EntryKind),
}

/// Knowledge of a crawl about URLs.
pub(crate) trait Knowledge {
    type Error;

    fn rules(&self) -> &Rules;

    /// Returns whether a person forgot the URL or its host.
    fn is_forgotten(&self, url: &Url, host: &str) -> bool;

    /// Returns whether rules learned from duplicates exclude the URL. The first URL of a group of equivalent ones is not
    /// excluded.
    fn repeats(&mut self, url: &Url, host: &str) -> Result<bool, Self::Error>;

    /// Returns whether a trusted feed names another page with the same text. That page is fetched instead.
    fn is_left_to_feed(&mut self, url: &Url, depth: u16) -> Result<bool, Self::Error>;
}

/// Decides about a URL that is `depth` links from a seed. Checks in this order: given rules (before a link is
/// queued), scheme and traps, scope, depth, patterns, forgotten pages, rules learned from duplicates, feeds. The first check
/// that excludes the URL decides.
///
/// # Errors
/// An error of a look-up.
pub(crate) fn admit<K: Knowledge>(
    url: &Url,
    depth: u16,
    stage: Stage,
    knowledge: &mut K,
) -> Result<Admission, K::Error> {
    let rules = knowledge.rules();
    let admission = match stage {
        Stage::Queue => rules.admit(url, depth),
        // Given rules apply only to links; the fetch task applies them to leases.
        Stage::Redirect | Stage::Lease(_) => rules.admit_as_it_is(url, depth),
    };
    let url = match (admission, stage) {
        (Admission::Admitted(url), _) => url,
        (Admission::Refused(skip), Stage::Lease(kind))
            if kind != EntryKind::Page
                || depth == 0 && skip.cause.reason != SkipReason::Exclude =>
        {
            url.clone()
        }
        (other, _) => return Ok(other),
    };
    let host = host_key(&url);
    if knowledge.is_forgotten(&url, &host) {
        return Ok(Admission::LeftOut(Skip::new(url, SkipReason::Forgotten, "")));
    }
    // A person chose the seeds: learned rules do not apply.
    let is_link =
        depth > 0 && !matches!(stage, Stage::Lease(EntryKind::Sitemap | EntryKind::Probe));
    if is_link && knowledge.repeats(&url, &host)? {
        return Ok(Admission::Repeats(url));
    }
    if knowledge.is_left_to_feed(&url, depth)? {
        return Ok(Admission::LeftToFeed);
    }
    Ok(Admission::Admitted(url))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::config::ScopeRules;

    /// Decides by words in the URL.
    struct Words(Rules);

    impl Knowledge for Words {
        type Error = Infallible;

        fn rules(&self) -> &Rules {
            &self.0
        }

        fn is_forgotten(&self, url: &Url, _: &str) -> bool {
            url.path().contains("forgotten")
        }

        fn repeats(&mut self, url: &Url, _: &str) -> Result<bool, Infallible> {
            Ok(url.path().contains("same"))
        }

        fn is_left_to_feed(&mut self, url: &Url, _: u16) -> Result<bool, Infallible> {
            Ok(url.path().contains("copy"))
        }
    }

    fn admission(url: &str, depth: u16, stage: Stage) -> String {
        let seed = Url::parse("http://a.example/").unwrap();
        let scope = ScopeRules {
            max_depth: Some(3),
            include: vec!["/in/".into()],
            exclude: vec!["/out/".into()],
            ..ScopeRules::default()
        };
        let mut words = Words(Rules::new(&scope, [&seed]).unwrap());
        let Ok(admission) = admit(&Url::parse(url).unwrap(), depth, stage, &mut words);
        match admission {
            Admission::Admitted(url) => url.path().to_owned(),
            Admission::NoWebAddress => "no web address".to_owned(),
            Admission::Refused(skip) => format!("refused: {}", skip.cause.reason),
            Admission::LeftOut(skip) => format!("left out: {}", skip.cause.reason),
            Admission::LeftToFeed => "left to feed".to_owned(),
            Admission::Repeats(_) => "repeats".to_owned(),
        }
    }

    #[test]
    fn the_first_objection_decides() {
        for (url, depth, expected) in [
            ("http://a.example/in/b/../c", 1, "/in/c"),
            ("mailto:a@a.example", 1, "no web address"),
            ("http://b.example/in/", 1, "refused: scope"),
            ("http://a.example/in/", 4, "refused: depth"),
            ("http://a.example/other", 1, "refused: include"),
            ("http://a.example/other", 0, "/other"),
            ("http://a.example/in/out/", 0, "refused: exclude"),
            ("http://a.example/in/forgotten-same-copy", 1, "left out: forgotten"),
            ("http://a.example/in/same-copy", 1, "repeats"),
            ("http://a.example/in/same", 0, "/in/same"),
            ("http://a.example/in/copy", 1, "left to feed"),
        ] {
            assert_eq!(admission(url, depth, Stage::Queue), expected, "{url}");
        }
    }

    #[test]
    fn seeds_and_sitemaps_pass_the_rules_when_leased() {
        use EntryKind::{Page, Probe, Sitemap};
        for (url, depth, kind, expected) in [
            ("http://a.example/other", 1, Page, "refused: include"),
            ("http://b.example/", 0, Page, "/"),
            ("http://a.example/out/", 0, Page, "refused: exclude"),
            ("http://b.example/out/sitemap.xml", 0, Sitemap, "/out/sitemap.xml"),
            ("http://b.example/out/probe", 0, Probe, "/out/probe"),
            ("http://a.example/in/same", 1, Page, "repeats"),
            ("http://a.example/in/same", 1, Sitemap, "/in/same"),
            ("http://b.example/forgotten", 0, Page, "left out: forgotten"),
        ] {
            assert_eq!(admission(url, depth, Stage::Lease(kind)), expected, "{url} {kind:?}");
        }
    }
}

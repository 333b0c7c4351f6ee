//! Records the settings by which a run refused URLs. If a later run has other settings, it tries these URLs again.

use hapax_data::SkipReason;
use hapax_page::HASH;
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Version of the stored text. A text of another version counts as a change of all rules.
const VERSION: u32 = 1;

/// The rules of a run, as the frontier stores them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RulesIdentity {
    version: u32,
    links: Links,
    ignore_robots: Vec<String>,
    max_pages_per_host: Option<u64>,
    max_body: usize,
    allow_private: Vec<String>,
    /// Not stored before version 0.3: then the defaults are assumed.
    #[serde(default)]
    requests: RequestRules,
    #[serde(default)]
    obey_reservations: bool,
    #[serde(default)]
    max_crawl_delay: Option<u64>,
    /// Ports that `--ports` allows.
    #[serde(default)]
    ports: Vec<(u16, u16)>,
    #[serde(default)]
    skip_slow_hosts: bool,
    /// Not stored by earlier versions: then the defaults are assumed.
    #[serde(default)]
    limits: Limits,
}

/// Limits of URLs, pages and the files of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Limits {
    urls: UrlsWithin,
    max_links: usize,
    max_sitemap: usize,
    max_sitemap_urls: usize,
    max_encodings: usize,
    max_robots: usize,
}

/// Limits of URLs beyond which they are traps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UrlsWithin {
    length: usize,
    segments: usize,
    parameters: usize,
    repeated_segment: usize,
    last_year: u32,
}

impl Limits {
    fn of(config: &Config) -> Self {
        let urls = &config.scope.urls;
        let of_sitemaps = config.sitemaps.as_ref();
        Self {
            urls: UrlsWithin {
                length: urls.max_length,
                segments: urls.max_segments,
                parameters: urls.max_parameters,
                repeated_segment: urls.max_repeated_segment,
                last_year: *urls.years.end(),
            },
            max_links: config.pages.max_links,
            max_sitemap: of_sitemaps.map_or(0, |limits| limits.max_bytes),
            max_sitemap_urls: of_sitemaps.map_or(0, |limits| limits.max_urls),
            max_encodings: config.requests.limits.max_encodings,
            max_robots: config.requests.limits.max_robots,
        }
    }

    /// Returns the reasons of these limits that may not apply now. Nothing is read again for narrower limits.
    fn changed_since(&self, before: &Self) -> impl Iterator<Item = SkipReason> {
        // Links beyond twice the length of a URL are left out of a page like those beyond its number of links.
        let more_links = self.max_links > before.max_links
            || self.max_sitemap_urls > before.max_sitemap_urls
            || self.urls.length > before.urls.length;
        [
            (SkipReason::Trap, self.urls != before.urls),
            (SkipReason::Links, more_links),
            (SkipReason::CutShort, self.max_sitemap > before.max_sitemap),
            (SkipReason::Bomb, self.max_encodings > before.max_encodings),
            (SkipReason::Robots, self.max_robots > before.max_robots),
        ]
        .into_iter()
        .filter_map(|(reason, is_other)| is_other.then_some(reason))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(&Config::default())
    }
}

/// Settings of requests that change responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RequestRules {
    /// A hash, because headers may contain secrets.
    headers: u64,
    cookies: bool,
    agent: String,
    robots_token: String,
    insecure: Vec<String>,
    roots: Vec<std::path::PathBuf>,
    max_ratio: usize,
    max_redirects: u8,
}

/// Scope, depth, patterns and the number of seeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Links {
    scope: String,
    max_depth: Option<u16>,
    include: Vec<String>,
    exclude: Vec<String>,
    seeds: usize,
    /// A hash of the given rules, because there may be thousands; 0 if there are none.
    #[serde(default)]
    given: u64,
}

/// Reasons that depend on [`Links`].
const BY_LINKS: [SkipReason; 4] =
    [SkipReason::Scope, SkipReason::Depth, SkipReason::Include, SkipReason::Exclude];
/// Reasons that depend on [`RequestRules`]: with other headers the server may answer differently.
const BY_REQUEST: [SkipReason; 7] = [
    SkipReason::Http4xx,
    SkipReason::HttpOther,
    SkipReason::ContentType,
    SkipReason::Redirects,
    SkipReason::Encoding,
    SkipReason::Charset,
    SkipReason::Noindex,
];
/// All reasons that may no longer apply when settings change.
const ALL: [SkipReason; 8] = [
    SkipReason::Scope,
    SkipReason::Depth,
    SkipReason::Include,
    SkipReason::Exclude,
    SkipReason::Robots,
    SkipReason::Budget,
    SkipReason::TooLarge,
    SkipReason::PrivateAddress,
];

/// Returns whether a link is refused for this reason before it is queued.
pub(crate) fn is_of_links(reason: SkipReason) -> bool {
    reason == SkipReason::Trap || BY_LINKS.contains(&reason)
}

impl RulesIdentity {
    pub(crate) fn of(config: &Config, seeds: usize) -> Self {
        let scope = &config.scope;
        let requests = &config.requests;
        let (agent, robots_token) = requests.agent();
        Self {
            requests: RequestRules {
                headers: hash_of(&requests.headers),
                cookies: requests.cookies,
                agent,
                robots_token,
                insecure: requests.insecure.clone(),
                roots: hapax_fetch::roots_file()
                    .into_iter()
                    .chain(requests.roots.clone())
                    .collect(),
                max_ratio: requests.limits.max_ratio,
                max_redirects: config.max_redirects,
            },
            obey_reservations: config.patience.obey_reservations,
            max_crawl_delay: Some(config.patience.max_crawl_delay.as_secs()),
            ports: requests
                .guard
                .ports
                .iter()
                .map(|ports| (*ports.start(), *ports.end()))
                .collect(),
            skip_slow_hosts: config.patience.skip_slow_hosts,
            limits: Limits::of(config),
            version: VERSION,
            links: Links {
                scope: scope.kind.name().to_owned(),
                max_depth: scope.max_depth,
                include: scope.include.clone(),
                exclude: scope.exclude.clone(),
                seeds,
                given: given_hash(config),
            },
            ignore_robots: config.requests.ignore_robots.clone(),
            max_pages_per_host: config.max_pages_per_host,
            max_body: config.requests.limits.max_body,
            allow_private: config.requests.guard.allow.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns whether the given rules differ from those of the previous run.
    pub(crate) fn has_other_given_rules(&self, before: &str) -> bool {
        let before = serde_json::from_str::<Self>(before).map_or(0, |before| before.links.given);
        self.links.given != 0 && self.links.given != before
    }

    /// Returns whether more of each robots.txt is read than in the previous run, so that stored copies may be cut.
    pub(crate) fn reads_more_of_robots(&self, before: &str) -> bool {
        let before = serde_json::from_str::<Self>(before);
        before.is_ok_and(|before| self.limits.max_robots > before.limits.max_robots)
    }

    /// Returns the reasons that led to refusals under the previous rules and may not apply now.
    pub(crate) fn changed_since(&self, before: &str) -> Vec<SkipReason> {
        let Ok(before) = serde_json::from_str::<Self>(before) else { return ALL.to_vec() };
        let mut changed = Vec::new();
        if self.links != before.links {
            changed.extend(BY_LINKS);
        }
        if self.links.given != before.links.given {
            changed.push(SkipReason::DustRule);
        }
        for (reason, is_other) in [
            (SkipReason::Robots, self.ignore_robots != before.ignore_robots),
            (SkipReason::Budget, self.max_pages_per_host != before.max_pages_per_host),
            (SkipReason::TooLarge, self.max_body != before.max_body),
            (SkipReason::Bomb, self.max_body != before.max_body),
            (SkipReason::Reserved, self.obey_reservations != before.obey_reservations),
            (SkipReason::PrivateAddress, self.allow_private != before.allow_private),
            (SkipReason::BadPort, self.ports != before.ports),
        ] {
            changed.extend(is_other.then_some(reason));
        }
        changed.extend(self.limits.changed_since(&before.limits));
        let (now, then) = (&self.requests, &before.requests);
        // Earlier versions did not store this group.
        if then.agent.is_empty() {
            return changed;
        }
        if (now.headers, now.cookies, &now.agent) != (then.headers, then.cookies, &then.agent) {
            changed.extend(BY_REQUEST);
        }
        for (reason, is_other) in [
            (SkipReason::Robots, now.robots_token != then.robots_token),
            (SkipReason::Tls, (&now.insecure, &now.roots) != (&then.insecure, &then.roots)),
            (SkipReason::Bomb, now.max_ratio != then.max_ratio),
            (SkipReason::Redirects, now.max_redirects != then.max_redirects),
            (SkipReason::CrawlDelay, slow_hosts(self) != slow_hosts(&before)),
        ] {
            changed.extend(is_other.then_some(reason));
        }
        changed
    }
}

/// Returns what is done about hosts with a long Crawl-delay.
const fn slow_hosts(rules: &RulesIdentity) -> (Option<u64>, bool) {
    (rules.max_crawl_delay, rules.skip_slow_hosts)
}

fn given_hash(config: &Config) -> u64 {
    match config.scope.given.lines() {
        [] => 0,
        lines => HASH.hash(lines.join("\n").as_bytes()),
    }
}

fn hash_of(headers: &[(String, String)]) -> u64 {
    let mut bytes = Vec::new();
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    if bytes.is_empty() { 0 } else { HASH.hash(&bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widens one limit.
    type Change = fn(&mut Config);

    #[test]
    fn a_changed_rule_readmits_only_the_reasons_it_refused() {
        let identity = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            RulesIdentity::of(&config, 1)
        };
        let before = identity(|_| {}).to_text();
        assert_eq!(identity(|_| {}).changed_since(&before), []);
        let wider = identity(|config| config.scope.max_depth = Some(3));
        assert_eq!(wider.changed_since(&before), BY_LINKS);
        let wider = identity(|config| config.requests.limits.max_body = 1);
        assert_eq!(wider.changed_since(&before), [SkipReason::TooLarge, SkipReason::Bomb]);
        let given = identity(|config| {
            config.scope.given = hapax_url::GivenRules::parse("drop-parameter sid").unwrap();
        });
        let expected = [&BY_LINKS[..], &[SkipReason::DustRule]].concat();
        assert_eq!(given.changed_since(&before), expected);
        assert!(given.has_other_given_rules(&before) && given.has_other_given_rules(""));
        assert!(!given.has_other_given_rules(&given.to_text()));
        assert!(!identity(|_| {}).has_other_given_rules(&given.to_text()));
        let insecure = identity(|config| config.requests.insecure = vec!["a.example".to_owned()]);
        assert_eq!(insecure.changed_since(&before), [SkipReason::Tls]);
        let trusted = identity(|config| config.requests.roots = vec!["ca.pem".into()]);
        assert_eq!(trusted.changed_since(&before), [SkipReason::Tls]);
        let named = identity(|config| {
            config.requests.headers = vec![("Cookie".to_owned(), "secret".to_owned())];
        });
        assert_eq!(named.changed_since(&before), BY_REQUEST);
        assert!(!named.to_text().contains("secret"));
        let patient = identity(|config| config.patience.max_crawl_delay *= 2);
        assert_eq!(patient.changed_since(&before), [SkipReason::CrawlDelay]);
        let skipping = identity(|config| config.patience.skip_slow_hosts = true);
        assert_eq!(skipping.changed_since(&before), [SkipReason::CrawlDelay]);
        let port = identity(|config| config.requests.guard.ports = vec![8080..=8090]);
        assert_eq!(port.changed_since(&before), [SkipReason::BadPort]);
        assert_eq!(port.changed_since(&port.to_text()), []);
        assert_eq!(
            wider.changed_since("Some(Host) None [] [] 1\nNone"),
            ALL,
            "of a version before"
        );
    }

    #[test]
    fn a_wider_limit_readmits_what_it_refused() {
        use SkipReason::{Bomb, CutShort, Links, Robots, Trap};
        let identity = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            RulesIdentity::of(&config, 1)
        };
        let before = identity(|_| {}).to_text();
        let changes: [(Change, &[SkipReason]); 11] = [
            (|config| config.scope.urls.max_length += 1, &[Trap, Links]),
            (|config| config.scope.urls.max_segments += 1, &[Trap]),
            (|config| config.scope.urls.max_parameters += 1, &[Trap]),
            (|config| config.scope.urls.max_repeated_segment += 1, &[Trap]),
            (|config| config.scope.urls.years = 1990..=2999, &[Trap]),
            (|config| config.pages.max_links += 1, &[Links]),
            (|config| config.pages.max_links -= 1, &[]),
            (
                |config| {
                    let limits = hapax_fetch::SitemapLimits::default();
                    let max_urls = limits.max_urls + 1;
                    config.sitemaps = Some(hapax_fetch::SitemapLimits { max_urls, ..limits });
                },
                &[Links],
            ),
            (
                |config| {
                    let limits = hapax_fetch::SitemapLimits::default();
                    let max_bytes = limits.max_bytes + 1;
                    config.sitemaps = Some(hapax_fetch::SitemapLimits { max_bytes, ..limits });
                },
                &[CutShort],
            ),
            (|config| config.requests.limits.max_encodings += 1, &[Bomb]),
            (|config| config.requests.limits.max_robots += 1, &[Robots]),
        ];
        for (change, expected) in changes {
            assert_eq!(identity(change).changed_since(&before), expected);
        }
        let longer = identity(|config| config.requests.limits.max_robots += 1);
        assert!(longer.reads_more_of_robots(&before));
        assert!(!identity(|_| {}).reads_more_of_robots(&before));
        // An earlier version did not store the limits.
        let mut former: serde_json::Value = serde_json::from_str(&before).unwrap();
        former.as_object_mut().unwrap().remove("limits");
        let raised = identity(|config| config.pages.max_links += 1);
        assert_eq!(raised.changed_since(&former.to_string()), [Links]);
    }
}

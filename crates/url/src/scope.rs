use std::collections::BTreeSet;
use std::ops::Bound;

use url::{Position, Url};

/// How far from its seeds a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeKind {
    /// The seeds' hosts, over http and https; other ports are other hosts. The default.
    #[default]
    Host,
    /// The seeds' hosts without a leading `www.`, and all their subdomains.
    Domain,
    /// URLs that begin with a seed's URL up to the last slash of its path, over http and https.
    Prefix,
    /// Every URL.
    Any,
}

impl ScopeKind {
    /// Returns the name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Domain => "domain",
            Self::Prefix => "prefix",
            Self::Any => "any",
        }
    }
}

/// The scope of one crawl: a kind and marks made from its seeds.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    kind: ScopeKind,
    /// Except for [`ScopeKind::Host`], no mark is a prefix of another: only the last one up to a text can be its
    /// prefix.
    marks: BTreeSet<String>,
}

impl Scope {
    /// Returns the scope of these seeds.
    pub fn new<'a>(kind: ScopeKind, seeds: impl IntoIterator<Item = &'a Url>) -> Self {
        let mut scope = Self { kind, marks: BTreeSet::new() };
        seeds.into_iter().for_each(|seed| scope.add(seed));
        scope
    }

    /// Adds a seed, or the target of a seed's redirect.
    pub fn add(&mut self, seed: &Url) {
        let mark = match self.kind {
            ScopeKind::Host => {
                self.marks.insert(scope_host(seed));
                return;
            }
            ScopeKind::Domain => backwards(domain(seed)),
            ScopeKind::Prefix => {
                let text = without_scheme(seed);
                let text = text.split(['?', '#']).next().unwrap_or_default();
                text.rfind('/').and_then(|slash| text.get(..=slash)).unwrap_or(text).to_owned()
            }
            ScopeKind::Any => return,
        };
        if self.has_beginning(&mark) {
            return;
        }
        let from = (Bound::Included(mark.as_str()), Bound::Unbounded);
        let longer = self.marks.range::<str, _>(from).take_while(|other| other.starts_with(&mark));
        for other in longer.cloned().collect::<Vec<_>>() {
            self.marks.remove(&other);
        }
        self.marks.insert(mark);
    }

    /// Returns whether `url` belongs to the crawl.
    ///
    /// # Complexity
    /// O(log seeds) comparisons.
    pub fn contains(&self, url: &Url) -> bool {
        match self.kind {
            ScopeKind::Host => self.marks.contains(&scope_host(url)),
            ScopeKind::Domain => self.has_beginning(&backwards(url.host_str().unwrap_or_default())),
            ScopeKind::Prefix => self.has_beginning(&without_scheme(url)),
            ScopeKind::Any => true,
        }
    }

    fn has_beginning(&self, text: &str) -> bool {
        let to = (Bound::Unbounded, Bound::Included(text));
        self.marks.range::<str, _>(to).next_back().is_some_and(|mark| text.starts_with(mark))
    }
}

/// Returns the host and its non-default port: http and https of a host are one scope.
fn scope_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns a URL without its scheme and its default port.
fn without_scheme(url: &Url) -> String {
    format!("{}{}", scope_host(url), &url[Position::BeforePath..])
}

/// Returns a reversed host and a dot, which is a prefix of its reversed subdomains.
fn backwards(host: &str) -> String {
    host.chars().rev().chain(['.']).collect()
}

fn domain(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contains(kind: ScopeKind, seed: &str, url: &str) -> bool {
        Scope::new(kind, [&Url::parse(seed).unwrap()]).contains(&Url::parse(url).unwrap())
    }

    #[test]
    fn each_kind_draws_its_line() {
        use ScopeKind::{Any, Domain, Host, Prefix};
        let seed = "http://www.a.example:8080/docs/index.html";
        for (kind, url, expected) in [
            (Host, "http://www.a.example:8080/else", true),
            (Host, "http://www.a.example/", false),
            (Host, "http://a.example:8080/", false),
            (Host, "https://www.a.example:8080/", true),
            (Domain, "https://blog.a.example/", true),
            (Domain, "http://nota.example/", false),
            (Prefix, "http://www.a.example:8080/docs/x", true),
            (Prefix, "http://www.a.example:8080/doc", false),
            (Any, "http://b.example/", true),
        ] {
            assert_eq!(contains(kind, seed, url), expected, "{kind:?} {url}");
        }
    }

    #[test]
    fn http_and_https_of_a_host_are_one_scope() {
        use ScopeKind::{Host, Prefix};
        for (kind, seed, url, expected) in [
            (Host, "http://a.example/", "https://a.example/x", true),
            (Host, "https://a.example/", "http://a.example:80/x", true),
            (Host, "http://a.example/", "https://a.example:8443/", false),
            (Prefix, "https://a.example/docs/x", "http://a.example/docs/y", true),
            (Prefix, "https://a.example/docs/x", "http://a.example/other", false),
        ] {
            assert_eq!(contains(kind, seed, url), expected, "{kind:?} {seed} {url}");
        }
    }

    #[test]
    fn a_slash_in_the_query_ends_no_prefix() {
        let seed = "http://a.example/docs/list?from=/home/x";
        assert!(contains(ScopeKind::Prefix, seed, "http://a.example/docs/y"));
        assert!(!contains(ScopeKind::Prefix, seed, "http://a.example/other"));
    }

    /// The reference: compares with every seed.
    fn plain(kind: ScopeKind, seeds: &[Url], url: &Url) -> bool {
        let host = url.host_str().unwrap();
        seeds.iter().any(|seed| match kind {
            ScopeKind::Host => seed.host() == url.host() && seed.port() == url.port(),
            ScopeKind::Domain => {
                host == domain(seed) || host.ends_with(&format!(".{}", domain(seed)))
            }
            ScopeKind::Prefix => {
                let mut base = seed.clone();
                base.set_query(None);
                url.as_str().starts_with(base.join(".").unwrap().as_str())
            }
            ScopeKind::Any => true,
        })
    }

    proptest! {
        #[test]
        fn a_look_up_answers_as_a_scan_of_all_seeds(
            seeds in prop::collection::vec("(www\\.)?([ab]\\.){0,3}[ab](:81)?/([ab]/){0,3}[ab]?(\\?/a/)?", 0..12),
            urls in prop::collection::vec("(www\\.)?([ab]\\.){0,3}[ab](:81)?/([ab]/){0,3}[ab]?", 12),
        ) {
            let parse = |text: &String| Url::parse(&format!("http://{text}")).unwrap();
            let seeds: Vec<Url> = seeds.iter().map(parse).collect();
            for kind in [ScopeKind::Host, ScopeKind::Domain, ScopeKind::Prefix] {
                let scope = Scope::new(kind, &seeds);
                for url in urls.iter().map(parse) {
                    let expected = plain(kind, &seeds, &url);
                    prop_assert_eq!(scope.contains(&url), expected, "{:?} {}", kind, url);
                }
            }
        }
    }
}

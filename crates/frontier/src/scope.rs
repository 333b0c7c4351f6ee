//! Which URLs belong to a crawl.

use std::collections::BTreeSet;

use url::Url;

/// How far from its seeds a crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeKind {
    /// The seeds' hosts (host and port). The default.
    #[default]
    Host,
    /// The seeds' hosts without a leading `www.`, and all hosts below them.
    Domain,
    /// URLs that begin with a seed's URL up to its last slash.
    Prefix,
    /// Everything.
    Any,
}

/// The scope of one crawl: a kind and the seeds it was made from.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    kind: ScopeKind,
    marks: BTreeSet<String>,
}

impl Scope {
    /// The scope of these seeds.
    pub fn new<'a>(kind: ScopeKind, seeds: impl IntoIterator<Item = &'a Url>) -> Self {
        let mut scope = Self { kind, marks: BTreeSet::new() };
        seeds.into_iter().for_each(|seed| scope.add(seed));
        scope
    }

    /// Takes one more seed in; also the target of a seed's redirect.
    pub fn add(&mut self, seed: &Url) {
        let mark = match self.kind {
            ScopeKind::Host => host_key(seed),
            ScopeKind::Domain => domain(seed).to_owned(),
            ScopeKind::Prefix => {
                let text = seed.as_str();
                text.get(..=text.rfind('/').unwrap_or(0)).unwrap_or(text).to_owned()
            }
            ScopeKind::Any => return,
        };
        self.marks.insert(mark);
    }

    /// Whether `url` belongs to the crawl.
    pub fn contains(&self, url: &Url) -> bool {
        match self.kind {
            ScopeKind::Host => self.marks.contains(&host_key(url)),
            ScopeKind::Domain => {
                let host = url.host_str().unwrap_or_default();
                let below = |mark: &String| {
                    host.strip_suffix(mark.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                };
                self.marks.iter().any(below)
            }
            ScopeKind::Prefix => self.marks.iter().any(|mark| url.as_str().starts_with(mark)),
            ScopeKind::Any => true,
        }
    }
}

fn domain(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_prefix("www.").unwrap_or(host)
}

/// Host and port of a URL, the unit of politeness, robots and budgets: `a.example`,
/// `a.example:8080`, and `a.example:443` for https. Port 80 is left out.
pub fn host_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (url.port(), url.scheme()) {
        (Some(port), _) => format!("{host}:{port}"),
        (None, "https") => format!("{host}:443"),
        (None, _) => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (Domain, "https://blog.a.example/", true),
            (Domain, "http://nota.example/", false),
            (Prefix, "http://www.a.example:8080/docs/x", true),
            (Prefix, "http://www.a.example:8080/doc", false),
            (Any, "http://b.example/", true),
        ] {
            assert_eq!(contains(kind, seed, url), expected, "{kind:?} {url}");
        }
    }
}

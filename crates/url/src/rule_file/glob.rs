//! Patterns of addresses, as in robots.txt: `*` for any text, `$` at the end.

use url::Url;

/// Host, and pattern of path and query: `a.example/print/`, `*/7$`, `a.example:8080/*?print=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Name with the port if it is written in addresses; `None` for any host.
    host: Option<String>,
    /// Texts between the stars. The first one begins the path.
    parts: Vec<String>,
    /// Whether the last part ends the address.
    is_whole: bool,
}

impl Pattern {
    /// Parses a pattern; the error says what is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Err("write the pattern without a scheme: a.example/print/*".to_owned());
        }
        let at = text.find('/').ok_or("write a host and a path: a.example/print/*")?;
        let (host, path) = text.split_at(at);
        let host = match host {
            "*" => None,
            "" => return Err("write a host before the path, or * for any host".to_owned()),
            // Compared with parsed addresses, which have lower case and punycode.
            host => Some(authority_of(host)?),
        };
        let (path, is_whole) = match path.strip_suffix('$') {
            Some(path) => (path, true),
            None => (path, false),
        };
        Ok(Self { host, parts: path.split('*').map(str::to_owned).collect(), is_whole })
    }

    /// Returns the host, if the pattern names one.
    pub(super) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Returns whether an address matches, whatever its scheme.
    ///
    /// # Complexity
    /// The length of the address for each star.
    pub(super) fn matches(&self, host: &str, path: &str) -> bool {
        if self.host.as_deref().is_some_and(|own| own != host) {
            return false;
        }
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some(mut left) = path.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else {
            return !self.is_whole || left.is_empty();
        };
        for part in middle {
            // The first place leaves the most for the parts behind it.
            let Some(at) = left.find(part.as_str()) else { return false };
            left = left.get(at + part.len()..).unwrap_or_default();
        }
        if self.is_whole { left.ends_with(last.as_str()) } else { left.contains(last.as_str()) }
    }
}

/// Returns host and port of an address as it is written; the default port is not.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns path and query.
pub(super) fn path_and_query(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

/// Returns the normal form of host and port: `A.example:8080`.
pub(super) fn authority_of(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not a host. Write it like a.example or a.example:8080");
    let url = Url::parse(&format!("http://{text}/")).map_err(|_| wrong())?;
    let is_plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !is_plain || !url.username().is_empty() || url.password().is_some() {
        return Err(wrong());
    }
    Ok(authority(&url))
}

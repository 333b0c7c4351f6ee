//! The names of hosts and sites.

use url::Url;

/// Host and port of a URL, the unit of politeness, robots.txt, budgets and logs: `a.example`,
/// `a.example:8080`, and `a.example:443` for https. Port 80 is left out. A [site](site_name) is wider.
pub fn host_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (url.port(), url.scheme()) {
        (Some(port), _) => format!("{host}:{port}"),
        (None, "https") => format!("{host}:443"),
        (None, _) => host.to_owned(),
    }
}

/// The site of a URL: its host without `www.`, whatever the scheme, for a shop under two of these is one
/// shop; with a port that is not the scheme's own.
pub fn site_name(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_port_and_a_site_no_www() {
        for (url, host, site) in [
            ("http://a.example/x", "a.example", "a.example"),
            ("https://www.a.example/x", "www.a.example:443", "a.example"),
            ("http://a.example:8080/", "a.example:8080", "a.example:8080"),
            ("http://[::1]/", "[::1]", "[::1]"),
            ("http://www.localhost/", "www.localhost", "www.localhost"),
            ("file:///a", "", ""),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!((host_key(&url).as_str(), site_name(&url).as_str()), (host, site), "{url}");
        }
    }
}

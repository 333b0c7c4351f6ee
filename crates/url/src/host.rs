use url::Url;

/// Returns host and port of a URL, the unit of politeness, robots.txt, budgets and logs: `a.example`,
/// `a.example:8080`, and `a.example:443` for https. Port 80 is omitted. A [site](site_name) is wider.
pub fn host_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (url.port(), url.scheme()) {
        (Some(port), _) => format!("{host}:{port}"),
        (None, "https") => format!("{host}:443"),
        (None, _) => host.to_owned(),
    }
}

/// Returns the site of a URL: its host without `www.`, and a port that is not the scheme's default. It ignores the
/// scheme, because http and https usually serve one site.
pub fn site_name(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the registrable domain of a URL by the public suffix list, its private section included. For example
/// `m.a.example.co.uk` and port 8080 of `www.example.co.uk` are `example.co.uk`, and two users of `github.io` are two
/// sites. An IP address, a name without a dot and a public suffix return the host with its port.
///
/// Source: <https://publicsuffix.org>, compiled in by the crate `psl`.
pub fn registrable_site(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let domain = match url.host() {
        Some(url::Host::Domain(name)) => psl::domain_str(name.trim_end_matches('.')),
        _ => None,
    };
    domain.map_or_else(
        || url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
        str::to_owned,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registrable_site_is_what_somebody_registered() {
        for (url, site) in [
            ("http://a.example/x", "a.example"),
            ("https://m.shop.example.co.uk:8443/x", "example.co.uk"),
            ("https://amp.example.com./", "example.com"),
            ("https://one.github.io/", "one.github.io"),
            ("https://www.one.github.io/", "one.github.io"),
            ("https://github.io/", "github.io"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
            ("http://[::1]:80/", "[::1]"),
            ("http://localhost:3000/", "localhost:3000"),
            ("https://例え.テスト/", "xn--r8jz45g.xn--zckzah"),
            ("file:///a", ""),
        ] {
            assert_eq!(registrable_site(&Url::parse(url).unwrap()), site, "{url}");
        }
    }

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

//! Access control: the page is for one user on this machine.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use axum::http::{HeaderMap, Method};

/// Distinguishes requests of our own pages from those of others.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    hosts: Vec<String>,
    /// A secret in each of our forms, which other sites cannot read.
    pub(super) token: String,
}

impl Guard {
    pub(super) fn new(listen: SocketAddr) -> Self {
        let port = listen.port();
        let hosts = vec![listen.to_string(), format!("localhost:{port}")];
        // Two hashers, because each has random keys from the system.
        let half = || std::hash::RandomState::new().hash_one(port);
        Self { hosts, token: format!("{:016x}{:016x}", half(), half()) }
    }

    /// Whether the Host header names this server. DNS rebinding, a foreign name for this address, fails the check.
    pub(super) fn knows_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get("host").and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
    }

    /// Whether to answer a request: not if another site's page made it, according to Sec-Fetch-Site (W3C Fetch
    /// Metadata). Links from other sites to the overview are allowed.
    pub(super) fn may_ask(&self, method: &Method, path: &str, headers: &HeaderMap) -> bool {
        let is = |name: &str, wanted: &str| {
            let mut values = headers.get_all(name).iter();
            values.next().is_some_and(|value| value == wanted) && values.next().is_none()
        };
        let own = !headers.contains_key("sec-fetch-site")
            || is("sec-fetch-site", "same-origin")
            || is("sec-fetch-site", "none");
        let overview = method == Method::GET
            && path == "/"
            && is("sec-fetch-mode", "navigate")
            && is("sec-fetch-dest", "document");
        own || overview
    }

    /// Whether one of our own pages requested a change.
    pub(super) fn trusts(&self, headers: &HeaderMap, token: &str) -> bool {
        let own_origin = headers.get("origin").is_none_or(|origin| {
            let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            origin.is_some_and(|origin| self.hosts.iter().any(|own| own == origin))
        });
        let own_site = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
        self.knows_host(headers) && own_origin && own_site && equal(token, &self.token)
    }
}

/// Compares in constant time.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_site_requests_are_refused_except_links_to_the_overview() {
        let guard = Guard::new("127.0.0.1:7878".parse().unwrap());
        let may = |method: &Method, path: &str, list: &[(&'static str, &'static str)]| {
            let headers = list
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect();
            guard.may_ask(method, path, &headers)
        };
        for path in ["/", "/search", "/list"] {
            assert!(may(&Method::GET, path, &[]), "an old browser, or a script");
            for site in ["same-origin", "none"] {
                assert!(may(&Method::GET, path, &[("sec-fetch-site", site)]));
            }
        }
        for site in ["cross-site", "same-site", "", "Same-Origin", "same-origin, none"] {
            for method in [Method::GET, Method::HEAD, Method::POST] {
                for path in ["/", "/search", "/style.css"] {
                    for (mode, dest) in [
                        ("no-cors", "image"),
                        ("cors", "empty"),
                        ("navigate", "iframe"),
                        ("navigate", "document"),
                    ] {
                        let headers = [
                            ("sec-fetch-site", site),
                            ("sec-fetch-mode", mode),
                            ("sec-fetch-dest", dest),
                        ];
                        let overview = (&method, path, dest) == (&Method::GET, "/", "document");
                        assert_eq!(
                            may(&method, path, &headers),
                            overview,
                            "{method} {path} {headers:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn only_our_own_pages_may_change_anything() {
        let guard = Guard::new("127.0.0.1:7878".parse().unwrap());
        let headers = |list: &[(&'static str, &'static str)]| -> HeaderMap {
            list.iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect()
        };
        let own = headers(&[("host", "127.0.0.1:7878"), ("origin", "http://127.0.0.1:7878")]);
        assert!(guard.trusts(&own, &guard.token));
        assert!(guard.trusts(&headers(&[("host", "LOCALHOST:7878")]), &guard.token));
        assert!(!guard.trusts(&own, "") && !guard.trusts(&own, &"0".repeat(32)));
        for wrong in [
            &[("host", "evil.example:7878")][..],
            &[("host", "127.0.0.1:7878"), ("origin", "http://evil.example")],
            &[("host", "127.0.0.1:7878"), ("origin", "null")],
            &[("host", "127.0.0.1:7878"), ("sec-fetch-site", "cross-site")],
            &[],
        ] {
            assert!(!guard.trusts(&headers(wrong), &guard.token), "{wrong:?}");
        }
        assert_ne!(guard.token, Guard::new("127.0.0.1:7878".parse().unwrap()).token);
    }
}

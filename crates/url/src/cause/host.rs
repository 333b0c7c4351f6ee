//! The versions that a host's name states, and the host without them.

use url::{Host, Url};

use super::words::{self, Code, has};

/// A host without the labels of its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostParts {
    /// The rest of the name, with a port that is not the scheme's default.
    pub(super) base: String,
    pub(super) www: bool,
    pub(super) mobile: bool,
    pub(super) amp: bool,
    pub(super) print: bool,
    pub(super) language: Option<String>,
}

impl HostParts {
    pub(super) fn of(url: &Url) -> Self {
        let mut parts = Self::default();
        let host = url.host_str().unwrap_or_default();
        let mut rest = host;
        // The registrable domain has no labels of versions: `m.example` is one.
        let domain = crate::host::registrable_site(url);
        while let (Some(Host::Domain(_)), Some((label, behind))) =
            (url.host(), rest.split_once('.'))
        {
            let in_domain = behind.len() < domain.len() || !behind.contains('.');
            if in_domain || !parts.take(label) {
                break;
            }
            rest = behind;
        }
        parts.base = url.port().map_or_else(|| rest.to_owned(), |port| format!("{rest}:{port}"));
        parts
    }

    /// Takes a label, if it states a version that no other label has stated.
    fn take(&mut self, label: &str) -> bool {
        let flag = match label {
            "www" | "ww2" | "www2" => &mut self.www,
            _ if has(&words::MOBILE, label) => &mut self.mobile,
            _ if has(&words::AMP, label) => &mut self.amp,
            _ if has(&words::PRINT, label) => &mut self.print,
            _ => {
                let is_code = words::language_code(label) == Code::Yes;
                if is_code && self.language.is_none() {
                    self.language = Some(label.to_owned());
                    return true;
                }
                return false;
            }
        };
        !std::mem::replace(flag, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_before_the_domain_state_versions() {
        let base = |url: &str| HostParts::of(&Url::parse(url).unwrap());
        for (url, expected) in [
            ("http://www.a.example/", "a.example"),
            ("http://m.a.example:8080/", "a.example:8080"),
            ("http://www.de.a.example/", "a.example"),
            ("http://amp.m.a.example.co.uk/", "a.example.co.uk"),
            ("http://news.a.example/", "news.a.example"),
            ("http://m.example/", "m.example"),
            ("http://www.example/", "www.example"),
            ("http://de.example.com/", "example.com"),
            ("http://www.localhost/", "www.localhost"),
            ("http://127.0.0.1:81/", "127.0.0.1:81"),
        ] {
            assert_eq!(base(url).base, expected, "{url}");
        }
        let parts = base("http://www.m.de.a.example/");
        assert!(parts.www && parts.mobile && !parts.amp && parts.language.as_deref() == Some("de"));
    }
}

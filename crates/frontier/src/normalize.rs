//! The URL normal form: two spellings of one address become one string.

use url::Url;

/// Limits on URLs from the web. A URL beyond one is a trap or an attack, and is logged as such.
#[derive(Clone, Debug)]
pub struct UrlLimits {
    /// Bytes of the whole URL. Default 2,048.
    pub max_length: usize,
    /// Segments of the path. Default 32.
    pub max_segments: usize,
    /// Parameters of the query. Default 16.
    pub max_parameters: usize,
    /// How often one segment may stand in the path. Default 3.
    pub max_repeated_segment: usize,
}

impl Default for UrlLimits {
    fn default() -> Self {
        Self { max_length: 2048, max_segments: 32, max_parameters: 16, max_repeated_segment: 3 }
    }
}

/// Why a URL is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Not http or https, or no host.
    Scheme,
    /// Beyond [`UrlLimits`]; the text says which one.
    Trap(&'static str),
}

/// Parameters that say where a visitor came from and never change a page, one a line; a `*` at the
/// end stands for any ending.
const TRACKING: &str = include_str!("tracking.txt");

/// The normal form of an absolute URL: the WHATWG serialisation without fragment, user info,
/// tracking parameters, and a `?` with nothing behind it.
///
/// # Errors
/// [`Rejected`] for what a crawler should not follow.
///
/// # References
/// WHATWG URL standard; RFC 3986, section 6.2.
pub fn normalize(url: &Url, limits: &UrlLimits) -> Result<Url, Rejected> {
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Rejected::Scheme);
    }
    if url.as_str().len() > limits.max_length {
        return Err(Rejected::Trap("url-length"));
    }
    let mut url = url.clone();
    url.set_fragment(None);
    if !url.username().is_empty() || url.password().is_some() {
        // Only fails for URLs without a host, and this one has one.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    if let Some(host) = url.host_str().filter(|host| host.ends_with('.')) {
        let host = host.trim_end_matches('.').to_owned();
        if url.set_host(Some(&host)).is_err() {
            return Err(Rejected::Scheme);
        }
    }
    if let Some(query) = url.query() {
        let kept: Vec<&str> =
            query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
        if kept.len() > limits.max_parameters {
            return Err(Rejected::Trap("query-parameters"));
        }
        let kept = kept.join("&");
        url.set_query((!kept.is_empty()).then_some(&kept));
    }
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    if segments.len() > limits.max_segments {
        return Err(Rejected::Trap("path-segments"));
    }
    let repeated = |segment: &str| segments.iter().filter(|other| **other == segment).count();
    if segments
        .iter()
        .any(|segment| !segment.is_empty() && repeated(segment) > limits.max_repeated_segment)
    {
        return Err(Rejected::Trap("repeated-segment"));
    }
    Ok(url)
}

fn is_tracking(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or(pair).to_ascii_lowercase();
    TRACKING.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).any(
        |rule| match rule.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == rule,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(url: &str) -> Result<String, Rejected> {
        normalize(&Url::parse(url).unwrap(), &UrlLimits::default()).map(String::from)
    }

    #[test]
    fn spellings_of_one_address_become_one() {
        for (url, expected) in [
            ("HTTP://A.Example:80/x/../y#top", "http://a.example/y"),
            ("http://user:pw@a.example/", "http://a.example/"),
            ("http://a.example./?", "http://a.example/"),
            ("http:0l0../", "http://0l0/"),
            ("http://a.example/?utm_source=x&id=7&fbclid=q", "http://a.example/?id=7"),
            ("http://a.example/?UTM_Medium=x", "http://a.example/"),
            ("http://a.example/?b=2&a=1", "http://a.example/?b=2&a=1"),
            ("https://a.example:443/ü", "https://a.example/%C3%BC"),
        ] {
            assert_eq!(normal(url).as_deref(), Ok(expected), "{url}");
        }
    }

    #[test]
    fn traps_and_other_schemes_are_named() {
        assert_eq!(normal("mailto:a@b.example"), Err(Rejected::Scheme));
        assert_eq!(normal("file:///etc/passwd"), Err(Rejected::Scheme));
        let long = format!("http://a.example/{}", "x".repeat(3000));
        assert_eq!(normal(&long), Err(Rejected::Trap("url-length")));
        assert_eq!(
            normal("http://a.example/a/b/a/b/a/b/a/b"),
            Err(Rejected::Trap("repeated-segment"))
        );
        let deep =
            format!("http://a.example/{}", (0..40).map(|i| format!("{i}/")).collect::<String>());
        assert_eq!(normal(&deep), Err(Rejected::Trap("path-segments")));
        let query: String = (0..20).map(|i| format!("p{i}=1&")).collect();
        assert_eq!(
            normal(&format!("http://a.example/?{query}")),
            Err(Rejected::Trap("query-parameters"))
        );
    }

    proptest! {
        #[test]
        fn the_normal_form_is_its_own_normal_form(path in "[a-z/.%?&=#;:@ é中-]{0,60}") {
            if let Ok(url) = Url::parse(&format!("http://a.example/{path}"))
                && let Ok(once) = normalize(&url, &UrlLimits::default()) {
                let twice = normalize(&Url::parse(once.as_str()).unwrap(), &UrlLimits::default());
                prop_assert_eq!(Ok(once), twice);
            }
        }
    }
}

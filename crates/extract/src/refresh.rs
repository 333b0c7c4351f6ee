//! Refreshes: of a `<meta>` element or a `Refresh` header.
//!
//! Source: WHATWG HTML, "shared declarative refresh steps".

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use crate::addresses::join_in;
use crate::document::Link;

/// Maximum delay of a refresh that counts as a redirect. After a longer one, its target is a link.
const MAX_SECONDS: f64 = 10.0;

/// The target of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Within 10 seconds. It works like a redirect; to the page's own URL if it names none.
    Soon(Url),
    /// Later, to a named URL.
    Later(Url),
}

impl Refresh {
    /// Parses a `Refresh` header of the page with this URL, in every spelling that browsers accept.
    pub fn of_header(url: &Url, content: &str) -> Option<Self> {
        Self::parse(url, url, content, UTF_8)
    }

    /// Parses the content of a `<meta>`. The query of its target is encoded in the page's charset, as that of a link.
    pub(crate) fn parse(
        url: &Url,
        base: &Url,
        content: &str,
        encoding: &'static Encoding,
    ) -> Option<Self> {
        let content = content.trim_start();
        let end = content.find(|c: char| !c.is_ascii_digit()).unwrap_or(content.len());
        let (seconds, rest) = content.split_at_checked(end)?;
        if seconds.is_empty() && !rest.starts_with('.') {
            return None;
        }
        let seconds = if seconds.is_empty() { 0.0 } else { seconds.parse::<f64>().ok()? };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !rest.is_empty()
            && !rest.starts_with(|c: char| c == ';' || c == ',' || c.is_whitespace())
        {
            return None;
        }
        let rest = rest.trim_start();
        let target = target_of(rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start());
        let is_soon = seconds <= MAX_SECONDS;
        match target {
            // Pages that reload after a longer time are up to date for readers, not for a crawl.
            "" => is_soon.then(|| Self::Soon(url.clone())),
            target if is_soon => join_in(base, target, encoding).map(Self::Soon),
            target => join_in(base, target, encoding).map(Self::Later),
        }
    }

    /// Returns the URL that is loaded.
    pub const fn target(&self) -> &Url {
        match self {
            Self::Soon(url) | Self::Later(url) => url,
        }
    }

    /// Returns the target if it works like a redirect. Otherwise adds it to the links.
    pub fn or_link(self, links: &mut Vec<Link>) -> Option<Url> {
        match self {
            Self::Soon(url) => Some(url),
            Self::Later(url) => {
                links.push(Link { url, nofollow: false });
                None
            }
        }
    }
}

/// Returns the URL of a refresh: `url='x'` with any text behind it, `'x'` or `x`. It is empty if the refresh names none.
fn target_of(text: &str) -> &str {
    let named = text.get(..3).filter(|start| start.eq_ignore_ascii_case("url"));
    let named = named.and_then(|_| text.get(3..)?.trim_start().strip_prefix('='));
    let target = named.map_or(text, str::trim_start);
    let quoted = |quote| target.strip_prefix(quote)?.split(quote).next();
    quoted('"').or_else(|| quoted('\'')).unwrap_or(target).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_is_parsed_as_browsers_do() {
        let url = Url::parse("http://a.example/page").unwrap();
        let soon = |target| Some((true, target));
        for (content, expected) in [
            ("0; url=/x", soon("http://a.example/x")),
            ("3,x", soon("http://a.example/x")),
            ("300; url=/x", Some((false, "http://a.example/x"))),
            ("11 /x", Some((false, "http://a.example/x"))),
            // It names no URL: the page reloads.
            ("1", soon("http://a.example/page")),
            (" 10 ", soon("http://a.example/page")),
            ("5;", soon("http://a.example/page")),
            ("0; url=''", soon("http://a.example/page")),
            ("0; url=", soon("http://a.example/page")),
            ("30", None),
            ("30; url=", None),
            ("x; url=/x", None),
            ("", None),
            ("0;/x", soon("http://a.example/x")),
            ("0 /x", soon("http://a.example/x")),
            ("0\t;\tURL\n=\n'/x' and more", soon("http://a.example/x")),
            ("0; url=\"/x", soon("http://a.example/x")),
            ("0; '/x'", soon("http://a.example/x")),
            ("0; url /x", soon("http://a.example/url%20/x")),
            (".5; url=/x", soon("http://a.example/x")),
            ("5.9.9; url=/x", soon("http://a.example/x")),
            ("0x; url=/x", None),
            ("-1; url=/x", None),
            ("; url=/x", None),
        ] {
            let refresh = Refresh::of_header(&url, content);
            let is_soon = matches!(refresh, Some(Refresh::Soon(_)));
            let parsed = refresh.as_ref().map(|refresh| (is_soon, refresh.target().as_str()));
            assert_eq!(parsed, expected, "{content}");
        }
    }

    #[test]
    fn a_page_without_a_target_reloads_itself_not_its_base() {
        let url = Url::parse("http://a.example/page").unwrap();
        let base = Url::parse("http://b.example/").unwrap();
        let of = |content| Refresh::parse(&url, &base, content, UTF_8).unwrap().target().clone();
        assert_eq!(of("1"), url);
        assert_eq!(of("1;x").as_str(), "http://b.example/x");
    }
}

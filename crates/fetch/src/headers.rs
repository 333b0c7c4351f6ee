//! Headers that describe a page.

use url::Url;

/// Directives with a value: the word before their colon is not a robot's name.
const WITH_VALUE: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Names of all robots: the star of robots.txt and the name of the meta element.
const ALL_ROBOTS: [&str; 2] = ["*", "robots"];

/// Returns the directives of an `X-Robots-Tag` that apply to `agent`: those for it and those for all robots. In
/// `otherbot: noindex`, all directives up to the next name apply to `otherbot`. A semicolon separates like a comma;
/// white space within a directive remains.
pub fn robots_directives<'a>(value: &'a str, agent: &'a str) -> impl Iterator<Item = &'a str> {
    let mut ours = true;
    value.split([',', ';']).filter_map(move |mut part| {
        if let Some((name, rest)) = part.split_once(':') {
            let name = name.trim();
            let is_name = !name.contains(char::is_whitespace)
                && !WITH_VALUE.iter().any(|directive| name.eq_ignore_ascii_case(directive));
            if is_name {
                let is_all = ALL_ROBOTS.iter().any(|all| name.eq_ignore_ascii_case(all));
                ours = is_all || name.eq_ignore_ascii_case(agent);
                part = rest;
            }
        }
        ours.then_some(part.trim())
    })
}

/// The media type of Really Simple Licensing (RSL 1.0).
const RSL: &str = "application/rsl+xml";

/// A link of a header `Link` (RFC 8288, section 3).
#[derive(Clone, Copy, Debug, Default)]
struct WebLink<'a> {
    href: &'a str,
    rel: &'a str,
    media_type: Option<&'a str>,
}

impl<'a> WebLink<'a> {
    /// Returns the links about the page at `url`. An `anchor` names another resource (section 3.2).
    fn all(value: &'a str, url: &'a Url) -> impl Iterator<Item = Self> {
        value.split('<').skip(1).filter_map(move |link| {
            let (href, parameters) = link.split_once('>')?;
            let mut link = Self { href: href.trim(), ..Self::default() };
            for parameter in parameters.split(';') {
                let (name, value) = parameter.split_once('=').unwrap_or_default();
                let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
                match name.trim().to_ascii_lowercase().as_str() {
                    "rel" => link.rel = value,
                    "type" => link.media_type = Some(value),
                    "anchor" if !url.join(value).is_ok_and(|anchor| anchor == *url) => return None,
                    _ => {}
                }
            }
            Some(link)
        })
    }

    fn is(&self, relation: &str) -> bool {
        self.rel.split_whitespace().any(|word| word.eq_ignore_ascii_case(relation))
    }
}

/// Returns the target of `Link: <URL>; rel="canonical"` (RFC 8288) of the page at `url`.
pub fn canonical_link<'a>(value: &'a str, url: &'a Url) -> Option<&'a str> {
    WebLink::all(value, url).find(|link| link.is("canonical")).map(|link| link.href)
}

/// Returns the targets of `Link: <URL>; rel="alternate"` (RFC 8288) of the page at `url`, such as other languages. Skips
/// types other than HTML, such as feeds.
pub fn alternate_links<'a>(value: &'a str, url: &'a Url) -> impl Iterator<Item = &'a str> {
    let is_page = |link: &WebLink<'_>| {
        link.media_type.is_none_or(|media_type| media_type.to_ascii_lowercase().contains("html"))
    };
    WebLink::all(value, url)
        .filter(move |link| link.is("alternate") && is_page(link))
        .map(|link| link.href)
}

/// Returns the targets of `Link: <URL>; rel="license"; type="application/rsl+xml"` (RSL 1.0) of the page at `url`.
pub fn rsl_links<'a>(value: &'a str, url: &'a Url) -> impl Iterator<Item = &'a str> {
    let is_rsl = |link: &WebLink<'_>| {
        link.media_type.is_some_and(|media_type| media_type.eq_ignore_ascii_case(RSL))
    };
    WebLink::all(value, url)
        .filter(move |link| link.is("license") && is_rsl(link))
        .map(|link| link.href)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Url {
        Url::parse("http://a.example/p").unwrap()
    }

    #[test]
    fn a_robots_tag_speaks_to_all_or_to_the_robot_that_it_names() {
        for (value, noindex, nofollow) in [
            ("noindex", true, false),
            ("max-snippet:-1, noindex", true, false),
            ("max-image-preview:large, max-snippet:-1, noindex, nofollow", true, true),
            ("unavailable_after: Wed, 25 Jun 2010 15:00:00 PST, noindex", true, false),
            ("otherbot: noindex, nofollow", false, false),
            ("Hapax: nofollow, otherbot: noindex", false, true),
            ("otherbot: noindex, hapax: nofollow", false, true),
            ("*: noindex", true, false),
            ("Robots: noindex, nofollow", true, true),
            ("otherbot: nofollow, *: noindex", true, false),
            ("noindex; nofollow", true, true),
            ("otherbot: noindex; hapax: nofollow", false, true),
        ] {
            let says = |word: &str| robots_directives(value, "hapax").any(|said| said == word);
            assert_eq!((says("noindex"), says("nofollow")), (noindex, nofollow), "{value}");
        }
    }

    #[test]
    fn of_many_links_the_canonical_one_is_found_however_it_is_written() {
        for (value, found) in [
            ("</x>; rel=\"canonical\"", Some("/x")),
            ("</x>; REL=Canonical", Some("/x")),
            ("</a>; rel=next, < /x >; title=\"t\"; rel=\"alternate canonical\"", Some("/x")),
            ("</x>; rel=canonical, </b>; rel=prev", Some("/x")),
            ("</x>; rel=\"not-canonical\"", None),
            ("/x; rel=canonical", None),
            ("</x; rel=canonical", None),
            // RFC 8288, section 3.2.
            ("</x>; rel=canonical; anchor=\"/z\"", None),
            ("</x>; Anchor=\"#part\"; rel=canonical", None),
            ("</y>; rel=canonical; anchor=\"/z\", </x>; rel=canonical", Some("/x")),
            ("</x>; rel=canonical; anchor=\"\"", Some("/x")),
            ("</x>; rel=canonical; anchor=\"http://a.example/p\"", Some("/x")),
        ] {
            assert_eq!(canonical_link(value, &page()), found, "{value}");
        }
    }

    #[test]
    fn alternates_that_are_pages_are_taken_and_feeds_and_styles_are_not() {
        let page = page();
        for (value, expected) in [
            ("</de>; rel=\"alternate\"; hreflang=\"de\"", &["/de"][..]),
            ("</de>; hreflang=de; Rel=Alternate, </fr>;rel=\"x alternate\"", &["/de", "/fr"]),
            ("</feed>; rel=alternate; type=\"application/rss+xml\"", &[]),
            ("</m>; rel=alternate; type=\"text/html\"; media=handheld", &["/m"]),
            ("</style>; rel=stylesheet, </c>; rel=canonical", &[]),
            ("</x; rel=alternate", &[]),
            ("</x>; rel=alternate; anchor=\"/z\", </y>; rel=alternate", &["/y"]),
            ("", &[]),
        ] {
            let links = alternate_links(value, &page).collect::<Vec<_>>();
            assert_eq!(links, expected, "{value}");
        }
    }
}

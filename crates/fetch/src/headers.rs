//! Headers that describe a page.

/// Directives with a value: the word before their colon is not a robot's name.
const WITH_VALUE: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Returns the directives of an `X-Robots-Tag` that apply to `agent`: those for it and those for all robots. In
/// `otherbot: noindex`, all directives up to the next name apply to `otherbot`.
pub fn robots_directives<'a>(value: &'a str, agent: &'a str) -> impl Iterator<Item = &'a str> {
    let mut ours = true;
    value.split(',').filter_map(move |mut part| {
        if let Some((name, rest)) = part.split_once(':') {
            let name = name.trim();
            let is_name = !name.contains(char::is_whitespace)
                && !WITH_VALUE.iter().any(|directive| name.eq_ignore_ascii_case(directive));
            if is_name {
                ours = name.eq_ignore_ascii_case(agent);
                part = rest;
            }
        }
        ours.then_some(part.trim())
    })
}

/// Returns the target of `Link: <URL>; rel="canonical"` (RFC 8288).
pub fn canonical_link(value: &str) -> Option<&str> {
    value.split('<').skip(1).find_map(|link| {
        let (href, parameters) = link.split_once('>')?;
        let canonical = parameters.split(';').any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && value.split_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
        });
        canonical.then_some(href.trim())
    })
}

/// Returns the targets of `Link: <URL>; rel="alternate"` (RFC 8288), such as other languages. Skips types other than
/// HTML, such as feeds.
pub fn alternate_links(value: &str) -> impl Iterator<Item = &str> {
    value.split('<').skip(1).filter_map(|link| {
        let (href, parameters) = link.split_once('>')?;
        let (mut is_alternate, mut is_page) = (false, true);
        for parameter in parameters.split(';') {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
            let name = name.trim();
            if name.eq_ignore_ascii_case("rel") {
                let mut words = value.split_whitespace();
                is_alternate = words.any(|word| word.eq_ignore_ascii_case("alternate"));
            } else if name.eq_ignore_ascii_case("type") {
                is_page = value.to_ascii_lowercase().contains("html");
            }
        }
        (is_alternate && is_page).then_some(href.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(canonical_link(value), found, "{value}");
        }
    }

    #[test]
    fn alternates_that_are_pages_are_taken_and_feeds_and_styles_are_not() {
        for (value, expected) in [
            ("</de>; rel=\"alternate\"; hreflang=\"de\"", &["/de"][..]),
            ("</de>; hreflang=de; Rel=Alternate, </fr>;rel=\"x alternate\"", &["/de", "/fr"]),
            ("</feed>; rel=alternate; type=\"application/rss+xml\"", &[]),
            ("</m>; rel=alternate; type=\"text/html\"; media=handheld", &["/m"]),
            ("</style>; rel=stylesheet, </c>; rel=canonical", &[]),
            ("</x; rel=alternate", &[]),
            ("", &[]),
        ] {
            assert_eq!(alternate_links(value).collect::<Vec<_>>(), expected, "{value}");
        }
    }
}

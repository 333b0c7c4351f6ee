//! `Link: <URL>; rel="alternate"; hreflang="de"`: the other languages of a page, by RFC 8288.

/// The targets of the pages that a header names as alternates: not feeds, whose type says so.
pub(super) fn alternates(value: &str) -> impl Iterator<Item = &str> {
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
    use super::alternates;

    #[test]
    fn pages_are_taken_and_feeds_and_styles_are_not() {
        for (value, expected) in [
            ("</de>; rel=\"alternate\"; hreflang=\"de\"", &["/de"][..]),
            ("</de>; hreflang=de; Rel=Alternate, </fr>;rel=\"x alternate\"", &["/de", "/fr"]),
            ("</feed>; rel=alternate; type=\"application/rss+xml\"", &[]),
            ("</m>; rel=alternate; type=\"text/html\"; media=handheld", &["/m"]),
            ("</style>; rel=stylesheet, </c>; rel=canonical", &[]),
            ("</x; rel=alternate", &[]),
            ("", &[]),
        ] {
            assert_eq!(alternates(value).collect::<Vec<_>>(), expected, "{value}");
        }
    }
}

//! Shows links of pages without an address as written in the page.

use url::{Position, Url};

/// Placeholder for the missing address. Its folders keep `../` links relative. No page links to a host without a dot.
const BASE: &str = "http://no-address-of-this-page/%00/%00/%00/%00/%00/%00/%00/%00/page";

/// Returns the placeholder address for a page without one.
///
/// # Errors
/// Never: it is a constant that parses.
pub fn stand_in() -> Result<Url, url::ParseError> {
    Url::parse(BASE)
}

/// Returns a link as written in a page that was read with [`stand_in`]. Any other link is returned whole.
pub fn as_it_stands(link: &Url) -> String {
    let base = Url::parse(BASE).ok().filter(|base| base.host() == link.host());
    let Some(base) =
        base.filter(|base| (base.scheme(), base.port()) == (link.scheme(), link.port()))
    else {
        return link.as_str().to_owned();
    };
    if !link.path().starts_with("/%00/") {
        // A link from the root of the unknown host.
        return link[Position::BeforePath..].to_owned();
    }
    let relative = base.make_relative(link).unwrap_or_default();
    // A link to the page's own folder is empty otherwise.
    if relative.starts_with('/') { format!(".{relative}") } else { relative }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_what_the_page_has() {
        let base = stand_in().unwrap();
        for link in [
            "b.html",
            "a/b?c=d#e",
            "a/b/",
            "./",
            "../",
            "../b",
            "../../../../b",
            "/",
            "/root/b?c",
            "?q=1",
            "#top",
            "https://b.example/x",
            "http://localhost/x",
            "mailto:a@b.example",
        ] {
            assert_eq!(as_it_stands(&base.join(link).unwrap()), link);
        }
        assert_eq!(as_it_stands(&base.join("./b").unwrap()), "b");
    }
}

//! Links of a page that has no address: they are shown as they stand in it.

use url::{Position, Url};

/// Stands for the address that a page does not have. Links within its folders are relative ones; no page
/// leads to a host of this name, and without a dot it is nobody's name.
const BASE: &str = "http://no-address-of-this-page/%00/%00/%00/%00/%00/%00/%00/%00/page";

/// The address by which a page without one is read.
///
/// # Errors
/// None that happens: it is a constant that parses.
pub fn stand_in() -> Result<Url, url::ParseError> {
    Url::parse(BASE)
}

/// A link of a page that was read by [`stand_in`], as the page has it; any other link is whole.
pub fn as_it_stands(link: &Url) -> String {
    let base = Url::parse(BASE).ok().filter(|base| base.host() == link.host());
    let Some(base) =
        base.filter(|base| (base.scheme(), base.port()) == (link.scheme(), link.port()))
    else {
        return link.as_str().to_owned();
    };
    if !link.path().starts_with("/%00/") {
        // From the root of whatever host it is.
        return link[Position::BeforePath..].to_owned();
    }
    let relative = base.make_relative(link).unwrap_or_default();
    // The page's own folder has no name from there.
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

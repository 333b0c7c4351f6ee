//! The page's own address in its text: error pages and print versions show it.

use url::Url;

/// Minimum number of words of a path. A single word may be in any text.
const MIN_WORDS: usize = 2;
/// Maximum length of a path in bytes.
const MAX_PATH: usize = 2_048;

/// Replaces each occurrence of a URL or of its path in a text by as many spaces, so that lines and lengths stay.
///
/// # Complexity
/// Linear in the text.
pub(super) fn without_address(text: &str, url: &Url) -> Option<String> {
    let path = url.path();
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    if path.len() > MAX_PATH || words.count() < MIN_WORDS || !text.contains(path) {
        return None;
    }
    let host = url.host_str().unwrap_or_default();
    let prefixes = [format!("https://{host}"), format!("http://{host}"), host.to_owned()];
    let query = url.query().map(|query| format!("?{query}"));
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, from) = rest.split_at(at);
        let address = prefixes.iter().find(|prefix| before.ends_with(prefix.as_str()));
        let start = at - address.map_or(0, String::len);
        let before = before.get(..start).unwrap_or_default();
        let behind = from.get(path.len()..).unwrap_or_default();
        let asked = query.as_deref().filter(|query| behind.starts_with(query));
        let end = at + path.len() + asked.map_or(0, str::len);
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '%');
        let whole = !before.ends_with(goes_on)
            && !rest.get(end..).is_some_and(|behind| behind.starts_with(goes_on));
        if whole {
            found.push_str(before);
            found.extend(std::iter::repeat_n(' ', end - start));
        } else {
            found.push_str(rest.get(..end).unwrap_or_default());
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    found.push_str(rest);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_address_is_blank_and_others_stay() {
        let url = Url::parse("https://shop.example/lamps/red-large?print=1").unwrap();
        for (text, expected) in [
            ("/lamps/red-large was not found.", Some(" was not found.")),
            ("Page \"/lamps/red-large?print=1\"\nis gone", Some("Page \" \"\nis gone")),
            ("Source: https://shop.example/lamps/red-large, 3 May", Some("Source: , 3 May")),
            ("shop.example/lamps/red-large", Some("")),
            ("other.example/lamps/red-large", Some("other.example/lamps/red-large")),
            (
                "/lamps/red-large-2 and a/lamps/red-large",
                Some("/lamps/red-large-2 and a/lamps/red-large"),
            ),
            ("Lamps red large", None),
        ] {
            let found = without_address(text, &url);
            assert!(found.iter().all(|found| found.len() == text.len()), "{text}");
            let collapsed = |text: &str| {
                text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(found.as_deref().map(collapsed), expected.map(collapsed), "{text}");
        }
        let short = Url::parse("https://shop.example/lamps").unwrap();
        assert_eq!(without_address("See /lamps", &short), None);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let url = Url::parse("https://a.example/a/a/a/a/a/a/a/a").unwrap();
        without_address(&"/a".repeat(1_000_000), &url);
    }
}

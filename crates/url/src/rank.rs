//! Ranks addresses of the same text by which one a person would keep.

use std::cmp::Reverse;

use url::Url;

/// Words in an address that mark an alternative version of a page.
const VERSIONS: [&str; 12] = [
    "amp",
    "embed",
    "mobile",
    "m",
    "print",
    "printable",
    "printer",
    "printversion",
    "printview",
    "share",
    "touch",
    "wap",
];

/// The rank of an address; greater is better: https, not an alternative version, few parameters, a short path. The
/// host's name does not count: it does not show which site copied the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressRank {
    /// Whether it is https.
    pub https: bool,
    /// Whether it is not a version for printers, phones or frames.
    pub plain: bool,
    /// Number of parameters.
    pub parameters: Reverse<usize>,
    /// Bytes of path and query.
    pub path: Reverse<usize>,
}

impl AddressRank {
    /// Returns the rank of an address. Text that is not a URL counts as a path.
    pub fn of(address: &str) -> Self {
        let url = Url::parse(address).ok();
        let url = url.as_ref();
        Self {
            https: url.is_some_and(|url| url.scheme() == "https"),
            plain: !url.is_some_and(is_version),
            parameters: Reverse(url.map_or(0, |url| url.query_pairs().count())),
            path: Reverse(url.map_or(address.len(), |url| {
                url.path().len() + url.query().map_or(0, |query| query.len() + 1)
            })),
        }
    }
}

/// Returns whether an address is a version for printers, phones or frames.
fn is_version(url: &Url) -> bool {
    let is_word = |word: &str| VERSIONS.iter().any(|version| word.eq_ignore_ascii_case(version));
    let words = |text: &str| text.split(['/', '.', '-', '_', '=', '&', '?']).any(is_word);
    let host = url.host_str().unwrap_or_default().split('.').next().unwrap_or_default();
    is_word(host) || words(url.path()) || url.query().is_some_and(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_urls_rank_higher() {
        let order = [
            "https://a.example/long/path",
            "https://a.example/?a=1",
            "http://long-name-of-a-host.example/",
            "http://a.example/x",
            "no url at all",
            "http://a.example/x?sid=7",
            "http://a.example/x?sid=7&b=1",
            "http://a.example/print/x",
            "http://m.a.example/xyz.amp.html",
        ];
        let ranks = order.map(AddressRank::of);
        assert!(ranks.is_sorted_by(|a, b| a > b), "{ranks:?}");
    }
}

//! The origin of a sitemap, in the one number that an entry of the frontier stores.

use hapax_frontier::Entry;

/// Maximum number of sitemap indexes above a sitemap.
pub(crate) const MAX_SITEMAP_DEPTH: u8 = 2;
/// Maximum number of redirects to a sitemap, with any `--max-redirects`: one number stores both.
pub(crate) const MOST_REDIRECTS: u8 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SitemapOrigin {
    /// Number of sitemap indexes above it.
    pub(crate) level: u8,
    pub(crate) redirects: u8,
}

impl SitemapOrigin {
    /// Decodes the number of an entry. Without redirects it is the level.
    pub(crate) const fn of(entry: &Entry) -> Self {
        let levels = MAX_SITEMAP_DEPTH + 1;
        Self { level: entry.hops % levels, redirects: entry.hops / levels }
    }

    pub(crate) const fn hops(self) -> u8 {
        self.level + self.redirects * (MAX_SITEMAP_DEPTH + 1)
    }

    /// A sitemap below an index that is not known any more.
    pub(crate) const BELOW: Self = Self { level: 1, redirects: 0 };
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn a_sitemap_origin_round_trips_through_the_hop_count_of_an_entry() {
        let url = Url::parse("http://a.example/").unwrap();
        for level in 0..=MAX_SITEMAP_DEPTH {
            for redirects in 0..=MOST_REDIRECTS {
                let way = SitemapOrigin { level, redirects };
                let stored = Entry::sitemap(url.clone(), way.hops()).encode();
                assert_eq!(SitemapOrigin::of(&Entry::decode(&stored).unwrap()), way);
            }
            assert_eq!(SitemapOrigin { level, redirects: 0 }.hops(), level);
        }
    }
}

//! Arbitrary bytes as a sitemap; the result respects the limit.
#![no_main]
use hapax_fetch::{Sitemap, SitemapLimits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(base) = url::Url::parse("http://a.example/sitemap.xml") else { return };
    let limits = SitemapLimits { max_urls: 100, ..SitemapLimits::default() };
    let found = Sitemap::parse(&base, data, &limits);
    assert!(found.pages.len() + found.maps.len() <= limits.max_urls);
});

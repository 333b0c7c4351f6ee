/// A URL's identity: the 128-bit XXH3 hash of its normal form.
pub type UrlKey = u128;

/// Returns the identity of a URL in [normal form](crate::normalize).
pub fn url_key(url: &str) -> UrlKey {
    xxhash_rust::xxh3::xxh3_128(url.as_bytes())
}

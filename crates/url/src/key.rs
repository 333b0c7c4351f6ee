//! The identity of a URL.

/// A URL's identity: 128 bits of its normal form's XXH3.
pub type UrlKey = u128;

/// The identity of a URL in [normal form](crate::normalize).
pub fn url_key(url: &str) -> UrlKey {
    xxhash_rust::xxh3::xxh3_128(url.as_bytes())
}

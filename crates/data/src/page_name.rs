//! The name of a page in a search engine.

use sha2::{Digest, Sha256};

/// Returns the short name of a page by its key: 128 bits of the SHA-256 in hexadecimal digits. A URL may be longer than
/// another system accepts.
pub(crate) fn page_name(key: &str) -> String {
    Sha256::digest(key.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

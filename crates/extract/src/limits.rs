//! Limits of one page.

use crate::parse::ParseLimits;

/// Limits of one page.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Of the parse.
    pub parse: ParseLimits,
    /// Links read from one page. Default 10,000.
    pub max_links: usize,
    /// Bytes of the title. Default 1,024.
    pub max_title_bytes: usize,
    /// Bytes of a base, a link or an image's address once it is absolute: a long base would be in
    /// every one of them. Default 2,048.
    pub max_url_bytes: usize,
    /// Bytes of the absolute addresses of all links of a page, and again of its images. Default 4 MiB.
    pub max_links_bytes: usize,
    /// The robot that pages may speak to by name, `<meta name=hapax>`, in lower case.
    pub agent: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            parse: ParseLimits::default(),
            max_links: 10_000,
            max_title_bytes: 1024,
            max_url_bytes: 2048,
            max_links_bytes: 4 << 20,
            agent: "hapax".to_owned(),
        }
    }
}

//! Limits of one page.

use crate::parse::ParseLimits;

/// Limits of one page.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Limits of the parse.
    pub parse: ParseLimits,
    /// Maximum number of links per page. Default 10,000.
    pub max_links: usize,
    /// Maximum length of the title in bytes. Default 1,024.
    pub max_title_bytes: usize,
    /// Maximum bytes of the absolute URL of a base, link or image: each link repeats the base. Default 2,048.
    pub max_url_bytes: usize,
    /// Maximum total length of all absolute link URLs of a page in bytes; the same for its images. Default 4 MiB.
    pub max_links_bytes: usize,
    /// Name of the robot in lower case, for directives such as `<meta name=hapax>`.
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

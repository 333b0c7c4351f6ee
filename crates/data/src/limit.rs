//! Limits that share a reason, each with its flag.

use hapax_extract::Truncation;
use hapax_fetch::Exceeded;
use hapax_url::Trap;

use crate::reason::SkipReason;

/// A limit that was exceeded. Several limits have one reason; each has a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Layers of Content-Encoding.
    Encodings,
    /// Bytes of a decoded body.
    Body,
    /// Growth of a body when it is decoded.
    Ratio,
    /// Depth of a document.
    Nesting,
    /// Nodes of a document.
    Nodes,
    /// Time to parse a document.
    ParseTime,
    /// Bytes of a sitemap.
    Sitemap,
    /// Links of a page.
    PageLinks,
    /// Entries of a sitemap.
    SitemapUrls,
    /// Length of a URL.
    UrlLength,
    /// Segments of a URL.
    UrlSegments,
    /// Parameters of a URL.
    UrlParameters,
    /// Repetitions of a segment of a URL.
    RepeatedSegment,
    /// The last year of dates in URLs.
    UrlYears,
}

impl Limit {
    /// Returns the reason of a URL or page that exceeds the limit.
    pub const fn reason(self) -> SkipReason {
        match self {
            Self::Encodings | Self::Body | Self::Ratio => SkipReason::Bomb,
            Self::Nesting | Self::Nodes | Self::ParseTime | Self::Sitemap => SkipReason::CutShort,
            Self::PageLinks | Self::SitemapUrls => SkipReason::Links,
            Self::UrlLength
            | Self::UrlSegments
            | Self::UrlParameters
            | Self::RepeatedSegment
            | Self::UrlYears => SkipReason::Trap,
        }
    }

    /// Returns the flag of the command `crawl` that sets the limit.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Encodings => "--max-encodings",
            Self::Body => "--max-body",
            Self::Ratio => "--max-ratio",
            Self::Nesting => "--max-nesting",
            Self::Nodes => "--max-nodes",
            Self::ParseTime => "--max-parse-time",
            Self::Sitemap => "--max-sitemap",
            Self::PageLinks => "--max-links",
            Self::SitemapUrls => "--max-sitemap-urls",
            Self::UrlLength => "--max-url-length",
            Self::UrlSegments => "--max-url-segments",
            Self::UrlParameters => "--max-url-parameters",
            Self::RepeatedSegment => "--max-repeated-segment",
            Self::UrlYears => "--url-years",
        }
    }
}

impl From<Trap> for Limit {
    fn from(trap: Trap) -> Self {
        match trap {
            Trap::Length => Self::UrlLength,
            Trap::Segments => Self::UrlSegments,
            Trap::Parameters => Self::UrlParameters,
            Trap::RepeatedSegment => Self::RepeatedSegment,
            Trap::Calendar => Self::UrlYears,
        }
    }
}

impl From<Truncation> for Limit {
    fn from(truncation: Truncation) -> Self {
        match truncation {
            Truncation::Depth => Self::Nesting,
            Truncation::Nodes => Self::Nodes,
            Truncation::Time => Self::ParseTime,
        }
    }
}

impl From<Exceeded> for Limit {
    fn from(exceeded: Exceeded) -> Self {
        match exceeded {
            Exceeded::Encodings => Self::Encodings,
            Exceeded::Body => Self::Body,
            Exceeded::Ratio => Self::Ratio,
        }
    }
}

/// A reason, and the limit that was exceeded if several have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkipCause {
    /// The reason.
    pub reason: SkipReason,
    /// The limit that was exceeded.
    pub limit: Option<Limit>,
}

impl SkipCause {
    /// Returns the flag of the command `crawl` that removes the cause, if there is one.
    pub const fn flag(self) -> Option<&'static str> {
        match self.limit {
            Some(limit) => Some(limit.flag()),
            None => self.reason.flag(),
        }
    }
}

impl From<SkipReason> for SkipCause {
    fn from(reason: SkipReason) -> Self {
        Self { reason, limit: None }
    }
}

impl From<Limit> for SkipCause {
    fn from(limit: Limit) -> Self {
        Self { reason: limit.reason(), limit: Some(limit) }
    }
}

impl From<&hapax_fetch::Error> for SkipCause {
    fn from(error: &hapax_fetch::Error) -> Self {
        Self { reason: error.kind().into(), limit: error.exceeded().map(Limit::from) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use hapax_fetch::{Limits, decode_body_within};
    use hapax_url::{Rejected, UrlLimits, normalize};
    use url::Url;

    use super::*;
    use crate::lines::Skipped;

    #[test]
    fn a_trap_is_named_with_the_flag_of_the_limit_that_it_exceeds() {
        for (rest, flag) in [
            ("x".repeat(3000), "--max-url-length"),
            ((0..40).map(|i| format!("{i}/")).collect(), "--max-url-segments"),
            (
                format!("?{}", (0..20).map(|i| format!("p{i}=1&")).collect::<String>()),
                "--max-url-parameters",
            ),
            ("a/a/a/a/a".to_owned(), "--max-repeated-segment"),
            ("calendar/2147/7/".to_owned(), "--url-years"),
        ] {
            let url = Url::parse(&format!("http://a.example/{rest}")).unwrap();
            let Err(Rejected::Trap(why)) = normalize(&url, &UrlLimits::default()) else {
                panic!("{url} is no trap")
            };
            let cause = SkipCause::from(Limit::from(why));
            assert_eq!((cause.reason, cause.flag()), (SkipReason::Trap, Some(flag)), "{why}");
        }
    }

    #[test]
    fn a_body_that_grows_is_named_with_the_flag_of_the_limit_that_it_exceeds() {
        let mut gz = GzEncoder::new(Vec::new(), Compression::best());
        gz.write_all(&vec![b' '; 1 << 20]).unwrap();
        let packed = gz.finish().unwrap();
        let small = Limits { max_body: 1000, ..Limits::default() };
        for (encoding, limits, flag) in [
            ("gzip, gzip, gzip", Limits::default(), "--max-encodings"),
            ("gzip", Limits::default(), "--max-ratio"),
            ("gzip", small, "--max-body"),
        ] {
            let error = decode_body_within(&packed, encoding, &limits).unwrap_err();
            let cause = SkipCause::from(&error);
            assert_eq!((cause.reason, cause.flag()), (SkipReason::Bomb, Some(flag)), "{error}");
        }
    }

    #[test]
    fn a_page_that_was_cut_short_is_requested_again_by_a_recrawl_alone() {
        let line =
            Skipped::new("t", "u", Limit::from(Truncation::Depth), Truncation::Depth.as_str());
        assert_eq!(line.reason, SkipReason::CutShort);
        assert_eq!(line.flag.as_deref(), Some("--max-nesting"));
        assert_eq!(line.describe_again(), "requested again by --recrawl");
        let ended = Skipped::new("t", "u", SkipReason::CutShort, "body ended early");
        assert_eq!(ended.flag, None);
    }
}

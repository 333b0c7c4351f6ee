//! When a skipped URL is requested again, and which flag removes the reason.

use std::str::FromStr;

use hapax_extract::Truncation;
use serde::{Deserialize, Serialize};

use crate::reason::SkipReason;

/// When a skipped URL is requested again without a change of flags: `again` in skipped.jsonl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Again {
    /// By every run, because it is a seed.
    Seed,
    /// By the next run, because it stays queued.
    NextRun,
    /// By a recrawl, or by `--retry` with its reason.
    Recrawl,
    /// Only if a changed flag removes the reason.
    Never,
}

impl Again {
    /// Returns a description for messages.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Seed => "requested again by every run, because it is a seed",
            Self::NextRun => "requested again by the next run",
            Self::Recrawl => "requested again by --recrawl, or by --retry with its reason",
            Self::Never => "not requested again",
        }
    }
}

/// Limits that share a reason: the reason, the words of the `detail` by which the limit is known, and its flag.
const LIMITS: [(SkipReason, &str, &str); 14] = [
    (SkipReason::Bomb, "encodings one over the other", "--max-encodings"),
    (SkipReason::Bomb, "bytes decoded", "--max-body"),
    (SkipReason::Bomb, "grows over", "--max-ratio"),
    (SkipReason::CutShort, Truncation::Depth.as_str(), "--max-nesting"),
    (SkipReason::CutShort, Truncation::Nodes.as_str(), "--max-nodes"),
    (SkipReason::CutShort, Truncation::Time.as_str(), "--max-parse-time"),
    (SkipReason::CutShort, "larger than --max-sitemap", "--max-sitemap"),
    (SkipReason::Links, "beyond --max-links", "--max-links"),
    (SkipReason::Links, "beyond --max-sitemap-urls", "--max-sitemap-urls"),
    // As `hapax_url::normalize` names them.
    (SkipReason::Trap, "url-length", "--max-url-length"),
    (SkipReason::Trap, "path-segments", "--max-url-segments"),
    (SkipReason::Trap, "query-parameters", "--max-url-parameters"),
    (SkipReason::Trap, "repeated-segment", "--max-repeated-segment"),
    (SkipReason::Trap, "calendar", "--url-years"),
];

impl SkipReason {
    /// Returns when a URL with this reason is requested again, if it is not a seed.
    pub const fn again(self) -> Again {
        match self {
            Self::Busy
            | Self::Connect
            | Self::Dns
            | Self::FeedDistrusted
            | Self::HostDown
            | Self::Http5xx
            | Self::LeaseLost
            | Self::Protocol
            | Self::Queue
            | Self::RetryAfter
            | Self::RobotsUnreachable
            | Self::Timeout => Again::NextRun,
            Self::Blank
            | Self::Bomb
            | Self::Charset
            | Self::ContentType
            | Self::CrawlDelay
            | Self::CutShort
            | Self::Encoding
            | Self::Extraction
            | Self::Feed
            | Self::Http4xx
            | Self::HttpOther
            | Self::Noindex
            | Self::PrivateAddress
            | Self::Redirects
            | Self::Reserved
            | Self::Robots
            | Self::Soft404
            | Self::Tls
            | Self::TooLarge => Again::Recrawl,
            Self::BadPort
            | Self::Budget
            | Self::CleanParam
            | Self::Depth
            | Self::DustRule
            | Self::Exclude
            | Self::Forgotten
            | Self::Include
            | Self::Links
            | Self::Nofollow
            | Self::Revisit
            | Self::Scope
            | Self::Trap
            | Self::Other => Again::Never,
        }
    }

    /// Returns the flag of the command `crawl` that removes the reason, if there is one. If several limits have the
    /// reason, it is that of the limit which `detail` names.
    pub fn flag(self, detail: &str) -> Option<&'static str> {
        let limit =
            LIMITS.iter().find(|(reason, words, _)| *reason == self && detail.contains(*words));
        limit.map_or_else(|| self.only_flag(), |(_, _, flag)| Some(*flag))
    }

    /// Returns the flag of a reason that has one for all details.
    const fn only_flag(self) -> Option<&'static str> {
        Some(match self {
            Self::BadPort => "--ports",
            Self::Budget => "--max-pages-per-host",
            Self::CrawlDelay => "--max-crawl-delay",
            Self::Depth => "--max-depth",
            Self::DustRule => "--dust-share",
            Self::Exclude => "--exclude",
            Self::Http4xx => "--header",
            Self::Include => "--include",
            Self::PrivateAddress => "--allow-private",
            Self::Queue => "--max-queued-per-host",
            Self::Redirects => "--max-redirects",
            Self::Reserved => "--obey-reservations",
            Self::RetryAfter => "--max-retry-after",
            Self::Robots => "--ignore-robots",
            Self::Scope => "--scope",
            Self::Tls => "--insecure",
            Self::TooLarge => "--max-body",
            _ => return None,
        })
    }
}

impl FromStr for SkipReason {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().filter(|reason| *reason != Self::Other);
        known.clone().find(|reason| reason.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = known.map(Self::as_str).collect();
            format!("unknown reason. Reasons: {}", names.join(", "))
        })
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
            assert_eq!(SkipReason::Trap.flag(why), Some(flag), "{why}");
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
            let reason = SkipReason::from(error.kind());
            assert_eq!(reason.flag(&error.to_string()), Some(flag), "{error}");
        }
    }

    #[test]
    fn a_page_that_was_cut_short_is_requested_again_by_a_recrawl_alone() {
        let line = Skipped::new("t", "u", SkipReason::CutShort, Truncation::Depth.as_str());
        assert_eq!(line.flag.as_deref(), Some("--max-nesting"));
        assert_eq!(line.describe_again(), "requested again by --recrawl");
        let ended = Skipped::new("t", "u", SkipReason::CutShort, "body ended early");
        assert_eq!(ended.flag, None);
    }

    #[test]
    fn reasons_are_found_by_their_names() {
        assert_eq!("http-4xx".parse(), Ok(SkipReason::Http4xx));
        for name in ["", "other", "http", "HTTP-4xx"] {
            let error = name.parse::<SkipReason>().unwrap_err();
            assert!(error.contains(": bad-port, blank, "), "{error}");
        }
    }
}

//! When a skipped URL is requested again, and which flag removes the reason.

use std::str::FromStr;

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

    /// Returns the flag of the command `crawl` that removes the reason; `None` if no flag does, or if several limits have
    /// the reason. Then [`SkipCause`](crate::SkipCause) knows the flag of the limit.
    pub const fn flag(self) -> Option<&'static str> {
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
    use super::*;

    #[test]
    fn reasons_are_found_by_their_names() {
        assert_eq!("http-4xx".parse(), Ok(SkipReason::Http4xx));
        for name in ["", "other", "http", "HTTP-4xx"] {
            let error = name.parse::<SkipReason>().unwrap_err();
            assert!(error.contains(": bad-port, blank, "), "{error}");
        }
    }
}

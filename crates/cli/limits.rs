//! Limits of untrusted input, from the settings. Values out of range are refused here, whatever their source: flag,
//! environment or file.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Result;
use hapax_crawl::{Dust, Patience};
use hapax_fetch::SitemapLimits;
use hapax_url::UrlLimits;

use crate::exit::{USAGE, coded};
use crate::settings::Settings;
use hapax_data::units::{Limit, Size, Time, parse_duration, parse_size};

/// The pause after a host's failure is at first ten times the delay, within these bounds.
const SHORTEST_BREAK: Duration = Duration::from_millis(200);
const LONGEST_BREAK: Duration = Duration::from_secs(60);

/// A number, or an error if it is out of range.
fn number<T>(flag: &str, given: Option<T>, default: T, within: RangeInclusive<T>) -> Result<T>
where
    T: PartialOrd + Display,
{
    match given {
        Some(given) if !within.contains(&given) => {
            Err(refused(flag, given, within.start(), within.end()))
        }
        given => Ok(given.unwrap_or(default)),
    }
}

/// As [`number`], in bytes.
fn size(flag: &str, given: Option<&Size>, default: usize, within: [&str; 2]) -> Result<usize> {
    let Some(given) = given else { return Ok(default) };
    let [least, most] = within;
    let bytes = given.bytes();
    if bytes < parse_size(least)? || bytes > parse_size(most)? {
        return Err(refused(flag, given, least, most));
    }
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// As [`number`], for a duration.
fn time(
    flag: &str,
    given: Option<&Time>,
    default: Duration,
    within: [&str; 2],
) -> Result<Duration> {
    let Some(given) = given else { return Ok(default) };
    let [least, most] = within;
    let time = given.duration();
    if time < parse_duration(least)? || time > parse_duration(most)? {
        return Err(refused(flag, given, least, most));
    }
    Ok(time)
}

fn refused(
    flag: &str,
    given: impl Display,
    least: impl Display,
    most: impl Display,
) -> anyhow::Error {
    coded(USAGE, format!("--{flag} {given}: out of range. Allowed: {least} to {most}"))
}

/// Redirects in a row: the default and the maximum. The frontier counts to 63.
const REDIRECTS: u8 = 10;
const MOST_REDIRECTS: u8 = 50;

impl Settings {
    pub(crate) fn redirects(&self) -> Result<u8> {
        number("max-redirects", self.requests.max_redirects, REDIRECTS, 0..=MOST_REDIRECTS)
    }

    pub(crate) fn limits(&self) -> Result<hapax_fetch::Limits> {
        let default = hapax_fetch::Limits::default();
        let wait = |flag: &str, text: &Option<Time>, default| {
            time(flag, text.as_ref(), default, ["1ms", "1d"])
        };
        let bytes = |flag: &str, text: &Option<Size>, default, least| {
            size(flag, text.as_ref(), default, [least, "1TiB"])
        };
        let count = |flag: &str, given, default, least, most| {
            number(flag, given, default, RangeInclusive::new(least, most))
        };
        let idle = self.bodies.max_idle_connections;
        let (large, waiting) = (self.bodies.large_bodies, self.bodies.waiting_bodies);
        Ok(hapax_fetch::Limits {
            max_sitemap: self.sitemap_limits()?.max_bytes,
            // An archived response must stay below the maximum size of a record.
            max_body: size(
                "max-body",
                self.requests.max_body.as_ref(),
                default.max_body,
                ["1B", "255MiB"],
            )?,
            max_ratio: count("max-ratio", self.bodies.max_ratio, default.max_ratio, 1, 1_000_000)?,
            max_encodings: self.max_encodings()?,
            max_robots: bytes("max-robots", &self.bodies.max_robots, default.max_robots, "1KiB")?,
            max_unwanted: bytes(
                "max-unwanted",
                &self.bodies.max_unwanted,
                default.max_unwanted,
                "0B",
            )?,
            max_headers: bytes(
                "max-headers",
                &self.bodies.max_headers,
                default.max_headers,
                "256B",
            )?,
            large_bodies: count("large-bodies", large, default.large_bodies, 1, 65_536)?,
            waiting_bodies: count("waiting-bodies", waiting, default.waiting_bodies, 0, 65_536)?,
            max_idle_connections: count(
                "max-idle-connections",
                idle,
                default.max_idle_connections,
                0,
                1_000_000,
            )?,
            dns_timeout: wait("dns-timeout", &self.bodies.dns_timeout, default.dns_timeout)?,
            connect_timeout: wait(
                "connect-timeout",
                &self.requests.connect_timeout,
                default.connect_timeout,
            )?,
            read_timeout: wait("read-timeout", &self.requests.read_timeout, default.read_timeout)?,
            total_timeout: wait(
                "request-timeout",
                &self.requests.request_timeout,
                default.total_timeout,
            )?,
            min_rate: bytes("min-rate", &self.bodies.min_rate, default.min_rate, "0B")?,
            large_rate: bytes("large-rate", &self.bodies.large_rate, default.large_rate, "0B")?,
            slow_after: wait("slow-after", &self.bodies.slow_after, default.slow_after)?,
        })
    }

    fn max_encodings(&self) -> Result<usize> {
        let default = hapax_fetch::Limits::default().max_encodings;
        number("max-encodings", self.bodies.max_encodings, default, 1..=16)
    }

    pub(crate) fn sitemap_limits(&self) -> Result<SitemapLimits> {
        let default = SitemapLimits::default();
        let (bytes, urls) = (self.documents.max_sitemap.as_ref(), self.documents.max_sitemap_urls);
        Ok(SitemapLimits {
            max_bytes: size("max-sitemap", bytes, default.max_bytes, ["1KiB", "1GiB"])?,
            max_urls: number("max-sitemap-urls", urls, default.max_urls, 0..=10_000_000)?,
            max_encodings: self.max_encodings()?,
            ..default
        })
    }

    pub(crate) fn page_limits(&self) -> Result<hapax_extract::Limits> {
        let default = hapax_extract::Limits::default();
        let parse = hapax_extract::ParseLimits::default();
        let (attributes, most_time) =
            (self.documents.max_attributes, self.documents.max_parse_time.as_ref());
        Ok(hapax_extract::Limits {
            max_links: number(
                "max-links",
                self.documents.max_links,
                default.max_links,
                0..=10_000_000,
            )?,
            // Twice the frontier's limit, which reports longer URLs as skipped.
            max_url_bytes: self.url_limits()?.max_length.saturating_mul(2),
            agent: self.product_token(),
            parse: hapax_extract::ParseLimits {
                max_depth: number(
                    "max-nesting",
                    self.documents.max_nesting,
                    parse.max_depth,
                    16..=65_536,
                )?,
                max_nodes: number(
                    "max-nodes",
                    self.documents.max_nodes,
                    parse.max_nodes,
                    100..=100_000_000,
                )?,
                max_attributes: number(
                    "max-attributes",
                    attributes,
                    parse.max_attributes,
                    1..=65_536,
                )?,
                max_time: time("max-parse-time", most_time, parse.max_time, ["1ms", "1h"])?,
            },
            ..default
        })
    }

    pub(crate) fn url_limits(&self) -> Result<UrlLimits> {
        let default = UrlLimits::default();
        let count = |flag: &str, given, default, least| {
            number(flag, given, default, RangeInclusive::new(least, 65_536))
        };
        let (length, segments) = (self.urls.max_url_length, self.urls.max_url_segments);
        let (parameters, repeated) = (self.urls.max_url_parameters, self.urls.max_repeated_segment);
        Ok(UrlLimits {
            // Keys of twice this length still fit into the stores.
            max_length: number("max-url-length", length, default.max_length, 16..=32_000)?,
            max_segments: count("max-url-segments", segments, default.max_segments, 1)?,
            max_parameters: count("max-url-parameters", parameters, default.max_parameters, 0)?,
            max_repeated_segment: count(
                "max-repeated-segment",
                repeated,
                default.max_repeated_segment,
                1,
            )?,
            years: self.urls.url_years.as_deref().map_or(Ok(default.years), years)?,
            sort_query: self.scope.sort_query == Some(true),
        })
    }

    /// When hosts and IP addresses may be requested.
    pub(crate) fn politeness(&self) -> Result<hapax_frontier::Options> {
        let default = hapax_frontier::Options::default();
        let delay = self.delay();
        let pause = |flag: &str, text: &Option<Time>, default| {
            time(flag, text.as_ref(), default, ["0s", "1d"])
        };
        let tries = |flag: &str, given, default| number(flag, given, default, 1..=1_000_000);
        let breaks = delay.saturating_mul(10).clamp(SHORTEST_BREAK, LONGEST_BREAK);
        Ok(hapax_frontier::Options {
            delay,
            max_delay: pause("max-delay", &self.hosts.max_delay, default.max_delay)?,
            per_host: self.politeness.per_host.unwrap_or(default.per_host).max(1),
            address_delay: pause("address-delay", &self.hosts.address_delay, delay / 4)?,
            breaker_after: tries("breaker-after", self.hosts.breaker_after, default.breaker_after)?,
            breaker_wait: pause("breaker-wait", &self.hosts.breaker_wait, breaks)?,
            give_up_after: tries("give-up-after", self.hosts.give_up_after, default.give_up_after)?,
            max_queued_per_host: number(
                "max-queued-per-host",
                self.hosts.max_queued_per_host,
                default.max_queued_per_host,
                1..=u64::MAX,
            )?,
            max_queue_bytes: size(
                "max-queue",
                self.hosts.max_queue.as_ref(),
                default.max_queue_bytes as usize,
                ["1KiB", "1TiB"],
            )? as u64,
        })
    }

    pub(crate) fn patience(&self) -> Result<Patience> {
        let default = Patience::default();
        let wait = |flag: &str, text: &Option<Time>, default, least| {
            time(flag, text.as_ref(), default, [least, "1d"])
        };
        let (delay, retry) = (&self.hosts.max_crawl_delay, &self.hosts.max_retry_after);
        let factor = self.hosts.aside_factor;
        Ok(Patience {
            max_crawl_delay: wait("max-crawl-delay", delay, default.max_crawl_delay, "0s")?,
            obey_reservations: self.politeness.obey_reservations == Some(true),
            skip_slow_hosts: self.politeness.max_crawl_delay_skip == Some(true),
            max_retry_after: wait("max-retry-after", retry, default.max_retry_after, "0s")?,
            aside_after: wait("aside-after", &self.hosts.aside_after, default.aside_after, "1ms")?,
            aside_factor: number("aside-factor", factor, default.aside_factor, 0..=1000)?,
        })
    }

    pub(crate) fn dust(&self) -> Result<Dust> {
        let default = Dust::default();
        Ok(Dust {
            // Too few pages cannot show that a pattern repeats.
            pages: match self.urls.dust_pages {
                Some(Limit(None)) => u64::MAX,
                Some(Limit(pages)) => number("dust-pages", pages, default.pages, 10..=u64::MAX)?,
                None => default.pages,
            },
            share: number("dust-share", self.urls.dust_share, default.share, 0.5..=1.0)?,
        })
    }
}

fn years(text: &str) -> Result<RangeInclusive<u32>> {
    let year = |text: &str| text.trim().parse().ok().filter(|year| *year < 10_000);
    let range = text.split_once("..").and_then(|(from, to)| Some(year(from)?..=year(to)?));
    range
        .filter(|years| !years.is_empty())
        .ok_or_else(|| coded(USAGE, format!("--url-years {text:?}: write them like 1990..2035")))
}

#[cfg(test)]
mod tests;

//! The limits of what comes from the web, by the settings.

use anyhow::Result;
use hapax_fetch::SitemapLimits;
use hapax_frontier::UrlLimits;

use crate::settings::Settings;
use crate::units::{parse_duration, parse_size};

fn size(text: Option<&str>, default: usize) -> Result<usize> {
    let bytes = text.map(parse_size).transpose()?;
    Ok(bytes.map_or(default, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
}

impl Settings {
    /// Limits of each request.
    pub(crate) fn limits(&self) -> Result<hapax_fetch::Limits> {
        let default = hapax_fetch::Limits::default();
        let time =
            |text: &Option<String>, default| text.as_deref().map_or(Ok(default), parse_duration);
        Ok(hapax_fetch::Limits {
            connect_timeout: time(&self.connect_timeout, default.connect_timeout)?,
            read_timeout: time(&self.read_timeout, default.read_timeout)?,
            total_timeout: time(&self.request_timeout, default.total_timeout)?,
            max_body: size(self.max_body.as_deref(), default.max_body)?,
            max_ratio: self.max_ratio.unwrap_or(default.max_ratio),
            max_idle_connections: self.max_idle_connections.unwrap_or(default.max_idle_connections),
            max_unwanted: size(self.max_unwanted.as_deref(), default.max_unwanted)?,
            max_headers: size(self.max_headers.as_deref(), default.max_headers)?,
            min_rate: size(self.min_rate.as_deref(), default.min_rate)?,
            max_robots: size(self.max_robots.as_deref(), default.max_robots)?,
            ..default
        })
    }

    /// Limits of each sitemap.
    pub(crate) fn sitemap_limits(&self) -> Result<SitemapLimits> {
        let default = SitemapLimits::default();
        Ok(SitemapLimits {
            max_bytes: size(self.max_sitemap.as_deref(), default.max_bytes)?,
            max_urls: self.max_sitemap_urls.unwrap_or(default.max_urls),
            ..default
        })
    }

    /// Limits of each page's text.
    pub(crate) fn page_limits(&self) -> Result<hapax_extract::Limits> {
        let default = hapax_extract::Limits::default();
        let parse = hapax_extract::ParseLimits::default();
        let url_bytes = self.max_url_length.unwrap_or(default.max_url_bytes);
        let max_time = self.max_parse_time.as_deref().map(parse_duration).transpose()?;
        Ok(hapax_extract::Limits {
            max_links: self.max_links.unwrap_or(default.max_links),
            // Twice that of the frontier, which says of a URL that is too long that it was left out.
            max_url_bytes: url_bytes.saturating_mul(2),
            agent: self.agent().1,
            parse: hapax_extract::ParseLimits {
                max_depth: self.max_nesting.unwrap_or(parse.max_depth),
                max_nodes: self.max_nodes.unwrap_or(parse.max_nodes),
                max_attributes: self.max_attributes.unwrap_or(parse.max_attributes),
                max_time: max_time.unwrap_or(parse.max_time),
            },
            ..default
        })
    }

    /// Limits of each URL.
    pub(crate) fn url_limits(&self) -> UrlLimits {
        let default = UrlLimits::default();
        UrlLimits {
            max_length: self.max_url_length.unwrap_or(default.max_length),
            max_segments: self.max_url_segments.unwrap_or(default.max_segments),
            max_parameters: self.max_url_parameters.unwrap_or(default.max_parameters),
            max_repeated_segment: self.max_repeated_segment.unwrap_or(default.max_repeated_segment),
            sort_query: self.sort_query == Some(true),
            ..default
        }
    }
}

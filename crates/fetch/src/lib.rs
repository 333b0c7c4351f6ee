#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod body;
mod client;
mod content_type;
mod cookies;
mod decode;
mod error;
mod guard;
mod headers;
mod http;
mod idle;
mod limits;
mod resolver;
mod response;
mod robots;
mod sitemap;
mod tdm;
mod tls;

#[cfg(test)]
#[path = "../tests/serve/mod.rs"]
mod serve;

pub use client::{Fetcher, Options, Validators, host_and_port, origin};
pub use content_type::content_type;
pub use decode::{decode_body, decode_body_within, decode_bytes_within};
pub use error::{Error, Exceeded, Kind};
pub use guard::AddressGuard;
pub use headers::{alternate_links, canonical_link, robots_directives, rsl_links};
pub use http::{HttpParts, http_parts};
pub use limits::{Limits, MAX_TDMREP};
pub use response::{Response, header_text, one_line};
pub use robots::{
    MAX_ROBOTS_REDIRECTS, ROBOTS_PAUSE, Robots, RobotsAnswer, Unreachable, fetch_robots,
    robots_token,
};
pub use sitemap::{Sitemap, SitemapLimits, SitemapPage};
pub use tdm::{TDMREP_PATH, TdmRules};
pub use tls::roots_file;

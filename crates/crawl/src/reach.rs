//! How pages are got: by HTTP, or by a way of the embedder's own.

use std::fmt::Debug;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use hapax_fetch::{Error, Fetcher, Response, RobotsAnswer, Validators, fetch_robots};
use url::Url;

/// What comes later.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whether a body of a content type is read.
pub type Wanted = dyn Fn(&str) -> bool + Send + Sync;

/// Gets what the crawl asks for. Politeness, robots.txt and all limits of number and time are the crawl's; how
/// long one request may take, and how large its body may be, is for this to see to.
pub trait Fetch: Send + Sync + Debug {
    /// The address that is dialled for a URL: requests to one address are spaced. `None` where none is known.
    fn address<'a>(&'a self, url: &'a Url) -> Pending<'a, Result<Option<IpAddr>, Error>>;

    /// One request, without following redirects. `known` is what a stored copy is known by, for an answer of
    /// 304; a body that is not `wanted` may be left.
    fn get<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
        wanted: &'a Wanted,
    ) -> Pending<'a, Result<Response, Error>>;

    /// The robots.txt of a URL's host, with a pause between two requests.
    fn robots<'a>(&'a self, url: &'a Url, pause: Duration) -> Pending<'a, RobotsAnswer>;
}

impl Fetch for Fetcher {
    fn address<'a>(&'a self, url: &'a Url) -> Pending<'a, Result<Option<IpAddr>, Error>> {
        Box::pin(Self::address(self, url))
    }

    fn get<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
        wanted: &'a Wanted,
    ) -> Pending<'a, Result<Response, Error>> {
        Box::pin(self.get_wanted(url, known, wanted))
    }

    fn robots<'a>(&'a self, url: &'a Url, pause: Duration) -> Pending<'a, RobotsAnswer> {
        Box::pin(fetch_robots(self, url, pause))
    }
}

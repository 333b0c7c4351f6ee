//! [`Fetch`]: URL to response, by HTTP or by the embedder.

use std::fmt::Debug;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use hapax_fetch::{Error, Fetcher, Response, RobotsAnswer, Validators, fetch_robots};
use url::Url;

/// A boxed future.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Returns whether a body of this content type is wanted.
pub type Wanted = dyn Fn(&str) -> bool + Send + Sync;

/// Fetches URLs. The crawl enforces politeness, robots.txt and all limits across requests; an implementation limits
/// the time and the size of one request.
pub trait Fetch: Send + Sync + Debug {
    /// Returns the address that a request for this URL would dial, or `None` if unknown. The crawl spaces requests
    /// to one address.
    fn address<'a>(&'a self, url: &'a Url) -> Pending<'a, Result<Option<IpAddr>, Error>>;

    /// Makes one request without following redirects. `known` are the validators of a stored copy, which allow an
    /// answer of 304. A body that is not `wanted` need not be read.
    fn get<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
        wanted: &'a Wanted,
    ) -> Pending<'a, Result<Response, Error>>;

    /// Makes one request for a sitemap, whose body may be larger than that of a page. The crawl decodes `raw` as a
    /// stream if `body` is empty.
    fn get_sitemap<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        self.get(url, known, &|_| true)
    }

    /// Makes one request for a seed that may be a sitemap or a page: `body` is decoded.
    fn get_list<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        self.get(url, known, &|_| true)
    }

    /// Makes one request for a tdmrep.json, of which only [`hapax_fetch::MAX_TDMREP`] bytes are used.
    fn get_tdmrep<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        self.get(url, known, &|_| true)
    }

    /// Fetches the robots.txt of the URL's host, with a pause between two requests.
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

    fn get_sitemap<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        Box::pin(Self::get_sitemap(self, url, known))
    }

    fn get_list<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        Box::pin(Self::get_list(self, url, known))
    }

    fn get_tdmrep<'a>(
        &'a self,
        url: &'a Url,
        known: &'a Validators,
    ) -> Pending<'a, Result<Response, Error>> {
        Box::pin(Self::get_tdmrep(self, url, known))
    }

    fn robots<'a>(&'a self, url: &'a Url, pause: Duration) -> Pending<'a, RobotsAnswer> {
        Box::pin(fetch_robots(self, url, pause))
    }
}

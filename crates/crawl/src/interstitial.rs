//! Pages that a server shows before it has set a cookie. With cookies, the URL is requested once more.

use hapax_fetch::Response;
use hapax_url::normalize;
use url::Url;

use super::context::Shared;
use super::page::read_response;

/// A larger page that sets a cookie is not read twice, in bytes.
const MAX_INTERSTITIAL: usize = 64 << 10;
/// The status of servers that admit only clients with a cookie.
const FORBIDDEN: u16 = 403;

/// Returns whether to request the URL once more, with the cookies that this response has set.
pub(super) fn asks_again(shared: &Shared, response: &Response) -> bool {
    shared.cookies
        && response.cookies_changed
        && (response.status == FORBIDDEN || reloads(shared, response))
}

/// Returns what the log line of a refused page adds about cookies.
pub(super) fn hint(shared: &Shared, response: &Response) -> &'static str {
    let is_wall = response.status == FORBIDDEN && response.header("set-cookie").is_some();
    match is_wall && !shared.cookies {
        true => "; it sets cookies, which are kept with --cookies",
        false => "",
    }
}

/// Returns whether a page reloads itself (HTML standard, "refresh").
fn reloads(shared: &Shared, response: &Response) -> bool {
    if response.body.len() > MAX_INTERSTITIAL {
        return false;
    }
    let read = read_response(&response.url, response, &shared.page_limits, false);
    let Some(target) = read.ok().and_then(|document| document.refresh) else { return false };
    let normal = |url: &Url| normalize(url, &shared.url_limits).ok();
    normal(&target).is_some_and(|target| normal(&response.url) == Some(target))
}

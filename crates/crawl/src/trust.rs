//! Trust in the dates and validators of a site, as the frontier remembers it.

use hapax_frontier::Frontier;
use hapax_frontier::revisit::Trust;
use hapax_url::{registrable_site, url_key};
use url::Url;

use crate::error::Result;
use crate::visits::unix_now;

/// Names of the frontier's notes about a site: trust in its sitemaps and feeds, and in its headers.
pub(crate) const DATES: &str = "trust-dates";
pub(crate) const HEADERS: &str = "trust-headers";
/// One of this many conditional requests is sent without its condition, so that wrong validators are noticed.
const SAMPLED: u128 = 16;
/// Right answers that are assumed of the headers of a new site: RFC 9110 defines them. One wrong answer ends it.
const ASSUMED: u32 = 4;

/// Returns what the visits of a site showed about its claims of one kind.
pub(crate) fn trust(frontier: &dyn Frontier, url: &Url, kind: &'static str) -> Result<Trust> {
    let note = frontier.note_of(&registrable_site(url), kind)?;
    Ok(note.and_then(|note| Trust::decode(&note)).unwrap_or_else(|| {
        let mut trust = Trust::default();
        if kind == HEADERS {
            (0..ASSUMED).for_each(|_| trust.observe(false, false));
        }
        trust
    }))
}

/// Learns whether a page of a site had changed, after a claim that it had or had not.
pub(crate) fn learn(
    frontier: &dyn Frontier,
    url: &Url,
    kind: &'static str,
    (claimed, changed): (bool, bool),
) -> Result<()> {
    let mut trust = trust(frontier, url, kind)?;
    trust.observe(claimed, changed);
    frontier.note(&registrable_site(url), kind, trust.encode());
    Ok(())
}

/// Returns whether a due page is requested only if it has changed: the site's validators proved right, and the request
/// is not a sample.
pub(crate) fn believes_validators(frontier: &dyn Frontier, url: &Url) -> bool {
    let is_sample =
        (url_key(url.as_str()) ^ u128::from(unix_now() / 86_400)).is_multiple_of(SAMPLED);
    !is_sample && trust(frontier, url, HEADERS).is_ok_and(|trust| trust.believes(false))
}

#[cfg(test)]
mod tests {
    use hapax_frontier::{DiskFrontier, Options};

    use super::*;

    #[test]
    fn headers_are_believed_until_they_are_wrong_and_dates_when_they_proved_right() {
        let folder = tempfile::tempdir().unwrap();
        let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
        let url = Url::parse("http://www.a.example/").unwrap();
        let believes = |kind, claimed| trust(&frontier, &url, kind).unwrap().believes(claimed);
        assert!(believes(HEADERS, false) && !believes(DATES, false) && !believes(DATES, true));
        learn(&frontier, &url, HEADERS, (false, true)).unwrap();
        assert!(!believes(HEADERS, false));
        // All hosts of a site are one.
        let other = Url::parse("http://blog.a.example/").unwrap();
        for _ in 0..5 {
            learn(&frontier, &other, DATES, (true, true)).unwrap();
        }
        assert!(believes(DATES, true) && !believes(DATES, false));
        let sampled = |number: u32| {
            let url = Url::parse(&format!("http://b.example/{number}")).unwrap();
            !believes_validators(&frontier, &url)
        };
        let samples = (0..1600).filter(|number| sampled(*number)).count();
        assert!((50..150).contains(&samples), "{samples}");
    }
}

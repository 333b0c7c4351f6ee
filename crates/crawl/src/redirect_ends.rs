//! Where redirects led the last time, by the notes of the frontier.

use hapax_data::Again;
use hapax_dedup::Store;
use hapax_frontier::Frontier;
use url::Url;

use crate::error::Result;
use crate::notes::TARGET;
use crate::seeds::failure_of;

/// Maximum number of redirects in a row that are looked up. The frontier counts no more of them.
pub(crate) const MAX_LOOKED_UP: usize = 63;

/// The recrawl in the note of a redirect that is to be followed again. Others have a number.
pub(crate) const EARLIER: &str = "earlier";

/// Returns the noted target of a redirect, after the recrawl that noted it.
pub(crate) fn target_note(frontier: &dyn Frontier, url: &str) -> Result<Option<(String, Url)>> {
    let note = frontier.note_of(url, TARGET)?.unwrap_or_default();
    let note = std::str::from_utf8(&note).unwrap_or_default().split_once(' ');
    Ok(note.and_then(|(look, target)| Some((look.to_owned(), Url::parse(target).ok()?))))
}

/// Returns whether a URL redirected in an earlier run and was not requested since.
pub(crate) fn is_outdated(frontier: &dyn Frontier, url: &str) -> Result<bool> {
    Ok(target_note(frontier, url)?.is_some_and(|(look, _)| look == EARLIER))
}

/// Returns the URLs to which an alias led, in their order. Empty if the URL is no alias.
pub(crate) fn redirects_of(frontier: &dyn Frontier, store: &Store, url: &Url) -> Result<Vec<Url>> {
    let mut targets: Vec<Url> = Vec::new();
    while targets.len() < MAX_LOOKED_UP
        && let Some(target) = alias_target(frontier, store, targets.last().unwrap_or(url))?
    {
        targets.push(target);
    }
    Ok(targets)
}

fn alias_target(frontier: &dyn Frontier, store: &Store, url: &Url) -> Result<Option<Url>> {
    let Some(id) = store.id_of(url.as_str().as_bytes())? else { return Ok(None) };
    // Records of redirects have no tokens. Nor has a blank page, which has no target.
    let may_be = store.record(id)?.is_some_and(|record| record.tokens == 0 && record.of.is_none());
    let note = if may_be { target_note(frontier, url.as_str())? } else { None };
    Ok(note.map(|(_, target)| target))
}

/// Returns whether a URL redirects to a URL that is not fetched, and every run requests it again because a seed led
/// there.
///
/// # Errors
/// From the frontier or the store.
pub fn leads_to_failure(frontier: &dyn Frontier, store: &Store, url: &Url) -> Result<bool> {
    let Some(end) = redirects_of(frontier, store, url)?.pop() else { return Ok(false) };
    if store.id_of(end.as_str().as_bytes())?.is_some() {
        return Ok(false);
    }
    let failed = failure_of(frontier, end.as_str())?;
    Ok(failed.is_some_and(|failed| failed.again != Again::Never))
}

#[cfg(test)]
mod tests {
    use hapax_frontier::{DiskFrontier, Options};

    use super::*;

    #[test]
    fn a_target_keeps_the_recrawl_that_noted_it() {
        let folder = tempfile::tempdir().unwrap();
        let frontier = DiskFrontier::open(folder.path(), Options::default()).unwrap();
        let note = |value: &str| {
            frontier.note("http://a.example/", TARGET, value.into());
            target_note(&frontier, "http://a.example/").unwrap()
        };
        let target = Url::parse("http://a.example/b").unwrap();
        assert_eq!(note("0 http://a.example/b"), Some(("0".to_owned(), target.clone())));
        assert_eq!(note("earlier http://a.example/b"), Some(("earlier".to_owned(), target)));
        assert_eq!([note(""), note("0"), note("0 b")], [None, None, None]);
    }
}

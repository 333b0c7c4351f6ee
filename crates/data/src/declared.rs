//! The canonical address that the page of a log line declares.

use hapax_url::{UrlLimits, normalize};
use url::Url;

use crate::kind::DuplicateKind;
use crate::lines::Discarded;

/// Returns the canonical address that the page of a line declares. Lines of before 0.3 name it only if it is the page
/// itself or the kept one.
pub(crate) fn declared_by(line: &Discarded) -> Option<&str> {
    let links = &line.links;
    let of = (line.kind == DuplicateKind::Canonical).then_some(line.of.url.as_str());
    links.canonical_url.as_deref().or_else(|| links.canonical.then_some(line.url.as_str())).or(of)
}

/// Returns an address in normal form, as the tables have it; unchanged if it has none.
pub(crate) fn in_normal_form(declared: &str) -> String {
    let normal = Url::parse(declared).ok();
    let normal = normal.and_then(|url| normalize(&url, &UrlLimits::default()).ok());
    normal.map_or_else(|| declared.to_owned(), String::from)
}

//! An address without one of its parameters: equal hashes are pages that differ in that parameter alone.

use hapax_url::Cause;
use url::{Url, form_urlencoded};

/// Addresses with more parameters are ignored.
const MAX_PARAMETERS: usize = 32;

/// Calls `visit` with each parameter of the query and the hash of the address without it, and with `None` and the hash
/// of the whole address, which may be another one without its parameter. The order of parameters does not matter.
pub(super) fn each(url: &Url, mut visit: impl FnMut(Option<Cause>, u64)) {
    let query = url.query().unwrap_or_default();
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
        .take(MAX_PARAMETERS + 1)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if pairs.len() > MAX_PARAMETERS {
        return;
    }
    pairs.sort_unstable();
    let mut names: Vec<&String> = pairs.iter().map(|(name, _)| name).collect();
    names.dedup();
    for name in names {
        let rest = pairs.iter().filter(|(own, _)| own != name);
        visit(Some(Cause::parameter(name)), hash(url, rest));
    }
    visit(None, hash(url, pairs.iter()));
}

fn hash<'a>(url: &Url, pairs: impl Iterator<Item = &'a (String, String)>) -> u64 {
    let mut text = format!("{}\n{}\n", hapax_url::site_name(url), url.path());
    for (name, value) in pairs {
        text.extend([name, "=", value, "\n"]);
    }
    hapax_page::HASH.hash(text.as_bytes())
}

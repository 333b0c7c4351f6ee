//! Why a page has a second address: the causes that two addresses of one text state.
//!
//! Each address is split into versions (for printers, phones, languages, ...), parameters, and a rest. A version that
//! only one address states, or that differs, is a cause. The result is the same for both orders of the addresses.
//!
//! ```
//! use hapax_url::{CauseHints, causes};
//! use url::Url;
//!
//! let print = Url::parse("http://a.example/print/7?sort=up")?;
//! let page = Url::parse("https://a.example/7")?;
//! let names: Vec<String> = causes(&print, &page, CauseHints::default()).iter().map(|c| c.to_string()).collect();
//! assert_eq!(names, ["scheme", "parameter:sort", "print"]);
//! # Ok::<(), url::ParseError>(())
//! ```

mod host;
mod kind;
mod path;
mod query;
mod words;

use std::collections::BTreeSet;

use url::Url;

pub use self::kind::Cause;

use self::host::HostParts;
use self::path::PathParts;
use self::words::{Code, Meaning};
use crate::host::registrable_site;

/// Addresses that are longer, in bytes, have the cause `other`.
const MAX_URL: usize = 8192;
/// The same for parameters and segments, each.
const MAX_PARTS: usize = 128;
/// Longest number behind a path that is the page of a series: `/article/2`.
const MAX_SERIES_DIGITS: usize = 3;
/// Segments that the paths of a mirror must share, if one of them has a folder before it.
const MIN_SHARED_PATH: usize = 2;

/// Knowledge that the addresses do not state.
#[derive(Clone, Copy, Debug, Default)]
pub struct CauseHints<'a> {
    /// Language of the discarded page, two letters, or empty. It decides whether `/it/` is a language.
    pub language: &'a str,
    /// Whether one host is known to serve the other one's pages. Then equal texts under other paths are `mirror`.
    pub mirror: bool,
}

/// Returns why one text has these two addresses, sorted; at least one cause.
///
/// # Complexity
/// Linear in the addresses, and quadratic in the number of parameters, which is limited.
pub fn causes(discarded: &Url, kept: &Url, hints: CauseHints<'_>) -> Vec<Cause> {
    let is_large = |url: &Url| {
        url.as_str().len() > MAX_URL
            || url.path().split(['/', ';']).count() > MAX_PARTS
            || url.query().is_some_and(|query| query.split('&').count() > MAX_PARTS)
    };
    if is_large(discarded) || is_large(kept) {
        return vec![Cause::Other];
    }
    let (own, other) = both(discarded, kept, hints.language);
    let mut found = BTreeSet::new();
    let one_host = own.host.base == other.host.base;
    if one_host {
        own.host_causes(&other, &mut found);
    }
    let rest = own.rest(&other);
    if one_host || rest != Rest::Differs {
        own.path_causes(&other, rest, &mut found);
        own.query_causes(&other, rest, &mut found);
    }
    if !one_host {
        let is_inside = ends_with(&own.path.rest, &other.path.rest)
            || ends_with(&other.path.rest, &own.path.rest);
        let is_mirror = rest != Rest::Differs || is_inside || hints.mirror;
        found.insert(match is_mirror {
            true => Cause::Mirror,
            false if registrable_site(discarded) == registrable_site(kept) => Cause::Other,
            false => Cause::Syndication,
        });
    } else if rest == Rest::Differs && !found.iter().any(explains_paths) || found.is_empty() {
        found.insert(Cause::Other);
    }
    found.into_iter().collect()
}

/// Returns the causes that one address states alone, such as `print` and each parameter; sorted. Those of a pair, such
/// as `mirror`, are not among them.
pub fn address_causes(url: &Url) -> Vec<Cause> {
    if url.as_str().len() > MAX_URL || url.path().split(['/', ';']).count() > MAX_PARTS {
        return Vec::new();
    }
    let parts = Parts::of(url, |_, code| code == Code::Yes);
    let mut found = BTreeSet::new();
    let (host, path) = (&parts.host, &parts.path);
    let archive = path.archive();
    for (cause, holds) in [
        (Cause::Www, host.www),
        (Cause::Scheme, url.scheme() == "http"),
        (Cause::TrailingSlash, path.slash && !path.rest.is_empty()),
        (Cause::IndexFile, path.index.is_some()),
        (
            Cause::Case,
            path.rest.iter().any(|segment| segment.bytes().any(|b| b.is_ascii_uppercase())),
        ),
        (Cause::SessionId, path.session.is_some()),
        (Cause::Print, path.print || host.print),
        (Cause::Amp, path.amp || host.amp),
        (Cause::Mobile, path.mobile || host.mobile),
        (Cause::Language, path.language.is_some() || host.language.is_some()),
        (Cause::Pagination, path.page.is_some()),
        (Cause::Archive, archive.is_some()),
    ] {
        if holds {
            found.insert(cause);
        }
    }
    for (name, value) in parts.pairs.iter().take(MAX_PARTS) {
        found.insert(Cause::parameter(name));
        let meaning = Meaning::of(name, value);
        of_meaning(meaning, Rest::Same, &mut found);
        if meaning.list && archive.is_some() {
            found.insert(Cause::Archive);
        }
    }
    found.into_iter().collect()
}

/// Whether the paths are the same without versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Same,
    /// Except for capital letters and percent-encoding.
    Spelling,
    /// Except for a number at the end.
    Series,
    Differs,
}

/// An address in parts.
#[derive(Debug)]
struct Parts {
    scheme: String,
    host: HostParts,
    path: PathParts,
    /// All parameters in order, decoded; those of segments begin with a semicolon.
    pairs: Vec<(String, String)>,
}

/// Splits two addresses. A code such as `it` is a language if both have a language, or the page is in it.
fn both(one: &Url, other: &Url, language: &str) -> (Parts, Parts) {
    let any = |_: &str, _: Code| true;
    let (own, their) = (Parts::of(one, any), Parts::of(other, any));
    if own.path.language.is_some() == their.path.language.is_some() {
        return (own, their);
    }
    let sure = |word: &str, code: Code| {
        code == Code::Yes || word.get(..2).is_some_and(|word| word.eq_ignore_ascii_case(language))
    };
    (Parts::of(one, sure), Parts::of(other, sure))
}

impl Parts {
    fn of(url: &Url, is_language: impl Fn(&str, Code) -> bool) -> Self {
        let path = PathParts::of(url.path(), is_language);
        let mut pairs = path.parameters.clone();
        pairs.extend(query::pairs(url));
        Self { scheme: url.scheme().to_owned(), host: HostParts::of(url), path, pairs }
    }

    fn rest(&self, other: &Self) -> Rest {
        let (own, their) = (&self.path.rest, &other.path.rest);
        if own == their {
            return Rest::Same;
        }
        let plain = |rest: &[String]| query::decoded(&rest.join("/")).to_lowercase();
        if plain(own) == plain(their) {
            return Rest::Spelling;
        }
        let (short, long) = if own.len() < their.len() { (own, their) } else { (their, own) };
        let is_series = long.strip_prefix(short.as_slice()).is_some_and(|behind| {
            matches!(behind, [number] if (1..=MAX_SERIES_DIGITS).contains(&number.len())
                && number.bytes().all(|byte| byte.is_ascii_digit()))
        });
        if is_series && !short.is_empty() { Rest::Series } else { Rest::Differs }
    }

    fn host_causes(&self, other: &Self, found: &mut BTreeSet<Cause>) {
        let (a, b) = (&self.host, &other.host);
        let language = |host: &HostParts| host.language.as_deref().map(str::to_ascii_lowercase);
        for (cause, differs) in [
            (Cause::Mobile, a.mobile != b.mobile),
            (Cause::Amp, a.amp != b.amp),
            (Cause::Print, a.print != b.print),
            (Cause::Language, language(a) != language(b)),
        ] {
            if differs {
                found.insert(cause);
            }
        }
        // `m.a.example` instead of `www.a.example` is the version for phones.
        if found.is_empty() && a.www != b.www {
            found.insert(Cause::Www);
        }
        if self.scheme != other.scheme {
            found.insert(Cause::Scheme);
        }
    }

    fn path_causes(&self, other: &Self, rest: Rest, found: &mut BTreeSet<Cause>) {
        let (a, b) = (&self.path, &other.path);
        let language =
            |path: &PathParts| path.language.as_ref().map(|(code, _)| code.to_ascii_lowercase());
        let mut versions = BTreeSet::new();
        for (cause, differs) in [
            (Cause::Print, a.print != b.print),
            (Cause::Amp, a.amp != b.amp),
            (Cause::Mobile, a.mobile != b.mobile),
            (Cause::SessionId, a.session != b.session),
            (Cause::Language, language(a) != language(b)),
            (Cause::Pagination, a.page != b.page || rest == Rest::Series),
        ] {
            if differs {
                versions.insert(cause);
            }
        }
        if rest == Rest::Differs && a.archive() != b.archive() && a.rest.last() != b.rest.last() {
            versions.insert(Cause::Archive);
        }
        match (&a.index, &b.index) {
            (Some(one), Some(two)) if one == two => {}
            (Some(one), Some(two)) if one.eq_ignore_ascii_case(two) => {
                versions.insert(Cause::Case);
            }
            (None, None) => {}
            _ => {
                versions.insert(Cause::IndexFile);
            }
        }
        if rest == Rest::Spelling {
            found.insert(Cause::Case);
        }
        // A version at the end of the path changes what the last slash means.
        let same_end =
            rest != Rest::Differs || !a.rest.is_empty() && a.rest.last() == b.rest.last();
        if versions.is_empty() && a.slash != b.slash && same_end {
            found.insert(Cause::TrailingSlash);
        }
        found.extend(versions);
    }

    fn query_causes(&self, other: &Self, rest: Rest, found: &mut BTreeSet<Cause>) {
        for (name, values) in query::differing(&self.pairs, &other.pairs) {
            found.insert(Cause::parameter(&name));
            for value in &values {
                of_meaning(Meaning::of(&name, value), rest, found);
            }
        }
    }
}

/// Adds the causes that the meaning of a parameter states.
fn of_meaning(meaning: Meaning, rest: Rest, found: &mut BTreeSet<Cause>) {
    let is_one_path = rest != Rest::Differs;
    for (cause, holds) in [
        (Cause::SessionId, meaning.session),
        (Cause::Print, meaning.print),
        (Cause::Amp, meaning.amp),
        (Cause::Mobile, meaning.mobile),
        (Cause::Language, meaning.language),
        (Cause::Pagination, meaning.page || meaning.number && is_one_path),
        (Cause::Archive, meaning.archive || meaning.list && !is_one_path),
    ] {
        if holds {
            found.insert(cause);
        }
    }
}

/// Whether a cause explains that two paths of one host have no common rest.
const fn explains_paths(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Print
            | Cause::Amp
            | Cause::Mobile
            | Cause::Language
            | Cause::Pagination
            | Cause::Archive
    )
}

/// Returns whether a path is another one below a folder: `/pub/mirror/a/b` and `/a/b`.
fn ends_with(whole: &[String], end: &[String]) -> bool {
    end.len() >= MIN_SHARED_PATH && whole.ends_with(end)
}

#[cfg(test)]
mod tests;

/*!
URL rules of a crawler.

# Brief overview

- [`normalize`] brings URLs to their normal form and refuses traps, within [`UrlLimits`].
- [`Scope`] says which URLs belong to a crawl.
- [`host_key`] names a host for politeness and logs, [`site_name`] the site that owns a page,
  [`registrable_site`] the same by the list of public suffixes.
- [`AddressRank`] says which of two addresses of one text a person would keep.
- [`causes`] says why one text has two addresses.
- [`GivenRules`] reads rules that a person gives: drop a parameter, skip a pattern, replace a host.
- [`url_key`] is a URL's identity in 128 bits.
- [`surt`] is a URL's key in the indexes of web archives.
*/
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may panic"))]

mod authority;
mod cause;
mod host;
mod key;
mod listed;
mod normalize;
mod rank;
mod rule_file;
mod scope;
mod surt;

pub use authority::without_extra_slashes;
pub use cause::{Cause, CauseHints, address_causes, causes};
pub use host::{host_key, registrable_site, site_name};
pub use key::{UrlKey, url_key};
pub use normalize::{Rejected, Trap, UrlLimits, normalize, removed_parameters};
pub use rank::AddressRank;
pub use rule_file::{Applied, GivenRules, MAX_GIVEN_RULES, RuleError};
pub use scope::{Scope, ScopeKind};
pub use surt::surt;

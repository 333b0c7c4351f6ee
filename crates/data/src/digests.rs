//! Equal text in stores that have digests of both formats, former and current.
//!
//! Until 0.2 the digest of a page's text was a mix of 64-bit word hashes, for which collisions can be constructed.
//! Old records keep it, and are compared by it only.

use hapax_dedup::{Confirm, Document, Neighbour, Record, Store};
use hapax_extract::Features;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Which digests the records of a data directory have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Digests {
    /// A version before 0.2 wrote it, and `crawl upgrade` has not run: old positions do not have this field.
    #[default]
    Former,
    /// `crawl upgrade` has run. Records without a stored text keep the former digest.
    Mixed,
    /// All records in the tables have the current digest.
    Current,
}

impl Digests {
    /// Returns whether a page must also be compared by the former digest.
    pub const fn has_former(self) -> bool {
        !matches!(self, Self::Current)
    }

    /// Returns whether `crawl upgrade` would change anything.
    pub const fn needs_upgrade(self) -> bool {
        matches!(self, Self::Former)
    }
}

/// How many equal documents are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As many as a decision considers.
    Few,
    /// All of them.
    All,
}

/// Returns the documents that `document` duplicates, best first. `former` is its text's former digest, for stores
/// that have such digests. With `confirm`, texts are compared, and [`Extent::Few`] returns only the first match.
pub fn matches(
    store: &Store,
    document: &Document<'_>,
    former: Option<[u8; 16]>,
    extent: Extent,
    confirm: Option<&mut dyn Confirm>,
) -> Result<Vec<Neighbour>> {
    let mut found = match (extent, confirm) {
        (Extent::Few, None) => store.first_matches(document)?,
        (Extent::All, None) => store.matches(document)?,
        (Extent::Few, Some(confirm)) => {
            store.first_confirmed(document, confirm)?.into_iter().collect()
        }
        (Extent::All, Some(confirm)) => store.confirmed_matches(document, confirm)?,
    };
    let equal = match former {
        Some(former) if document.tokens > 0 => store.equal_by_former_digest(document, former)?,
        _ => Vec::new(),
    };
    if !equal.is_empty() {
        found.retain(|near| equal.iter().all(|other| other.id != near.id));
        found.extend(equal);
        found.sort_by(|a, b| a.best_first(b).then(a.id.cmp(&b.id)));
    }
    Ok(found)
}

/// Returns the same for a stored document, by its digest.
pub fn matches_of_record(
    store: &Store,
    record: &Record,
    confirm: Option<&mut dyn Confirm>,
) -> Result<Vec<Neighbour>> {
    let document = record.document();
    // If texts are compared, all of them: the first match would hide the others.
    let extent = if confirm.is_some() { Extent::All } else { Extent::Few };
    if record.strong_digest {
        return matches(store, &document, None, extent, confirm);
    }
    let without = Document { digest: None, ..document };
    matches(store, &without, record.digest, extent, confirm)
}

/// Returns whether a record has the digest of a text with these features.
pub fn is_of_text(record: &Record, features: &Features) -> bool {
    let own = if record.strong_digest { features.digest } else { features.former_digest };
    record.digest == own
}

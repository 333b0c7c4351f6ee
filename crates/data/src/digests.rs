//! Equal text, in stores whose records have the digest of before and in those that were upgraded.
//!
//! Until 0.2 the digest of a page's text was a mix of 64-bit word hashes, for which collisions can be
//! constructed. Records of before keep it and are compared by it, by nothing else.

use hapax_dedup::{Confirm, Document, Neighbour, Record, Store};
use hapax_extract::Features;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Which digests the records of a data directory have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Digests {
    /// A version before 0.2 wrote it, and nobody has run `crawl upgrade`. What an old position says
    /// by having no such field.
    #[default]
    Former,
    /// `crawl upgrade` has run; some records keep the former digest, because their text is not stored.
    Mixed,
    /// All that is in the tables has the digest of today.
    Current,
}

impl Digests {
    /// Whether a page must be compared by the former digest too.
    pub const fn has_former(self) -> bool {
        !matches!(self, Self::Current)
    }

    /// Whether `crawl upgrade` would change something.
    pub const fn needs_upgrade(self) -> bool {
        matches!(self, Self::Former)
    }
}

/// How many of equal documents are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Those that a decision looks at.
    Few,
    /// All of them.
    All,
}

/// The documents that `document` duplicates, best first. `former` is its text's digest of before, for
/// a store that has records with such digests. With `confirm` texts are compared, and of few matches only the first is
/// looked for.
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

/// The same for a document that is stored: by the digest that it has.
pub fn matches_of_record(
    store: &Store,
    record: &Record,
    confirm: Option<&mut dyn Confirm>,
) -> Result<Vec<Neighbour>> {
    let document = record.document();
    // With texts all of them: the first alone would hide the others.
    let extent = if confirm.is_some() { Extent::All } else { Extent::Few };
    if record.strong_digest {
        return matches(store, &document, None, extent, confirm);
    }
    let without = Document { digest: None, ..document };
    matches(store, &without, record.digest, extent, confirm)
}

/// Whether a record is of a text with these features.
pub fn is_of_text(record: &Record, features: &Features) -> bool {
    let own = if record.strong_digest { features.digest } else { features.former_digest };
    record.digest == own
}

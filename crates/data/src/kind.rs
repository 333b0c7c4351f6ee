//! Why pages are discarded, and the deciding person or rule.

use serde::{Deserialize, Serialize};

/// Why a page was discarded: `kind` of discarded.jsonl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateKind {
    /// The texts are equal.
    Exact,
    /// The texts are nearly equal.
    Near,
    /// The page declares the other page as its canonical address.
    Canonical,
    /// The URL redirects to the other page.
    Alias,
    /// Almost all of the text is a part of the other page, which is longer (`--parts discard`).
    Part,
}

impl DuplicateKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Exact, Self::Near, Self::Canonical, Self::Alias, Self::Part];

    /// Returns the name in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Near => "near",
            Self::Canonical => "canonical",
            Self::Alias => "alias",
            Self::Part => "part",
        }
    }

    /// Parses the name in the log.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the kind as a byte, for files of rows.
    pub(crate) const fn to_byte(self) -> u8 {
        match self {
            Self::Exact => 0,
            Self::Near => 1,
            Self::Canonical => 2,
            Self::Alias => 3,
            Self::Part => 4,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_byte() == byte)
    }
}

impl std::fmt::Display for DuplicateKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The person or rule that made a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecidedBy {
    /// A person.
    Person,
    /// The rule that keeps the better page of a pair; `survivor` in the file.
    #[serde(rename = "survivor")]
    Representative,
    /// A recheck with other thresholds.
    Recheck,
    /// A page that was fetched again and had changed.
    Crawl,
    /// The search for pages that are a part of another one.
    Parts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_as_it_is_written() {
        for kind in DuplicateKind::ALL {
            assert_eq!(DuplicateKind::parse(kind.as_str()), Some(kind));
            assert_eq!(DuplicateKind::of_byte(kind.to_byte()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}

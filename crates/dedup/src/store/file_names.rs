//! File names of a store. A folder may contain other files, which a store ignores.

/// The manifest's name while it is written.
pub(super) const NEXT: &str = "MANIFEST.tmp";

/// The largest number in a file name: at one file per millisecond it lasts 8,900 years. A file with a larger number
/// does not belong to the store.
pub(super) const MAX_NUMBER: u64 = 1 << 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// `seg-N-FIRST-END`.
    Segment(u64),
    /// `deleted-N`.
    Deleted(u64),
    /// `journal-N`.
    Journal(u64),
    /// An unfinished segment, manifest or spool.
    Unfinished,
}

impl Named {
    pub(super) fn of(name: &str) -> Option<Self> {
        if name == NEXT {
            return Some(Self::Unfinished);
        }
        if let Some((whole, _)) = name.strip_suffix(".tmp").map(|begun| split(begun, '.')) {
            return matches!(Self::of(whole), Some(Self::Segment(_))).then_some(Self::Unfinished);
        }
        let (kind, rest) = name.split_once('-')?;
        match kind {
            "deleted" => counter(rest).map(Self::Deleted),
            "journal" => counter(rest).map(Self::Journal),
            "seg" => {
                let mut parts = rest.split('-');
                let first = counter(parts.next()?)?;
                let ids = [number(parts.next()?)?, number(parts.next()?)?];
                (parts.next().is_none() && ids[0] <= ids[1]).then_some(Self::Segment(first))
            }
            _ => None,
        }
    }
}

fn split(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or((text, ""))
}

/// Parses a number as we write it: digits only, no leading zero.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn counter(text: &str) -> Option<u64> {
    number(text).filter(|number| *number <= MAX_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::{MAX_NUMBER, Named};

    #[test]
    fn only_a_stores_own_names_are_known() {
        assert_eq!(Named::of("seg-3-0-10"), Some(Named::Segment(3)));
        assert_eq!(Named::of("deleted-7"), Some(Named::Deleted(7)));
        assert_eq!(Named::of("journal-1"), Some(Named::Journal(1)));
        assert_eq!(Named::of("deleted-281474976710656"), Some(Named::Deleted(MAX_NUMBER)));
        for begun in ["MANIFEST.tmp", "seg-3-0-10.tmp", "seg-3-0-10.tmp.rows.tmp"] {
            assert_eq!(Named::of(begun), Some(Named::Unfinished), "{begun}");
        }
        for other in [
            "MANIFEST",
            "LOCK",
            "ids",
            "notes.tmp",
            "a.tmp",
            ".tmp",
            "seg",
            "seg-",
            "seg-3",
            "seg-3-0",
            "seg-3-0-10-2",
            "seg-3-10-0",
            "seg-a-0-10",
            "seg-03-0-10",
            "seg-+3-0-10",
            "seg-3-0-10.bak",
            "seg-x.tmp",
            "deleted-mail.txt",
            "deleted-",
            "deleted-07",
            "deleted",
            "journal-2025.txt",
            "journal-2.tmp",
            "journal-",
            "seg-3-0-99999999999999999999",
            "seg-281474976710657-0-10",
            "seg-18446744073709551615-0-10",
            "deleted-18446744073709551615",
            "journal-18446744073709551615",
        ] {
            assert_eq!(Named::of(other), None, "{other}");
        }
    }
}

//! The first passages of each kind in memory, for a page that is shown many times.

use std::path::Path;

use super::{PassageKind, PassageLine, PassageOptions, PassageTotals, Passages};
use crate::error::{Error, Result};

/// Maximum number of lines of each kind.
const MAX_LINES: usize = 1000;
/// Maximum number of places of a line.
const MAX_PLACES: usize = 10;

/// The first passages of each kind: at most 1,000, each with at most ten places. That is a few megabytes. The temporary
/// files of the search are removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassageList {
    lines: [Vec<PassageLine>; PassageKind::ALL.len()],
    /// Counts of all passages.
    pub totals: PassageTotals,
}

impl PassageList {
    /// Searches the texts of all kept pages of a data directory for passages of this many words.
    ///
    /// # Errors
    /// As [`Passages::find`].
    pub fn find(data: &Path, min_words: usize) -> Result<Self> {
        Self::find_within(data, min_words, MAX_LINES)
    }

    fn find_within(data: &Path, min_words: usize, lines: usize) -> Result<Self> {
        let options =
            PassageOptions { min_words, places: MAX_PLACES, lines, lines_of_each_kind: true };
        let passages = Passages::find(data, options)?;
        let mut list = Self::default();
        list.totals = passages.lines(
            |_| true,
            |line| {
                if let Some(of_kind) = list.lines.get_mut(line.kind as usize) {
                    of_kind.push(line);
                }
                Ok::<_, Error>(())
            },
        )?;
        Ok(list)
    }

    /// Returns the first passages of a kind, in the order of [`Passages::lines`].
    pub fn of(&self, kind: PassageKind) -> &[PassageLine] {
        self.lines.get(kind as usize).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{directory, own};
    use super::*;

    #[test]
    fn the_list_has_the_first_lines_of_each_kind_and_the_totals_of_all() {
        let shared: Vec<String> = (0..4).map(|at| own(&format!("shared{at}x"), 45 + at)).collect();
        let page = |at: usize| {
            let other = own(&format!("own{at}x"), 50);
            format!("{}\n{other}\n{}", shared[at % 4], shared[(at + 1) % 4])
        };
        let urls: Vec<String> = (0..6).map(|at| format!("http://s{at}.example/{at}")).collect();
        let mut pages: Vec<(&str, String)> =
            urls.iter().enumerate().map(|(at, url)| (url.as_str(), page(at))).collect();
        pages.push(("http://part.example/", own("own0x", 50)));
        let folder = directory(&pages);
        let passages = Passages::find(folder.path(), PassageOptions::default()).unwrap();
        let mut all = Vec::new();
        let each = |line: PassageLine| {
            all.push(line);
            Ok::<_, Error>(())
        };
        let totals = passages.lines(|_| true, each).unwrap();
        for lines in [2, 100] {
            let list = PassageList::find_within(folder.path(), 40, lines).unwrap();
            assert_eq!(list.totals, totals);
            for kind in PassageKind::ALL {
                let of: Vec<_> = all.iter().filter(|line| line.kind == kind).take(lines).collect();
                assert_eq!(list.of(kind).iter().collect::<Vec<_>>(), of, "{kind:?}");
            }
        }
        assert!(totals.copied > 2 && totals.part > 0, "{totals:?}");
    }
}

//! Duplicates in a row, by host. A site without an end has only duplicates after its last page, and each of them links to
//! further new URLs. A list of variants, however long, gets shorter.

use std::collections::HashMap;

/// Number of duplicates in a row from which on further URLs of a host are not requested, whatever they look like.
const IN_A_ROW: u32 = 100;
/// At least one in this number of the host's pages must be among the duplicates in a row.
const SHARE: u64 = 2;
/// Minimum number of new URLs of the host for each duplicate.
const NEW_URLS: u64 = 2;
/// Maximum number of hosts of a site. Beyond it all are forgotten.
const MAX_HOSTS: usize = 1_000;

/// What a duplicate shows about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfHost {
    /// Number of pages of the host.
    pub(crate) pages: u64,
    /// Number of URLs of the host that were queued from this page and not known before.
    pub(crate) new_urls: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    duplicates: u32,
    new_urls: u64,
    /// Number of times that a rule was contradicted. Each doubles the number of duplicates it requires.
    contradicted: u32,
}

#[derive(Debug, Default)]
pub(super) struct Rows(HashMap<String, Row>);

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Counts a duplicate. Returns the number of duplicates in a row if they are enough.
    pub(super) fn repeated(&mut self, host: &str, of_host: OfHost) -> Option<u32> {
        if self.0.len() >= MAX_HOSTS && !self.0.contains_key(host) {
            self.0.clear();
        }
        let row = self.0.entry(host.to_owned()).or_default();
        row.duplicates = row.duplicates.saturating_add(1);
        row.new_urls = row.new_urls.saturating_add(of_host.new_urls);
        let duplicates = u64::from(row.duplicates);
        let enough = row.duplicates >= IN_A_ROW.saturating_mul(1 << row.contradicted.min(20))
            && duplicates.saturating_mul(SHARE) >= of_host.pages
            && row.new_urls >= duplicates.saturating_mul(NEW_URLS);
        enough.then_some(row.duplicates)
    }

    /// Begins the count again after a kept page.
    pub(super) fn kept(&mut self, host: &str) {
        if let Some(row) = self.0.get_mut(host) {
            *row = Row { contradicted: row.contradicted, ..Row::default() };
        }
    }

    pub(super) fn contradicted(&mut self, host: &str) {
        let row = self.0.entry(host.to_owned()).or_default();
        row.contradicted = row.contradicted.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the last of this number of duplicates is enough.
    fn repeated(rows: &mut Rows, times: u32, pages: u64, new_urls: u64) -> bool {
        let of_host = OfHost { pages, new_urls };
        (0..times).fold(false, |_, _| rows.repeated("a.example", of_host).is_some())
    }

    #[test]
    fn only_duplicates_with_new_urls_for_a_long_time_are_enough() {
        let mut rows = Rows::default();
        assert!(!repeated(&mut rows, IN_A_ROW - 1, 200, 2));
        assert!(!repeated(&mut rows, 1, 201, 2), "less than half of the host's pages");
        assert!(repeated(&mut rows, 1, 202, 2));
        rows.kept("a.example");
        assert!(!repeated(&mut rows, IN_A_ROW - 1, 1, 2), "a kept page begins the count again");
        assert!(repeated(&mut rows, 1, 1, 2));
        // A list that gets shorter, and a chain of pages with one link each.
        for new_urls in [0, 1] {
            let mut rows = Rows::default();
            assert!(!repeated(&mut rows, 10 * IN_A_ROW, 1, new_urls));
        }
    }

    #[test]
    fn each_contradiction_doubles_what_is_required() {
        let mut rows = Rows::default();
        for times in [IN_A_ROW, 2 * IN_A_ROW, 4 * IN_A_ROW] {
            assert!(!repeated(&mut rows, times - 1, 1, 9));
            assert!(repeated(&mut rows, 1, 1, 9));
            rows.contradicted("a.example");
            rows.kept("a.example");
        }
        for number in 0..3 * MAX_HOSTS {
            let _ = rows.repeated(&format!("{number}.example"), OfHost { pages: 1, new_urls: 1 });
            assert!(rows.len() <= MAX_HOSTS);
        }
    }
}

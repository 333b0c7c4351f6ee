//! Values that several pages of one site have: titles and descriptions.

use xxhash_rust::xxh3::xxh3_64;

/// Collects values by page: 16 bytes of memory each.
#[derive(Debug, Default)]
pub(super) struct Repeated(Vec<(u64, u32)>);

impl Repeated {
    /// Adds the value of a page. Case and spaces do not count; an empty value is ignored.
    pub(super) fn add(&mut self, site: &str, value: &str, page: u32) {
        let words: Vec<String> = value.split_whitespace().map(str::to_lowercase).collect();
        if !words.is_empty() {
            // No site and no word has a line break.
            self.0.push((xxh3_64(format!("{site}\n{}", words.join(" ")).as_bytes()), page));
        }
    }

    /// Returns the pages of each value that several pages have: the most frequent first, then by the first page.
    pub(super) fn groups(mut self) -> Vec<Vec<u32>> {
        self.0.sort_unstable();
        let groups = self.0.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1);
        let mut groups: Vec<Vec<u32>> =
            groups.map(|group| group.iter().map(|(_, page)| *page).collect()).collect();
        groups.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_of_one_site_are_a_group() {
        let mut titles = Repeated::default();
        for (page, (site, title)) in (0..).zip([
            ("a", "Home"),
            ("a", "  HOME\n"),
            ("b", "Home"),
            ("a", "About us"),
            ("b", "About  us"),
            ("b", "about us"),
            ("b", "About us"),
            ("c", ""),
            ("c", " "),
        ]) {
            titles.add(site, title, page);
        }
        assert_eq!(titles.groups(), [vec![4, 5, 6], vec![0, 1]]);
    }
}

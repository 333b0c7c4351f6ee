//! Index pages of the folder: one of all hosts, and one of the pages of each host.

use std::collections::BTreeMap;

use hapax_extract::markdown_line;

/// Maximum number of pages that are listed, of all hosts. Further ones are counted.
const MAX_LISTED: usize = 200_000;
/// Maximum length of a title in a list, in bytes.
const MAX_TITLE: usize = 200;

/// Pages by folder of their host.
#[derive(Debug, Default)]
pub(super) struct Listing {
    hosts: BTreeMap<String, Host>,
    listed: usize,
}

#[derive(Debug, Default)]
struct Host {
    pages: u64,
    /// Path and title of the first pages.
    listed: Vec<(String, String)>,
}

impl Listing {
    /// Adds a page by its path.
    pub(super) fn add(&mut self, path: &str, title: &str) {
        self.add_within(path, title, MAX_LISTED);
    }

    fn add_within(&mut self, path: &str, title: &str, most: usize) {
        let folder = path.split('/').next().unwrap_or_default().to_owned();
        let host = self.hosts.entry(folder).or_default();
        host.pages += 1;
        if self.listed < most {
            let end = title.floor_char_boundary(MAX_TITLE);
            let title = title.get(..end).unwrap_or_default().to_owned();
            host.listed.push((path.to_owned(), title));
            self.listed += 1;
        }
    }

    /// Returns path and text of each index page, that of the folder last.
    pub(super) fn finish(self) -> impl Iterator<Item = (String, String)> {
        let mut index = String::from("# Pages by host\n\n");
        let hosts: Vec<(String, Host)> = self.hosts.into_iter().collect();
        for (folder, host) in &hosts {
            let pages = if host.pages == 1 { "page" } else { "pages" };
            index.push_str(&format!(
                "- [{}]({folder}.md): {} {pages}\n",
                markdown_line(folder),
                host.pages
            ));
        }
        let index = ("index.md".to_owned(), index);
        hosts
            .into_iter()
            .map(|(folder, host)| (format!("{folder}.md"), list(&folder, host)))
            .chain([index])
    }
}

fn list(folder: &str, mut host: Host) -> String {
    let mut text = format!("# {}\n\n", markdown_line(folder));
    host.listed.sort_unstable();
    for (path, title) in &host.listed {
        let name = if title.trim().is_empty() { path } else { title };
        text.push_str(&format!("- [{}]({path})\n", markdown_line(name)));
    }
    let more = host.pages.saturating_sub(host.listed.len() as u64);
    if more > 0 {
        text.push_str(&format!("\nAnd {more} more.\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_pages_are_listed_up_to_the_limit() {
        let mut listing = Listing::default();
        for (path, title) in [
            ("b.example/two.md", "Two"),
            ("a.example/index.md", "A [title]\n# x"),
            ("b.example/one.md", ""),
            ("b.example/three.md", "Three"),
        ] {
            listing.add_within(path, title, 3);
        }
        let pages: Vec<_> = listing.finish().collect();
        assert_eq!(
            pages,
            [
                ("a.example.md".into(), "# a.example\n\n- [A \\[title\\] # x](a.example/index.md)\n".into()),
                (
                    "b.example.md".into(),
                    "# b.example\n\n- [b.example/one.md](b.example/one.md)\n- [Two](b.example/two.md)\n\nAnd 1 more.\n".into()
                ),
                (
                    "index.md".into(),
                    "# Pages by host\n\n- [a.example](a.example.md): 1 page\n- [b.example](b.example.md): 3 pages\n".to_owned()
                ),
            ]
        );
    }
}

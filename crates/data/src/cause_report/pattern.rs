//! The pattern of two addresses whose cause is `other`: versions of documentation, or another part of the path.

use std::collections::HashMap;

use url::Url;

use super::count::{CauseExample, CausePattern, MAX_EXAMPLE};

/// Maximum number of patterns that are counted. Duplicates of further ones count for the cause only.
const MAX_PATTERNS: usize = 500;
/// Patterns that are shown, those with the most duplicates.
const SHOWN_PATTERNS: usize = 5;
/// Longest segment in a pattern, in bytes: longer ones are titles or ids, not versions.
const MAX_SEGMENT: usize = 32;
/// Names of versions without a number.
const NAMED: [&str; 12] = [
    "stable", "latest", "current", "dev", "devel", "master", "main", "next", "nightly", "edge",
    "lts", "head",
];

/// Counts of patterns.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, (u64, CauseExample)>);

impl Patterns {
    /// Counts a pair if its addresses differ in versions.
    pub(super) fn add(&mut self, url: &str, of: &str) {
        if url.len().max(of.len()) > MAX_EXAMPLE {
            return;
        }
        let Some(pattern) = versions(url, of) else { return };
        if self.0.len() < MAX_PATTERNS || self.0.contains_key(&pattern) {
            let example = || CauseExample { url: url.to_owned(), of: of.to_owned() };
            self.0.entry(pattern).or_insert_with(|| (0, example())).0 += 1;
        }
    }

    /// Returns the patterns with the most duplicates first.
    pub(super) fn shown(self) -> Vec<CausePattern> {
        let count =
            |(pattern, (duplicates, example))| CausePattern { pattern, duplicates, example };
        let mut all: Vec<CausePattern> = self.0.into_iter().map(count).collect();
        let order = |pattern: &CausePattern| std::cmp::Reverse(pattern.duplicates);
        all.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.pattern.cmp(&b.pattern)));
        all.truncate(SHOWN_PATTERNS);
        all
    }
}

/// Returns whether a segment of a path names a version: `v2`, `2.0`, `1.4.x`, `stable`, `release-3.1`.
fn is_version(segment: &str) -> bool {
    let lower = segment.to_ascii_lowercase();
    if NAMED.contains(&&*lower) {
        return true;
    }
    let number = ["release-", "version-", "rel-", "v"].iter().find_map(|p| lower.strip_prefix(p));
    let number = number.unwrap_or(&lower);
    let is_part = |part: &str| {
        let word = part.trim_matches(|c: char| c.is_ascii_digit());
        matches!(word, "" | "x" | "a" | "b" | "rc" | "alpha" | "beta" | "pre" | "dev")
    };
    number.starts_with(|c: char| c.is_ascii_digit()) && number.split(['.', '_', '-']).all(is_part)
}

/// Returns the pattern of two addresses that differ in a segment that names a version, or in which one has it and the
/// other does not.
fn versions(url: &str, of: &str) -> Option<String> {
    let segments = |url: &str| -> Option<Vec<String>> {
        let url = Url::parse(url).ok()?;
        Some(url.path_segments()?.map(str::to_owned).collect())
    };
    let (own, kept) = (segments(url)?, segments(of)?);
    let at = own.iter().zip(&kept).take_while(|(a, b)| a == b).count();
    let part = |list: &[String]| {
        let segment = list.get(at).filter(|part| part.len() <= MAX_SEGMENT && is_version(part));
        segment.map(|segment| format!("/{segment}/"))
    };
    let rest = |list: &[String], skip: usize| list.get(at + skip..).unwrap_or_default().to_vec();
    match (part(&own), part(&kept)) {
        (Some(a), Some(b)) if rest(&own, 1) == rest(&kept, 1) => Some(format!("{a} beside {b}")),
        (Some(a), _) if rest(&own, 1) == rest(&kept, 0) => Some(format!("{a} beside no version")),
        (_, Some(b)) if rest(&own, 0) == rest(&kept, 1) => Some(format!("no version beside {b}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_name_a_version_are_recognized() {
        for name in
            ["v1", "V2", "2.0", "1.4.x", "stable", "release-3.1", "3.0rc1", "10", "1.0-beta"]
        {
            assert!(is_version(name), "{name}");
        }
        for name in ["", "v", "video", "x", "2nd-floor", "guide", "v1-guide", "a1", "1.0.guide2"] {
            assert!(!is_version(name), "{name}");
        }
    }

    #[test]
    fn addresses_that_differ_in_a_version_have_a_pattern() {
        let of = |url: &str, of: &str| {
            versions(&format!("http://a.example{url}"), &format!("http://a.example{of}"))
        };
        for (url, kept, expected) in [
            ("/docs/v1/x", "/docs/v2/x", Some("/v1/ beside /v2/")),
            ("/docs/stable/x", "/docs/2.0/x", Some("/stable/ beside /2.0/")),
            ("/docs/1.0/x", "/docs/x", Some("/1.0/ beside no version")),
            ("/docs/x", "/docs/latest/x", Some("no version beside /latest/")),
            ("/docs/v1/x", "/docs/v2/y", None),
            ("/docs/guide/x", "/docs/book/x", None),
            ("/same", "/same", None),
        ] {
            assert_eq!(of(url, kept).as_deref(), expected, "{url} {kept}");
        }
    }

    #[test]
    fn patterns_are_counted_within_a_limit() {
        let mut patterns = Patterns::default();
        for version in 0..MAX_PATTERNS + 9 {
            patterns.add(&format!("http://a.example/{version}/x"), "http://a.example/stable/x");
        }
        patterns.add("http://a.example/7/y", "http://a.example/stable/y");
        assert_eq!(patterns.0.len(), MAX_PATTERNS);
        let shown = patterns.shown();
        assert_eq!((shown.len(), &*shown[0].pattern), (SHOWN_PATTERNS, "/7/ beside /stable/"));
        assert_eq!(shown[0].duplicates, 2);
    }
}

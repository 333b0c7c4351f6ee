//! Site boilerplate: lines that a site repeats, such as notices, teasers and "follow us". A single page does not show
//! which of its lines these are. Fingerprints are not affected.
//!
//! A line is repeated if at least [`MIN_PAGES`] kept pages of one registrable domain, in one language, contain it: the
//! translations of a page share its code and tables, which are its own. Only kept pages
//! count, so a page and its near-duplicates count once. The result does not depend on the order of pages.

mod count;
mod learn;

use std::collections::{BTreeMap, HashSet};

use hapax_url::registrable_site;
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use self::count::Counter;
pub(crate) use self::learn::learn;
use crate::error::Result;

/// Number of pages of a site from which on a line is boilerplate.
pub const MIN_PAGES: u32 = 3;
/// Maximum number of repeated lines of a site, the most frequent first: 128 KiB.
const MAX_LINES_PER_SITE: usize = 8_192;
/// Minimum words of a repeated run that is removed from the middle of a text. Headings of a manual are shorter.
const MIN_RUN_WORDS: usize = 8;
/// Minimum share of a text that must remain; otherwise it is not changed.
const MIN_REST: f64 = 0.3;

/// Counts the lines of all pages.
#[derive(Debug, Default)]
pub struct SiteLinesBuilder {
    counter: Counter,
}

/// The lines that each site repeats.
#[derive(Clone, Debug, Default)]
pub struct SiteLines {
    // Hash of the site, hash of the line.
    lines: HashSet<(u64, u64), foldhash::fast::FixedState>,
    // Hashes of the sites that repeat lines.
    sites: HashSet<u64, foldhash::fast::FixedState>,
}

/// A text without the lines of its site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// The lines that remain.
    pub text: String,
    /// Number of removed lines.
    pub removed: usize,
}

impl SiteLinesBuilder {
    /// Adds the text of a kept page.
    ///
    /// # Errors
    /// From the temporary files, which large crawls need.
    ///
    /// # Complexity
    /// Linear in the text; at most 16 MiB of memory for all pages.
    pub fn add(&mut self, url: &str, language: &str, text: &str) -> Result<()> {
        let site = site_hash(url, language);
        let mut lines: Vec<u64> = text.lines().filter_map(line_hash).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().try_for_each(|line| self.counter.add(site, line))
    }

    /// Counts the lines.
    ///
    /// # Errors
    /// From the temporary files.
    ///
    /// # Complexity
    /// O(n log n) for n lines, of which a 64th is in memory at a time; then 16 bytes for each repeated line.
    pub fn build(self) -> Result<SiteLines> {
        let mut sites: BTreeMap<u64, Vec<(u32, u64)>> = BTreeMap::new();
        self.counter.count(&mut |site, line, pages| {
            if pages >= MIN_PAGES {
                sites.entry(site).or_default().push((pages, line));
            }
        })?;
        let mut repeated = SiteLines::default();
        for (site, mut lines) in sites {
            lines.sort_unstable_by(|a, b| b.cmp(a));
            lines.truncate(MAX_LINES_PER_SITE);
            repeated.lines.extend(lines.into_iter().map(|(_, line)| (site, line)));
            repeated.sites.insert(site);
        }
        Ok(repeated)
    }
}

impl SiteLines {
    /// Removes the repeated lines of its site from the text of a page: runs at the beginning or the end, and runs of
    /// eight words or more in between. Keeps the title. Returns the whole text if less than 30 % of it would remain.
    ///
    /// # Complexity
    /// Linear in the text.
    pub fn clean(&self, (url, language): (&str, &str), title: &str, text: &str) -> Cleaned {
        let whole = || Cleaned { text: text.to_owned(), removed: 0 };
        if self.lines.is_empty() {
            return whole();
        }
        let site = site_hash(url, language);
        if !self.sites.contains(&site) {
            return whole();
        }
        let title = line_hash(title);
        let lines: Vec<&str> = text.split('\n').collect();
        let removed = repeated_runs(&lines, |at| {
            let hash = line_hash(lines.get(at)?)?;
            Some(Some(hash) != title && self.lines.contains(&(site, hash)))
        });
        if removed.is_empty() {
            return whole();
        }
        let is_kept = |at: &usize| removed.binary_search(at).is_err();
        let rest = lines.iter().enumerate().filter(|(at, _)| is_kept(at)).map(|(_, line)| *line);
        let text = rest.collect::<Vec<_>>().join("\n");
        let with_words =
            |at: &&usize| lines.get(**at).is_some_and(|line| line_hash(line).is_some());
        Cleaned { text, removed: removed.iter().filter(with_words).count() }
    }
}

/// Returns the numbers of lines that a site repeats and that are no part of the page: runs at the beginning or the end,
/// and runs of eight words or more in between. `is_repeated` returns `None` for a line without words. Nothing if less
/// than 30 % of the text would remain.
///
/// # Complexity
/// Linear in the text.
pub fn repeated_runs(lines: &[&str], is_repeated: impl Fn(usize) -> Option<bool>) -> Vec<usize> {
    let known: Vec<Option<bool>> = (0..lines.len()).map(is_repeated).collect();
    // A line without words belongs to the run around it.
    let in_run = |at: usize| known.get(at).is_some_and(|known| *known != Some(false));
    let (mut removed, mut at, mut kept_any) = (Vec::new(), 0, false);
    while at < lines.len() {
        if !in_run(at) {
            (at, kept_any) = (at + 1, true);
            continue;
        }
        let end = (at..lines.len()).find(|at| !in_run(*at)).unwrap_or(lines.len());
        let run = lines.get(at..end).unwrap_or_default();
        let at_edge = !kept_any || end == lines.len();
        if at_edge || run.iter().map(|line| words(line)).sum::<usize>() >= MIN_RUN_WORDS {
            removed.extend(at..end);
        } else {
            kept_any = true;
        }
        at = end;
    }
    let length = |at: usize| lines.get(at).map_or(0, |line| line.len() + 1);
    let all: usize = (0..lines.len()).map(length).sum();
    let gone: usize = removed.iter().map(|at| length(*at)).sum();
    let has_words = removed.iter().any(|at| known.get(*at).is_some_and(Option::is_some));
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let too_little = ((all - gone) as f64) < MIN_REST * all as f64;
    if too_little || !has_words { Vec::new() } else { removed }
}

/// Returns the hash of a site's pages in one language.
fn site_hash(url: &str, language: &str) -> u64 {
    let site = Url::parse(url).map(|url| registrable_site(&url)).unwrap_or_default();
    xxh3_64(format!("{site} {language}").as_bytes())
}

/// Returns the hash of a line without case and extra spaces; `None` for an empty line.
fn line_hash(line: &str) -> Option<u64> {
    let normal = if line.is_ascii() { normal_ascii(line.as_bytes()) } else { normal(line).into() };
    (!normal.is_empty()).then(|| xxh3_64(&normal))
}

/// Returns the words in lower case, separated by one space.
fn normal(line: &str) -> String {
    let mut normal = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.extend(word.chars().flat_map(char::to_lowercase));
    }
    normal
}

/// Does the same for ASCII, many times as fast if the words are already separated by single spaces.
fn normal_ascii(line: &[u8]) -> Vec<u8> {
    // The whitespace of Unicode that is ASCII.
    let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b' ');
    let mut normal = Vec::with_capacity(line.len() + 1);
    if is_single_spaced(line) {
        normal.extend_from_slice(line);
    } else {
        for word in line.split(is_space).filter(|word| !word.is_empty()) {
            normal.extend_from_slice(word);
            normal.push(b' ');
        }
        normal.pop();
    }
    normal.make_ascii_lowercase();
    normal
}

/// Returns whether no whitespace but single spaces between words is in `line`. Reads the whole line, in vectors.
fn is_single_spaced(line: &[u8]) -> bool {
    let at_edge = line.first() == Some(&b' ') || line.last() == Some(&b' ');
    let others = line.iter().fold(0, |any, byte| any | u8::from(matches!(byte, b'\t'..=b'\r')));
    let pairs = line.iter().zip(line.iter().skip(1));
    let double = pairs.fold(0, |any, (a, b)| any | u8::from(*a == b' ') & u8::from(*b == b' '));
    !at_edge && others | double == 0
}

/// Returns the number of words. In scripts without spaces each character is a word.
fn words(line: &str) -> usize {
    let spaceless = |c: &char| matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{9fff}');
    line.split_whitespace().count() + line.chars().filter(spaceless).count()
}

#[cfg(test)]
mod tests;

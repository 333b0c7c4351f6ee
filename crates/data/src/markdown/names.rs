//! File names made from URLs: a tree by host and path. No name leaves the folder, hides, or means a device.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum length of a part of a path in bytes. File systems take 255.
const MAX_PART: usize = 80;
/// Maximum number of folders below that of the host.
const MAX_FOLDERS: usize = 16;
/// Maximum length of a path in bytes, without the folder of the export. Windows takes 260 in all.
const MAX_PATH: usize = 200;
/// Names of devices on Windows, also with an ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Ending of the files of pages.
const ENDING: &str = ".md";

/// Number of pages by the hash of their path, without case.
#[derive(Debug, Default)]
pub(super) struct Names {
    pages: HashMap<u64, u32, FixedState>,
    used: std::collections::HashSet<u64, FixedState>,
}

impl Names {
    /// Counts a page.
    pub(super) fn add(&mut self, url: &str) {
        *self.pages.entry(folded(&path_of(url))).or_default() += 1;
    }

    /// Returns the path of a page, with `/` between its parts. If paths of several pages differ at most in case, each
    /// gets a hash of its URL, so that names do not depend on the order of pages.
    pub(super) fn path(&mut self, url: &str, id: u64) -> String {
        let path = path_of(url);
        let alone = self.pages.get(&folded(&path)).is_none_or(|pages| *pages == 1);
        let hash = xxh3_64(url.as_bytes()) >> 24;
        let named =
            if alone { format!("{path}{ENDING}") } else { format!("{path}~{hash:010x}{ENDING}") };
        if self.used.insert(folded(&named)) {
            return named;
        }
        // The same URL twice.
        format!("{path}~{hash:010x}-{id}{ENDING}")
    }
}

/// Returns the hash of a path that is equal for paths that a file system without case takes for one.
pub(super) fn folded(path: &str) -> u64 {
    xxh3_64(path.to_uppercase().to_lowercase().as_bytes())
}

/// Returns the path of a page without the ending.
fn path_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return format!("other/{:016x}", xxh3_64(url.as_bytes()));
    };
    let mut path = host_folder(&url);
    let mut parts: Vec<String> = url
        .path_segments()
        .map(|segments| segments.map(decoded).collect())
        .unwrap_or_else(|| vec![decoded(url.path())]);
    let mut last = parts.pop().unwrap_or_default();
    if last.is_empty() {
        last.push_str("index");
    }
    if let Some(query) = url.query() {
        last.push('@');
        last.push_str(&decoded(query));
    }
    // The file keeps its place: the folders beyond the limit are left out.
    for folder in parts.iter().take(MAX_FOLDERS) {
        let part = part(folder, true);
        if path.len() + part.len() + 1 > MAX_PATH - MAX_PART {
            break;
        }
        path.push('/');
        path.push_str(&part);
    }
    path.push('/');
    path.push_str(&part(&last, false));
    path
}

/// Returns the folder of the host of a URL.
pub(super) fn host_folder(url: &Url) -> String {
    let host = hapax_url::host_key(url);
    let name = part(if host.is_empty() { "local" } else { &host }, true);
    // The names of the export's own files.
    let own = ["index", "hapax-export"];
    if own.iter().any(|own| name.starts_with(own)) { format!("{name}_") } else { name }
}

/// Undoes percent-encoding, if the result is text.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, later)) = rest.split_first() {
        let digits = later.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = later.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = later;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns a part of a path as a name of a file or `folder`.
fn part(text: &str, folder: bool) -> String {
    let mut name: String = text.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    name.truncate(name.floor_char_boundary(MAX_PART));
    // `.`, `..`, hidden files, options of a command, and ends that Windows drops.
    if name.starts_with(['.', '-']) {
        name.replace_range(..1, "_");
    }
    if name.ends_with('.') {
        name.replace_range(name.len() - 1.., "_");
    }
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    if name.is_empty() || DEVICES.contains(&&*stem) || numbered("com") || numbered("lpt") {
        name.insert(0, '_');
    }
    // A file of a page may have this name.
    let end = name.len().checked_sub(ENDING.len()).and_then(|at| name.get(at..));
    if folder && end.is_some_and(|end| end.eq_ignore_ascii_case(ENDING)) {
        name.push('_');
    }
    name
}

/// Letters and digits with one spelling, and signs that are harmless in names, shells and Markdown.
fn is_safe(c: char) -> bool {
    let has_other_spelling = matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{212a}'..='\u{212b}' | '\u{2126}' | '\u{a960}'..='\u{a97f}'
        | '\u{d7b0}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}');
    c.is_alphanumeric() && !has_other_spelling
        || matches!(c, '-' | '_' | '.' | '+' | '=' | '@' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_follow_host_and_path() {
        for (url, path) in [
            ("http://a.example/", "a.example/index"),
            ("http://a.example/b/c.html", "a.example/b/c.html"),
            ("http://a.example/b/", "a.example/b/index"),
            ("http://a.example:8080/b?q=1&r=2", "a.example_8080/b@q=1_r=2"),
            ("http://a.example/%E5%8C%97%E4%BA%AC", "a.example/北京"),
            ("http://a.example/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "a.example/_._.._etc_passwd"),
            ("http://a.example/.git/config", "a.example/_git/config"),
            ("http://a.example/-rf", "a.example/_rf"),
            ("http://a.example/aux.html", "a.example/_aux.html"),
            ("http://a.example/COM1/x", "a.example/_COM1/x"),
            ("http://a.example/a.md/b", "a.example/a.md_/b"),
            ("http://a.example//b", "a.example/_/b"),
            ("http://index/b", "index_/b"),
            ("http://hapax-export.jsonl/b", "hapax-export.jsonl_/b"),
            ("file:///tmp/page.html", "local/tmp/page.html"),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
    }

    #[test]
    fn names_that_differ_in_case_get_a_hash_in_any_order() {
        let urls = ["http://a.example/Page", "http://a.example/page", "http://a.example/other"];
        let paths = |urls: &[&str]| {
            let mut names = Names::default();
            urls.iter().for_each(|url| names.add(url));
            urls.iter()
                .map(|url| ((*url).to_owned(), names.path(url, 1)))
                .collect::<HashMap<_, _>>()
        };
        let [a, b, c] = urls;
        let one = paths(&urls);
        assert_eq!(one, paths(&[c, b, a]));
        assert_eq!(one.get(c).unwrap(), "a.example/other.md");
        assert!(one.get(a).unwrap().contains('~') && one.get(b).unwrap().contains('~'), "{one:?}");
        assert_ne!(folded(one.get(a).unwrap()), folded(one.get(b).unwrap()));
        let mut names = Names::default();
        names.add(a);
        names.add(a);
        assert_ne!(names.path(a, 1), names.path(a, 2));
    }

    proptest! {
        #[test]
        fn no_url_leaves_the_folder(path in "([/.%a-fA-F0-9\\\\:*?\"<>| ~-]|\\PC|%2[eEfF]|\\.\\./){0,300}", query in "(\\PC){0,40}") {
            let Ok(mut url) = Url::parse("http://a.example/") else { return Ok(()) };
            url.set_path(&path);
            url.set_query(Some(&query));
            let mut names = Names::default();
            names.add(url.as_str());
            let path = names.path(url.as_str(), 1);
            prop_assert!(path.len() <= MAX_PATH + 40, "{}", path);
            prop_assert!(path.starts_with("a.example/") && path.ends_with(ENDING));
            for part in path.split('/') {
                prop_assert!(!part.is_empty() && !part.starts_with(['.', '-']), "{}", path);
                prop_assert!(!part.ends_with(['.', ' ']) && part.len() <= MAX_PART + 20, "{}", path);
                prop_assert!(!part.contains(['\\', ':', '*', '?', '"', '<', '>', '|', '\0', '\n']), "{}", path);
            }
        }
    }
}

//! The kind of a file of stored pages: by its bytes, or by its name if they are ambiguous.

use std::path::Path;

use hapax_page::Kind;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKind {
    /// A WARC or ARC file.
    Warc,
    /// JSONL.
    Lines,
    /// A page of this content type.
    Page(&'static str),
    /// Text that may be anything: source code, styles, data.
    Text(&'static str),
    /// None of these.
    Nothing,
}

/// Magic bytes of binary files, which may have no zero byte in their first bytes.
const NO_TEXT: [&[u8]; 7] =
    [b"%PDF-", b"%!PS", b"{\\rtf", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04"];

impl StoredKind {
    /// Returns whether files of this kind in a folder are read.
    pub const fn is_among_pages(self) -> bool {
        matches!(self, Self::Warc | Self::Page(_))
    }
}

/// Returns the kind of a file by its name and its first bytes, decompressed.
pub fn stored_kind(path: &Path, head: &[u8]) -> StoredKind {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let ends = |end: &str| name.ends_with(end);
    let archive = head.starts_with(b"WARC/") || head.starts_with(b"filedesc://");
    if archive || ends(".warc") || ends(".arc") && head.is_empty() {
        return StoredKind::Warc;
    }
    if ends(".jsonl") {
        return StoredKind::Lines;
    }
    let named = if ends(".html") || ends(".htm") {
        Some("text/html")
    } else if ends(".xhtml") {
        Some("application/xhtml+xml")
    } else {
        ends(".txt").then_some("text/plain")
    };
    let is_text = !NO_TEXT.iter().any(|magic| head.starts_with(magic));
    match (named, Kind::of(None, head).filter(|_| is_text)) {
        // An empty page is a page too.
        (Some(named), _) if head.is_empty() => StoredKind::Page(named),
        (Some(named), Some(_)) => StoredKind::Page(named),
        (None, Some(Kind::Html)) => StoredKind::Page("text/html"),
        (None, Some(Kind::Plain)) => StoredKind::Text("text/plain"),
        (_, None) => StoredKind::Nothing,
    }
}

/// Returns how a file that a person named is read.
///
/// # Errors
/// Why it is not a page.
pub fn page_kind(path: &Path, bytes: &[u8]) -> Result<Kind, &'static str> {
    let kind = match stored_kind(path, bytes) {
        StoredKind::Page(named) | StoredKind::Text(named) => Kind::of(Some(named), bytes),
        StoredKind::Lines => Kind::of(None, bytes),
        StoredKind::Nothing => bytes.is_empty().then_some(Kind::Plain),
        StoredKind::Warc => return Err("is an archive of pages. Read it with `crawl pages`"),
    };
    kind.ok_or("not HTML or text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_given_as_a_page_names_the_command_that_reads_it() {
        let error = page_kind(Path::new("a.warc.gz"), b"WARC/1.1\r\n").unwrap_err();
        assert!(error.contains("crawl pages"), "{error}");
        assert!(page_kind(Path::new("a.pdf"), b"%PDF-1.4\n%").unwrap_err().contains("not HTML"));
        assert_eq!(page_kind(Path::new("a"), b"<html>"), Ok(Kind::Html));
    }

    #[test]
    fn bytes_decide_and_a_name_says_the_rest() {
        let kind = |name: &str, head: &[u8]| stored_kind(Path::new(name), head);
        let html = StoredKind::Page("text/html");
        for (name, head, wanted) in [
            ("a.php", &b"\n<!doctype html><p>"[..], html),
            ("index", b"<html>", html),
            ("a.HTML.gz", b"no tag", html),
            ("empty.html", b"", html),
            ("a.xhtml", b"<?xml", StoredKind::Page("application/xhtml+xml")),
            ("a.txt", b"<p> is a tag", StoredKind::Page("text/plain")),
            ("a.css", b"p { color: red }", StoredKind::Text("text/plain")),
            ("a.warc.gz", b"", StoredKind::Warc),
            ("saved", b"WARC/1.1\r\n", StoredKind::Warc),
            ("saved", b"filedesc://a.arc 0.0.0.0 20080430204825 text/plain 76\n", StoredKind::Warc),
            ("a.arc", b"a text", StoredKind::Text("text/plain")),
            ("a.jsonl", b"{}", StoredKind::Lines),
            ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", StoredKind::Nothing),
            ("a.html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", StoredKind::Nothing),
            ("a.pdf", b"%PDF-1.4\n%", StoredKind::Nothing),
            ("empty", b"", StoredKind::Nothing),
        ] {
            assert_eq!(kind(name, head), wanted, "{name}");
        }
    }
}

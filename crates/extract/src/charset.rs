//! Determines the charset and decodes bytes to text.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

/// Number of bytes in the prescan for `<meta charset>`, as in the HTML standard.
const PRESCAN: usize = 1024;
/// If the prescan finds nothing, a `<meta charset>` within this number of bytes is accepted, as in browsers.
const LATE: usize = 64 << 10;

/// How the charset was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The bytes are valid UTF-8 with non-ASCII characters. Text in another charset is not, except by chance.
    Utf8Bytes,
    /// The HTTP header.
    Header,
    /// A `<meta>` in the first 1,024 bytes, or an XML declaration.
    Meta,
    /// Nothing was declared: guessed from the whole body.
    Detected,
}

impl CharsetSource {
    /// The source in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bom => "a byte order mark",
            Self::Utf8Bytes => "the bytes, which are valid UTF-8",
            Self::Header => "the Content-Type header",
            Self::Meta => "a meta element",
            Self::Detected => "a guess from the bytes",
        }
    }
}

/// Decodes a body.
///
/// The order follows the HTML standard (section 13.2.3: BOM, header, meta prescan, detection) with one exception.
/// UTF-8 with non-ASCII bytes overrides a declared legacy charset if at most 1 in 50 of them is invalid: pages
/// declare one and are served as UTF-8. `gb2312` and `gbk` are decoded as GB18030. The returned encoding is the
/// declared one, for queries of links.
///
/// # Complexity
/// Linear; the detector runs only if everything else is missing.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
) -> (Cow<'a, str>, &'static Encoding, CharsetSource) {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        let rest = body.get(length..).unwrap_or_default();
        return (encoding.decode_without_bom_handling(rest).0, encoding, CharsetSource::Bom);
    }
    if !body.is_ascii()
        && let Ok(text) = std::str::from_utf8(body)
    {
        return (Cow::Borrowed(text), UTF_8, CharsetSource::Utf8Bytes);
    }
    if nearly_utf8(body) {
        let declared = content_type.and_then(charset_parameter).or_else(|| prescan(body));
        if declared != Some(UTF_8) {
            return (UTF_8.decode_without_bom_handling(body).0, UTF_8, CharsetSource::Utf8Bytes);
        }
    }
    let header = content_type.and_then(charset_parameter).map(|e| (e, CharsetSource::Header));
    let meta = || prescan(body).map(|encoding| (encoding, CharsetSource::Meta));
    let (encoding, source) = match header.or_else(meta) {
        // The page declares UTF-8, but more than 1 in 10 non-ASCII bytes is invalid: it is in another charset.
        Some((encoding, _)) if encoding == UTF_8 && !mostly_utf8(body) => {
            (detect(body), CharsetSource::Detected)
        }
        Some(declared) => declared,
        None if body.is_ascii() => (WINDOWS_1252, CharsetSource::Detected),
        None => (detect(body), CharsetSource::Detected),
    };
    (widen(encoding).decode_without_bom_handling(body).0, encoding, source)
}

/// Returns the name of the charset that a page was decoded from.
pub(crate) fn name_of(encoding: &'static Encoding) -> &'static str {
    widen(encoding).name()
}

/// Returns the superset of an encoding that decodes its pages. Queries are encoded in the encoding itself: `€` is one
/// byte in GBK and two in GB18030 (WHATWG Encoding, section 10.2.2).
fn widen(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == GBK { GB18030 } else { encoding }
}

fn detect(body: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(body, true);
    detector.guess(None, Utf8Detection::Allow)
}

/// Minimum number of valid non-ASCII bytes that identify UTF-8, and of valid ones per invalid one.
const TELLING: usize = 48;
const BROKEN: usize = 50;

/// Returns whether the body is UTF-8 with isolated errors. In another charset, less than half of it would be valid.
fn nearly_utf8(body: &[u8]) -> bool {
    let (good, bad) = utf8_bytes(body);
    good >= TELLING && good >= bad * BROKEN
}

/// Returns whether at least 9 in 10 non-ASCII bytes are valid UTF-8.
fn mostly_utf8(body: &[u8]) -> bool {
    let (good, bad) = utf8_bytes(body);
    good >= bad * 9
}

/// Counts the non-ASCII bytes in valid sequences, and the invalid bytes.
fn utf8_bytes(body: &[u8]) -> (usize, usize) {
    let mut bad = 0usize;
    let mut good = 0usize;
    for chunk in body.utf8_chunks() {
        good += chunk.valid().bytes().filter(|b| !b.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    (good, bad)
}

/// Returns the `charset` parameter of a Content-Type.
fn charset_parameter(content_type: &str) -> Option<&'static Encoding> {
    let lower = content_type.to_ascii_lowercase();
    let at = lower.find("charset")? + "charset".len();
    let value = lower.get(at..)?.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(['"', '\'', ';', ' ', '>']).unwrap_or(value.len());
    Encoding::for_label(value.get(..end)?.as_bytes())
}

/// A simplified prescan of the HTML standard: the first `<meta` outside comments that declares a charset, else an XML
/// declaration at the start. Declared UTF-16 means UTF-8, `x-user-defined` means windows-1252.
fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    let beginning = |length: usize| {
        let head = body.get(..length.min(body.len())).unwrap_or_default();
        String::from_utf8_lossy(head).to_ascii_lowercase()
    };
    let text = beginning(PRESCAN);
    let declared = meta(&text).or_else(|| xml_declaration(&text));
    let late = || meta(&beginning(LATE)).filter(|_| body.len() > PRESCAN);
    let encoding = declared.or_else(late)?;
    match encoding {
        utf16 if utf16 == UTF_16BE || utf16 == UTF_16LE => Some(UTF_8),
        user if user == X_USER_DEFINED => Some(WINDOWS_1252),
        other => Some(other),
    }
}

fn xml_declaration(text: &str) -> Option<&'static Encoding> {
    let declaration = text.strip_prefix("<?xml")?;
    let declaration = declaration.get(..declaration.find('>')?)?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let value = value.strip_prefix('"').or_else(|| value.strip_prefix('\''))?;
    Encoding::for_label(value.get(..value.find(['"', '\''])?)?.as_bytes())
}

/// Elements whose content is text: the parser meets no `<meta>` in them (WHATWG HTML, section 13.2.6.2).
const TEXTS: [&str; 7] = ["script", "style", "textarea", "title", "xmp", "iframe", "noframes"];

/// Returns whether a text begins with a start tag of this name.
fn begins_with(text: &str, name: &str) -> bool {
    let behind = text.strip_prefix('<').and_then(|text| text.strip_prefix(name));
    behind.is_some_and(|behind| {
        behind.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'))
    })
}

fn meta(text: &str) -> Option<&'static Encoding> {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at..)?;
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.get(comment.find("-->").map_or(comment.len(), |end| end + 3)..)?;
            continue;
        }
        if let Some(name) = TEXTS.iter().find(|name| begins_with(rest, name)) {
            // If it is not closed, all is its content.
            rest = rest.get(rest.find(&format!("</{name}"))?..)?;
        }
        let end = rest.find('>').unwrap_or(rest.len());
        let tag = rest.get(..end)?;
        if let Some(attributes) = tag.strip_prefix("<meta")
            && begins_with(rest, "meta")
            && let Some(encoding) = declared_by(attributes)
        {
            return Some(encoding);
        }
        rest = rest.get(end.max(1)..)?;
    }
    None
}

/// Returns the charset of a `<meta>`, from its charset attribute or its content type.
fn declared_by(attributes: &str) -> Option<&'static Encoding> {
    let (mut charset, mut content, mut is_type) = (None, None, false);
    let mut rest = attributes.trim_start_matches(['/', ' ', '\t', '\n', '\r', '\x0c']);
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c == '/' || c.is_ascii_whitespace());
        let (name, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        let mut value = "";
        rest = behind.trim_start();
        if let Some(from) = rest.strip_prefix('=') {
            let from = from.trim_start();
            let quote = from.chars().next().filter(|c| matches!(c, '"' | '\''));
            (value, rest) = match quote {
                Some(quote) => from.get(1..)?.split_once(quote).unwrap_or((from.get(1..)?, "")),
                None => {
                    let end = from.find(|c: char| c.is_ascii_whitespace()).unwrap_or(from.len());
                    from.split_at_checked(end)?
                }
            };
        }
        match name {
            "charset" => charset = charset.or_else(|| Encoding::for_label(value.trim().as_bytes())),
            "content" => content = content.or(Some(value)),
            "http-equiv" => is_type |= value.trim() == "content-type",
            _ => {}
        }
        rest = rest.trim_start_matches(['/', ' ', '\t', '\n', '\r', '\x0c', '=']);
    }
    charset.or_else(|| content.filter(|_| is_type).and_then(charset_parameter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, SHIFT_JIS, WINDOWS_1251};
    use proptest::prelude::*;

    const CHINESE: &str = "今天天气很好，我们在公园里散步，看见许多人也在那里休息。";

    #[test]
    fn charsets_that_are_declared_are_kept_apart() {
        for (label, text) in [
            ("windows-1254", "İstanbul'da ağaç şehri"),
            ("iso-8859-9", "İstanbul'da ağaç şehri"),
            ("iso-8859-15", "Œuvre à 5 €"),
            ("iso-2022-jp", "日本語のページ"),
            ("macintosh", "Über die Brücke „gehen“"),
            ("euc-kr", "한국어로 된 문서"),
            ("tis-620", "ภาษาไทย"),
            ("koi8-r", "Русский текст"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let bytes = encoding.encode(&format!("<meta charset={label}><p>{text}")).0.into_owned();
            assert!(decode(&bytes, None).0.contains(text), "{label}");
            let bytes = encoding.encode(text).0.into_owned();
            let header = format!("text/html; charset={label}");
            assert_eq!(decode(&bytes, Some(&header)).0, text, "{label}");
        }
    }

    #[test]
    fn a_charset_is_declared_where_it_belongs_however_late() {
        let gbk = |head: &str| GBK.encode(&format!("{head}<p>{CHINESE}")).0.into_owned();
        let filler = format!("<script>{}</script>", "x = 1;".repeat(500));
        for head in [
            "<meta charset='gbk'>",
            "<meta  content=\"text/html; charset=gbk\" http-equiv=Content-Type>",
            "<META HTTP-EQUIV='content-type' CONTENT='text/html;charset=gb2312'/>",
            &format!("{filler}<meta charset=gbk>"),
            "<script>var s = '<meta charset=big5>';</script><meta charset=gbk>",
            "<metadata charset=big5></metadata><title>x</title><meta/charset=gbk>",
        ] {
            assert_eq!(decode(&gbk(head), None).2, CharsetSource::Meta, "{head}");
            assert!(decode(&gbk(head), None).0.contains(CHINESE), "{head}");
        }
        for head in [
            "<meta name=description content='what charset=big5 means'>",
            "<meta name=x data-charset=big5>",
            "<meta http-equiv=refresh content='9;url=/?charset=big5'>",
            // Where the parser meets none.
            "<script>var s = '<meta charset=big5>';</script>",
            "<style>/* <meta charset=big5> */</style>",
            "<title>The tag <meta charset=big5></title>",
            "<textarea name=a><meta charset=big5></textarea>",
            "<script>var s = '<meta charset=big5>';",
            "<metadata charset=big5></metadata>",
            &format!("{filler}<!-- {filler} --><script>a('<meta charset=big5>')</script>"),
        ] {
            assert_eq!(decode(&gbk(head), None).2, CharsetSource::Detected, "{head}");
        }
    }

    #[test]
    fn each_source_decides_in_its_turn() {
        let page = |meta: &str| format!("<html><head>{meta}</head><body>{CHINESE}</body>");
        let gbk = GBK.encode(&page("<meta charset=gb2312>")).0.into_owned();
        let (text, encoding, source) = decode(&gbk, None);
        assert_eq!((encoding, source), (GBK, CharsetSource::Meta));
        assert_eq!(name_of(encoding), "gb18030");
        assert!(text.contains(CHINESE));

        let bare = GBK.encode(&page("")).0.into_owned();
        assert!(decode(&bare, Some("text/html; charset=\"GBK\"")).0.contains(CHINESE));
        let (text, _, source) = decode(&bare, None);
        assert_eq!((text.contains(CHINESE), source), (true, CharsetSource::Detected));

        let lying = page("<meta http-equiv=Content-Type content='text/html; charset=gb2312'>");
        assert_eq!(decode(lying.as_bytes(), None).2, CharsetSource::Utf8Bytes);

        let bom = [b"\xEF\xBB\xBF", lying.as_bytes()].concat();
        let (text, _, source) = decode(&bom, Some("text/html; charset=big5"));
        assert_eq!((text.starts_with("<html"), source), (true, CharsetSource::Bom));
    }

    #[test]
    fn legacy_charsets_are_read() {
        let traditional = "我們昨天在臺北車站見面，後來一起去看電影。";
        for (encoding, text) in [
            (BIG5, traditional),
            (SHIFT_JIS, "これは日本語の文章です。"),
            (WINDOWS_1251, "Привет, мир"),
        ] {
            let bytes = encoding.encode(text).0.into_owned();
            let header = format!("text/html; charset={}", encoding.name());
            assert_eq!(decode(&bytes, Some(&header)).0, text);
        }
    }

    #[test]
    fn a_broken_byte_does_not_change_the_detected_charset() {
        let page = format!("<p>{}</p>", CHINESE.repeat(3));
        let (start, end) = page.as_bytes().split_at(page.len() / 2);
        let start = start.get(..start.len() - start.len() % 3).unwrap();
        for broken in [&b"\xE9"[..], b"\xFF"] {
            let bytes = [start, broken, b" ", end].concat();
            for declared in
                [None, Some("text/html; charset=iso-8859-1"), Some("text/html; charset=gbk")]
            {
                let (text, encoding, _) = decode(&bytes, declared);
                assert_eq!(encoding, UTF_8, "{declared:?}");
                assert!(text.contains("公园里散步"));
            }
        }
        // Too short to identify UTF-8, and text in another charset.
        for (text, encoding) in
            [("d\u{e9}j\u{e0} vu ".repeat(40), WINDOWS_1252), (CHINESE.repeat(9), GB18030)]
        {
            let bytes = encoding.encode(&text).0.into_owned();
            let header = format!("text/html; charset={}", encoding.name());
            assert_eq!(decode(&bytes, Some(&header)).0, text);
        }
    }

    #[test]
    fn an_xml_declaration_is_read_where_no_meta_speaks() {
        let named = |text: &str| prescan(text.as_bytes()).map(Encoding::name);
        assert_eq!(named("<?xml version='1.0' encoding = \"Big5\" ?><html>"), Some("Big5"));
        assert_eq!(named("<?xml encoding='big5'?><meta charset=gbk>"), Some("GBK"));
        assert_eq!(named("<?xml encoding=utf-16be?>"), None);
        assert_eq!(named("<?xml encoding='utf-16be'?>"), Some("UTF-8"));
        assert_eq!(named(" <?xml encoding='big5'?>"), None, "only in front of all");
        assert_eq!(named("<meta charset=x-user-defined>"), Some("windows-1252"));
    }

    #[test]
    fn a_comment_and_declared_utf16_do_not_fool_the_prescan() {
        assert_eq!(
            prescan(b"<!-- <meta charset=big5> --><meta charset=koi8-r>").unwrap().name(),
            "KOI8-R"
        );
        assert_eq!(prescan(b"<meta charset=utf-16le>"), Some(UTF_8));
        assert_eq!(prescan(b"<meta"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..2000), header in ".{0,60}") {
            let _ = decode(&body, Some(&header));
        }
    }
}

//! Tokenises text and ordinary tags, several times faster than html5ever's tokenizer, which reads single characters.
//! Everything else is left to that tokenizer; a test compares the trees.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token};
use html5ever::{Attribute, LocalName, QualName, ns};
use memchr::{memchr, memchr3};

/// Names of elements and attributes are no longer.
const MAX_NAME: usize = 32;

/// A piece of a page, of which texts and values are cut without a copy.
#[derive(Clone, Copy)]
struct Source<'a> {
    piece: &'a StrTendril,
    /// Where the token begins.
    at: usize,
    /// The piece from there on.
    text: &'a str,
}

impl Source<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn cut(&self, from: usize, to: usize) -> Option<StrTendril> {
        let (at, length) = (u32::try_from(self.at + from).ok()?, u32::try_from(to - from).ok()?);
        self.piece.try_subtendril(at, length).ok()
    }
}

/// The token that begins at `at`, as the data state of the tokenizer would make it (HTML, 13.2.5.1), and
/// its length in bytes. `None` if it is not plain, or does not end in this piece. Attributes are gathered
/// in `attributes`, so that each tag takes as much memory as it has of them.
///
/// # Complexity
/// Linear in the token; quadratic in the attributes of one tag, of which [`MAX_ATTRIBUTES`] are plain.
pub(crate) fn token(
    piece: &StrTendril,
    at: usize,
    attributes: &mut Vec<Attribute>,
) -> Option<(Token, usize)> {
    let source = Source { piece, at, text: piece.get(at..)? };
    let (text, bytes) = (source.text, source.bytes());
    if bytes.first()? == &b'<' {
        let (tag, length) = match bytes.get(1)? {
            b'/' => end_tag(source),
            _ => start_tag(source, attributes),
        }?;
        return Some((Token::TagToken(tag), length));
    }
    let end = memchr3(b'<', b'&', b'\0', bytes)?;
    let (text, length) = match text.get(..end)? {
        "" => reference(text)?,
        run if memchr(b'\r', run.as_bytes()).is_some() => {
            (run.replace("\r\n", "\n").replace('\r', "\n").into(), end)
        }
        _ => (source.cut(0, end)?, end),
    };
    Some((Token::CharacterTokens(text), length))
}

/// The character references that are frequent; each ends with its semicolon.
const REFERENCES: [(&str, &str); 6] = [
    ("amp;", "&"),
    ("nbsp;", "\u{a0}"),
    ("lt;", "<"),
    ("gt;", ">"),
    ("quot;", "\""),
    ("#39;", "'"),
];

fn reference(text: &str) -> Option<(StrTendril, usize)> {
    let rest = text.strip_prefix('&')?;
    let (name, stands_for) = REFERENCES.iter().find(|(name, _)| rest.starts_with(name))?;
    Some((StrTendril::from_slice(stands_for), 1 + name.len()))
}

fn end_tag(source: Source<'_>) -> Option<(Tag, usize)> {
    let bytes = source.bytes();
    let (name, at) = tag_name(bytes, 2)?;
    (bytes.get(at)? == &b'>').then(|| (tag(TagKind::EndTag, name, false, Vec::new()), at + 1))
}

/// A tag with more attributes is not plain.
const MAX_ATTRIBUTES: usize = 64;

fn start_tag(source: Source<'_>, attrs: &mut Vec<Attribute>) -> Option<(Tag, usize)> {
    let bytes = source.bytes();
    let (name, mut at) = tag_name(bytes, 1)?;
    attrs.clear();
    loop {
        at = skip(bytes, at, |byte| !is_space(byte))?;
        let closing = match bytes.get(at)? {
            b'>' => Some(1),
            b'/' if bytes.get(at + 1)? == &b'>' => Some(2),
            _ => None,
        };
        if let Some(length) = closing {
            // No larger than it must be: the tree keeps it.
            let attrs = Vec::from_iter(attrs.drain(..));
            return Some((tag(TagKind::StartTag, name, length == 2, attrs), at + length));
        }
        let end = skip(bytes, at, |byte| !is_plain(byte))?;
        let attribute = local_name(bytes.get(at..end)?)?;
        let after = skip(bytes, end, |byte| !is_space(byte))?;
        let value;
        (value, at) = match bytes.get(after)? {
            b'=' => value_of(source, skip(bytes, after + 1, |byte| !is_space(byte))?)?,
            b'>' | b'/' => (StrTendril::new(), after),
            // Another one, after white space.
            _ if after > end => (StrTendril::new(), after),
            _ => return None,
        };
        if attrs.len() == MAX_ATTRIBUTES || attrs.iter().any(|a| a.name.local == attribute) {
            return None;
        }
        attrs.push(Attribute { name: QualName::new(None, ns!(), attribute), value });
    }
}

/// An attribute's value, and where it ends.
fn value_of(source: Source<'_>, at: usize) -> Option<(StrTendril, usize)> {
    let bytes = source.bytes();
    let (from, to, end) = match *bytes.get(at)? {
        quote @ (b'"' | b'\'') => {
            let to = at + 1 + memchr(quote, bytes.get(at + 1..)?)?;
            (at + 1, to, to + 1)
        }
        b'>' => return None,
        _ => {
            let to = skip(bytes, at, |byte| is_space(byte) || byte == b'>')?;
            (at, to, to)
        }
    };
    let value = source.text.get(from..to)?;
    if memchr3(b'&', b'\0', b'\r', value.as_bytes()).is_none() {
        return Some((source.cut(from, to)?, end));
    }
    // Every reference must be the one that addresses are full of.
    let odd = value.contains(['\0', '\r'])
        || value.matches('&').count() != value.matches("&amp;").count();
    (!odd).then(|| (StrTendril::from(value.replace("&amp;", "&")), end))
}

/// The name of a tag that begins at `at`, and where it ends.
fn tag_name(bytes: &[u8], at: usize) -> Option<(LocalName, usize)> {
    if !bytes.get(at)?.is_ascii_alphabetic() {
        return None;
    }
    let end = skip(bytes, at, |byte| !is_plain(byte))?;
    if !is_space(*bytes.get(end)?) && !matches!(bytes.get(end)?, b'/' | b'>') {
        return None;
    }
    let name = local_name(bytes.get(at..end)?)?;
    // Their content is not markup, or they change the state of the tokenizer.
    let odd = matches!(
        &*name,
        "iframe"
            | "meta"
            | "noembed"
            | "noframes"
            | "noscript"
            | "plaintext"
            | "script"
            | "style"
            | "textarea"
            | "title"
            | "xmp"
    );
    (!odd).then_some((name, end))
}

fn local_name(bytes: &[u8]) -> Option<LocalName> {
    let mut lower = [0; MAX_NAME];
    let lower = lower.get_mut(..bytes.len()).filter(|name| !name.is_empty())?;
    lower.copy_from_slice(bytes);
    lower.make_ascii_lowercase();
    Some(LocalName::from(std::str::from_utf8(lower).ok()?))
}

fn tag(kind: TagKind, name: LocalName, self_closing: bool, attrs: Vec<Attribute>) -> Tag {
    Tag { kind, name, self_closing, attrs, had_duplicate_attributes: false }
}

/// Where from `at` on the first byte stands that `stops`.
fn skip(bytes: &[u8], at: usize, stops: impl Fn(u8) -> bool) -> Option<usize> {
    Some(at + bytes.get(at..)?.iter().position(|&byte| stops(byte))?)
}

/// Bytes of names that nothing odd begins with.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.' | b'@')
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> Option<String> {
        let (token, length) = token(&StrTendril::from_slice(text), 0, &mut Vec::new())?;
        let rest = text.get(length..)?;
        Some(match token {
            Token::TagToken(tag) => {
                let attrs: String =
                    tag.attrs.iter().map(|a| format!(" {}={}", a.name.local, a.value)).collect();
                let end = if tag.kind == TagKind::EndTag { "/" } else { "" };
                let closes = if tag.self_closing { " /" } else { "" };
                format!("<{end}{}{attrs}{closes}>|{rest}", tag.name)
            }
            Token::CharacterTokens(text) => format!("{text}|{rest}"),
            _ => return None,
        })
    }

    #[test]
    fn a_tag_takes_no_more_memory_than_its_attributes() {
        let mut attributes = Vec::new();
        for (text, count) in [("<p>", 0), ("<a id=x>", 1), ("<a id=x b c=d e f>", 5)] {
            // Nothing of a tag that is not plain stays behind.
            assert!(token(&StrTendril::from_slice("<a id=x b"), 0, &mut attributes).is_none());
            let found = token(&StrTendril::from_slice(text), 0, &mut attributes);
            let Some((Token::TagToken(tag), _)) = found else { panic!("{text}: {found:?}") };
            assert_eq!((tag.attrs.len(), tag.attrs.capacity()), (count, count), "{text}");
        }
    }

    #[test]
    fn plain_markup_becomes_a_token_and_unusual_markup_is_left_to_the_parser() {
        for (text, token) in [
            ("text\r\n\r<b>", "text\n\n|<b>"),
            ("&amp;&lt;", "&|&lt;"),
            ("&nbsp;x", "\u{a0}|x"),
            ("<P>x", "<p>|x"),
            ("</A>x", "</a>|x"),
            ("<br/>", "<br />|"),
            (
                "<a  HREF=\"x?a=1&amp;b\"\nclass = 'c d' e f=g/h hidden>x",
                "<a href=x?a=1&b class=c d e= f=g/h hidden=>|x",
            ),
            ("<a b/>", "<a b= />|"),
        ] {
            assert_eq!(show(text).as_deref(), Some(token), "{text}");
        }
        for odd in [
            "",
            "text",
            "<",
            "<p",
            "<p class=",
            "<p class='x",
            "<p class='x'",
            "<p class=>",
            "<p a a>",
            "<p a=&lt;>",
            "<p \"=\">",
            "<p a=1 = b>",
            "</p >",
            "</>",
            "<!-- -->",
            "<?x>",
            "<1>",
            "<é>",
            "<pé>",
            "&copy;",
            "&amp",
            "\0",
            "<script>",
            "<TITLE>",
            "<meta charset=x>",
            "<p a/b=c>\0".get(..5).unwrap_or_default(),
        ] {
            assert_eq!(show(odd), None, "{odd}");
        }
    }
}

//! Names of elements in any case, and attributes of feeds.

use quick_xml::events::BytesStart;

/// Bytes of the longest wanted name, `sitemapindex`.
const MAX_NAME: usize = 12;
/// Attributes per tag; further ones are ignored.
pub(super) const MAX_ATTRIBUTES: usize = 16;

/// The name of an element in lower case, without its prefix: some generators write `<URLSET>`.
pub(super) struct Name {
    bytes: [u8; MAX_NAME],
    length: usize,
}

impl Name {
    /// Reads a name. One that is longer than any wanted one becomes empty.
    pub(super) fn of(name: &[u8]) -> Self {
        let mut bytes = [0; MAX_NAME];
        let Some(lower) = bytes.get_mut(..name.len()) else { return Self { bytes, length: 0 } };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Self { bytes, length: name.len() }
    }

    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Returns whether a guid is the address of its page: unless `isPermaLink` is another value than `true` (RSS 2.0).
pub(super) fn is_permanent(tag: &BytesStart<'_>) -> bool {
    tag.attributes().flatten().take(MAX_ATTRIBUTES).all(|attribute| {
        !attribute.key.as_ref().eq_ignore_ascii_case(b"isPermaLink")
            || attribute.value.trim_ascii().eq_ignore_ascii_case(b"true")
    })
}

/// Returns the `xml:base` of an element of Atom (RFC 4287, section 2), unless it has more than `most` bytes.
pub(super) fn xml_base(tag: &BytesStart<'_>, most: usize) -> Option<String> {
    let mut attributes = tag.attributes().flatten().take(MAX_ATTRIBUTES);
    let base = attributes.find(|attribute| attribute.key.as_ref() == b"xml:base")?;
    let text = String::from_utf8_lossy(&base.value);
    (text.len() <= most).then(|| text.trim().replace("&amp;", "&"))
}

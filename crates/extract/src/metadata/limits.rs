//! Limits on metadata: a page declares as much as it likes.

/// Maximum number of values that are kept of a page before one is chosen for each field. Pages declare below 60.
pub(crate) const MAX_CANDIDATES: usize = 256;
/// Maximum length of a description in bytes.
pub(crate) const MAX_DESCRIPTION: usize = 1024;
/// Maximum length in bytes of any other value: a name, a type, a licence, a date.
pub(crate) const MAX_VALUE: usize = 256;
/// Maximum number of authors.
pub(crate) const MAX_AUTHORS: usize = 16;
/// Maximum length of one author's name in bytes. Longer text is a sentence.
pub(crate) const MAX_AUTHOR: usize = 96;
/// Maximum number of versions in other languages (`hreflang`).
pub(crate) const MAX_ALTERNATES: usize = 64;
/// Maximum length of a language tag in bytes (BCP 47 recommends 35).
pub(crate) const MAX_LANGUAGE_TAG: usize = 35;
/// Maximum length in bytes of the JSON-LD of a page that is parsed: a parsed value needs up to 16 times its bytes.
pub(crate) const MAX_JSON: usize = 512 * 1024;
/// Maximum depth of JSON-LD objects that are read.
pub(crate) const MAX_JSON_DEPTH: usize = 8;
/// Maximum number of JSON-LD objects of a page that are read.
pub(crate) const MAX_JSON_NODES: usize = 512;
/// Maximum number of elements whose text is captured at one time, and the bytes of each text.
pub(crate) const MAX_CAPTURES: usize = 8;
pub(crate) const MAX_CAPTURED: usize = 256;
/// Maximum number of nested microdata items.
pub(crate) const MAX_ITEMS: usize = 32;
/// Maximum number of dates of one kind among which the fetch time decides.
pub(crate) const MAX_DATES: usize = 8;
/// Maximum length of a text in which a date is searched, in bytes.
pub(crate) const MAX_DATE_TEXT: usize = 400;

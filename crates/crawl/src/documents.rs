//! Documents of JSONL lines and files, which have an id and perhaps a URL.

use std::time::SystemTime;

use hapax_data::files::Root;
use hapax_data::inputs::{Item, read_named};
use hapax_extract::Recipe;
use hapax_fetch::Response;
use hapax_page::Kind;
use url::Url;

use crate::offline::StoredDocument;
use crate::readers::StoredPage;

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 16_384;
/// Maximum number of characters of an id in a document's name.
const MAX_NAME: usize = 256;

impl StoredDocument {
    /// Reads the document of a JSON line, which may name a file below `root`. Its text alone decides: a canonical
    /// address is ignored.
    ///
    /// # Errors
    /// A description of the error.
    pub fn of_item(item: &Item, recipe: Recipe, root: Option<&Root>) -> Result<Self, String> {
        let (content_type, body) = item.body(|path| read_named(root, path))?;
        let url = item.url.as_deref();
        Self::of_body(&item.id, (url, item.title.as_deref()), (&content_type, body), recipe)
    }

    /// Reads a document with this id, URL and title.
    ///
    /// # Errors
    /// A description of the error.
    pub fn of_body(
        id: &str,
        (url, title): (Option<&str>, Option<&str>),
        (content_type, body): (&str, Vec<u8>),
        recipe: Recipe,
    ) -> Result<Self, String> {
        let url = url.and_then(|url| Url::parse(url).ok());
        // An id becomes a name without a host, so the document belongs to no site.
        let url = url.or_else(|| name_of(id)).ok_or("the document has no valid URL or id")?;
        let kind = if content_type.starts_with("text/plain") { Kind::Plain } else { Kind::Html };
        let mut document = kind.read(&url, Some(content_type), &body);
        if let Some(title) = title {
            document.title = title.chars().take(MAX_TITLE).collect();
        }
        document.canonical = None;
        let body = bytes::Bytes::from(body);
        let response = Response::stored(url.clone(), 200, Vec::new(), body);
        let page = StoredPage { url, response, time: SystemTime::now(), title: None };
        Ok(Self::new(id, page, document, recipe))
    }
}

/// `urn:hapax:document:ID`, the name under which the log lists a document without an address.
fn name_of(id: &str) -> Option<Url> {
    let mut url = Url::parse("urn:hapax:document:x").ok()?;
    let shown: String = id.chars().take(MAX_NAME).collect();
    url.set_path(&format!("hapax:document:{shown}"));
    Some(url)
}

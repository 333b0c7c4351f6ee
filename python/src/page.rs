//! Parsed pages.

use hapax_extract::{Document, Reason};
use hapax_page::{Evidence, Kind, as_it_stands};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyString};
use url::Url;

use crate::body::{self, Body};
use crate::errors::{Failure, detached};

/// A string or bytes of the caller, without a copy.
#[derive(Debug)]
pub(crate) enum Content {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Content {
    /// # Errors
    /// `TypeError` for another type, `UnicodeEncodeError` for a string that is not valid Unicode.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            return Ok(Self::Text(value.extract()?));
        }
        if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
            return Ok(Self::Bytes(value.extract()?));
        }
        let name = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("str or bytes are needed, not {name}")))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_str().as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    pub(crate) fn body(&self) -> Body<'_> {
        Body::new(self.bytes(), matches!(self, Self::Text(_)))
    }
}

/// Parses a URL.
///
/// # Errors
/// `ValueError` for an invalid URL.
pub(crate) fn parse_url(url: Option<&str>) -> PyResult<Option<Url>> {
    url.map(|url| {
        Url::parse(url).map_err(|error| PyValueError::new_err(format!("url {url:?}: {error}")))
    })
    .transpose()
}

/// A run of text between two block-level tags, and whether it is content.
#[pyclass(frozen, get_all, module = "hapax")]
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The text of the block.
    text: String,
    /// Whether the block is content.
    kept: bool,
    /// Why the block was kept or dropped, in words.
    reason: &'static str,
    /// The estimated probability that the block is content, 0 to 1.
    chance: f32,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        format!("Block(kept={}, reason={:?}, text={:?})", self.kept, self.reason, self.text)
    }
}

/// A parsed page: its content, and the text by which it is compared. `len` is its size in bytes.
#[pyclass(frozen, module = "hapax")]
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) document: Document,
    pub(crate) evidence: Evidence,
    pub(crate) url: Option<Url>,
    pub(crate) recipe: &'static str,
    length: usize,
}

impl Page {
    pub(crate) fn read(
        body: &Body<'_>,
        url: Option<Url>,
        recipe: hapax_extract::Recipe,
    ) -> Result<Self, Failure> {
        let document = body.document(url.as_ref())?;
        let evidence = Evidence::of(&document, recipe);
        Ok(Self { document, evidence, url, recipe: recipe.name(), length: body.bytes.len() })
    }
}

#[pymethods]
impl Page {
    /// The title, or the first heading.
    #[getter]
    fn title(&self) -> &str {
        &self.document.title
    }
    /// The first heading of the highest level that is not the site's.
    #[getter]
    fn heading(&self) -> &str {
        &self.document.heading
    }
    /// A two-letter code, or the empty string.
    #[getter]
    fn language(&self) -> &str {
        self.document.language
    }
    /// The content: the kept blocks, one a line.
    #[getter]
    fn text(&self) -> &str {
        &self.document.text
    }
    /// The comparison text: heading and content, or, for a thin page, title and all visible text.
    #[getter]
    fn basis(&self) -> &str {
        &self.evidence.comparison_text.text
    }
    /// Whether the page is thin: it has fewer than 15 content words.
    #[getter]
    fn little_text(&self) -> bool {
        self.evidence.comparison_text.thin
    }
    /// The number of content words in the comparison text; a page with 0 has no duplicates.
    #[getter]
    fn tokens(&self) -> u32 {
        self.evidence.comparison_text.features.tokens
    }
    /// The simhash by the page's recipe, unsigned.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.evidence.fingerprint.bits()
    }
    /// The name of the recipe of the fingerprint.
    #[getter]
    fn recipe(&self) -> &str {
        self.recipe
    }
    /// The URL given to `extract`.
    #[getter]
    fn url(&self) -> Option<&str> {
        self.url.as_ref().map(Url::as_str)
    }
    /// The canonical URL that the page declares.
    #[getter]
    fn canonical(&self) -> Option<String> {
        self.document.canonical.as_ref().map(as_it_stands)
    }
    /// Whether the page forbids indexing.
    #[getter]
    fn noindex(&self) -> bool {
        self.document.robots.noindex
    }
    /// Whether the page forbids following its links.
    #[getter]
    fn nofollow(&self) -> bool {
        self.document.robots.nofollow
    }
    /// The name of the detected charset.
    #[getter]
    fn charset(&self) -> &str {
        self.document.charset
    }
    /// The limit at which parsing stopped, if any.
    #[getter]
    fn truncated(&self) -> Option<&str> {
        self.document.truncated.map(hapax_extract::Truncation::as_str)
    }
    /// The absolute URLs of the links.
    #[getter]
    fn links(&self) -> Vec<String> {
        self.document.links.iter().map(|link| as_it_stands(&link.url)).collect()
    }
    /// All blocks in order; each call creates a new list.
    #[getter]
    fn blocks(&self) -> Vec<Block> {
        let block = |block: &hapax_extract::Block| Block {
            text: block.text.clone(),
            kept: block.reason == Reason::Text,
            reason: block.reason.as_str(),
            chance: block.chance,
        };
        self.document.blocks.iter().map(block).collect()
    }
    /// The size of the page in bytes.
    fn __len__(&self) -> usize {
        self.length
    }
    fn __bool__(&self) -> bool {
        true
    }
    fn __repr__(&self) -> String {
        let (title, tokens) = (&self.document.title, self.tokens());
        format!("Page(title={title:?}, tokens={tokens}, fingerprint={})", self.evidence.fingerprint)
    }
}

/// Reads an HTML page. For bytes, the charset is detected as in a crawl, also from `content_type`. Raises `ValueError`
/// for an invalid `url` or unknown `recipe`, `TypeError` if `html` is not `str` or `bytes`.
#[pyfunction]
#[pyo3(signature = (html, *, url=None, content_type=None, recipe=None))]
pub(crate) fn extract(
    py: Python<'_>,
    html: &Bound<'_, PyAny>,
    url: Option<&str>,
    content_type: Option<&str>,
    recipe: Option<&str>,
) -> PyResult<Page> {
    read(py, html, Kind::Html, url, content_type, recipe)
}

/// Reads a page of plain text. Arguments and errors are those of `extract`.
#[pyfunction]
#[pyo3(signature = (text, *, url=None, content_type=None, recipe=None))]
pub(crate) fn extract_plain(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    url: Option<&str>,
    content_type: Option<&str>,
    recipe: Option<&str>,
) -> PyResult<Page> {
    read(py, text, Kind::Plain, url, content_type, recipe)
}

fn read(
    py: Python<'_>,
    content: &Bound<'_, PyAny>,
    kind: Kind,
    url: Option<&str>,
    content_type: Option<&str>,
    recipe: Option<&str>,
) -> PyResult<Page> {
    let content = Content::of(content)?;
    let url = parse_url(url)?;
    detached(py, || {
        let body = Body { kind, content_type, ..content.body() };
        Page::read(&body, url, body::recipe(recipe)?)
    })
}

/// Returns the unsigned fingerprint of a text or an HTML page (text that begins with `<`), as `crawl fingerprint`
/// prints it. Raises `ValueError` for an unknown `recipe`, `TypeError` if `text` is not `str` or `bytes`.
#[pyfunction]
#[pyo3(signature = (text, *, recipe=None))]
pub(crate) fn fingerprint(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    recipe: Option<&str>,
) -> PyResult<u64> {
    let content = Content::of(text)?;
    detached(py, || {
        let (found, _) = body::fingerprint_of(&content.body(), None, body::recipe(recipe)?)?;
        Ok(found.bits())
    })
}

/// Returns the fingerprint and the number of content words of a response's body, or `None` if it is not text. An
/// invalid `url`, as found in archives, counts as missing. Raises `ValueError` for an unknown `recipe`.
#[pyfunction]
#[pyo3(signature = (body, content_type=None, *, url=None, recipe=None))]
pub(crate) fn response_fingerprint(
    py: Python<'_>,
    body: PyBackedBytes,
    content_type: Option<&str>,
    url: Option<&str>,
    recipe: Option<&str>,
) -> PyResult<Option<(u64, u32)>> {
    detached(py, || {
        let Some(kind) = Kind::of(content_type, &body) else { return Ok(None) };
        let body = Body { kind, bytes: &body, content_type, decoded: false };
        let url = url.map(str::as_bytes);
        let (found, tokens) = body::fingerprint_of(&body, url, body::recipe(recipe)?)?;
        Ok(Some((found.bits(), tokens)))
    })
}

/// Returns shingles that two texts share, and shingles that only the first has, for the log.
#[pyfunction]
pub(crate) fn examples(
    py: Python<'_>,
    text: &str,
    other: &str,
) -> PyResult<(Vec<String>, Vec<String>)> {
    detached(py, || Ok(hapax_page::examples(text, other)))
}

/// Returns a URL in its normal form, and its host as in the logs. Raises `ValueError` for an invalid URL.
#[pyfunction]
pub(crate) fn split_url(url: &str) -> PyResult<(String, String)> {
    let url = parse_url(Some(url))?;
    Ok(url.map(|url| (url.to_string(), hapax_url::host_key(&url))).unwrap_or_default())
}

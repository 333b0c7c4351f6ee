//! Pages, read.

use hapax_extract::{Document, Reason};
use hapax_page::{Evidence, Kind, as_it_stands};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyString};
use url::Url;

use crate::body::{self, Body};
use crate::errors::{Failure, detached};

/// A string or bytes of the caller's, held without a copy.
#[derive(Debug)]
pub(crate) enum Content {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Content {
    /// # Errors
    /// `TypeError` for anything else, `UnicodeEncodeError` for a string that is no Unicode text.
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

/// The caller's URL.
///
/// # Errors
/// `ValueError` for what is none.
pub(crate) fn parse_url(url: Option<&str>) -> PyResult<Option<Url>> {
    url.map(|url| {
        Url::parse(url).map_err(|error| PyValueError::new_err(format!("url {url:?}: {error}")))
    })
    .transpose()
}

/// A run of text between two block-level tags, and why it was kept or dropped.
#[pyclass(frozen, get_all, module = "hapax")]
#[derive(Clone, Debug)]
pub(crate) struct Block {
    text: String,
    kept: bool,
    reason: &'static str,
    chance: f32,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        format!("Block(kept={}, reason={:?}, text={:?})", self.kept, self.reason, self.text)
    }
}

/// A page, read: its own text, and what it is compared by.
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
    #[getter]
    fn title(&self) -> &str {
        &self.document.title
    }
    #[getter]
    fn heading(&self) -> &str {
        &self.document.heading
    }
    #[getter]
    fn language(&self) -> &str {
        self.document.language
    }
    #[getter]
    fn text(&self) -> &str {
        &self.document.text
    }
    #[getter]
    fn basis(&self) -> &str {
        &self.evidence.basis.text
    }
    #[getter]
    fn little_text(&self) -> bool {
        self.evidence.basis.little
    }
    #[getter]
    fn tokens(&self) -> u32 {
        self.evidence.basis.features.tokens
    }
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.evidence.fingerprint.bits()
    }
    #[getter]
    fn recipe(&self) -> &str {
        self.recipe
    }
    #[getter]
    fn url(&self) -> Option<&str> {
        self.url.as_ref().map(Url::as_str)
    }
    #[getter]
    fn canonical(&self) -> Option<String> {
        self.document.canonical.as_ref().map(as_it_stands)
    }
    #[getter]
    fn noindex(&self) -> bool {
        self.document.robots.noindex
    }
    #[getter]
    fn nofollow(&self) -> bool {
        self.document.robots.nofollow
    }
    #[getter]
    fn charset(&self) -> &str {
        self.document.charset
    }
    #[getter]
    fn truncated(&self) -> Option<&str> {
        self.document.truncated.map(hapax_extract::Truncation::as_str)
    }
    #[getter]
    fn links(&self) -> Vec<String> {
        self.document.links.iter().map(|link| as_it_stands(&link.url)).collect()
    }
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
    /// Bytes of what was read.
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

/// Reads an HTML page.
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

/// Reads a page of plain text.
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

/// The fingerprint of a text or an HTML page, as `crawl fingerprint` prints it.
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

/// Fingerprint and content words of a response's body; `None` for what is no text. An address that is
/// none counts as not given: archives hold such.
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

/// Shingles that two texts share and that only the first has, for the log.
#[pyfunction]
pub(crate) fn examples(
    py: Python<'_>,
    text: &str,
    other: &str,
) -> PyResult<(Vec<String>, Vec<String>)> {
    detached(py, || Ok(hapax_page::examples(text, other)))
}

/// A URL in its normal spelling, and the host that logs name it by.
#[pyfunction]
pub(crate) fn split_url(url: &str) -> PyResult<(String, String)> {
    let url = parse_url(Some(url))?;
    Ok(url.map(|url| (url.to_string(), hapax_url::host_key(&url))).unwrap_or_default())
}

//! The store: documents found by fingerprint and sketch.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use hapax_dedup::{Document, Error, Fingerprint, MAX_KEY, Options, Policy, Store, Verdict};
use hapax_extract::Recipe;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use url::Url;

use crate::column::{contents, parallel};
use crate::errors::{Failure, detached};
use crate::page::{Content, Page, parse_url};
use crate::texts::Texts;
use crate::verdict::{PyNeighbour, PyRecord, PyVerdict};
use crate::words::{Three, Words, fingerprint, fingerprints, three};

/// Documents found by fingerprint and sketch, each stored once. Methods raise `ValueError` for bad input and after
/// `close`, and `HapaxError` if the store fails.
#[pyclass(frozen, subclass, name = "Store", module = "hapax._hapax")]
#[derive(Debug)]
pub(crate) struct PyStore {
    store: RwLock<Option<Arc<Store>>>,
    recipe: String,
    distance: u32,
    /// `None`: the sketches decide.
    texts: Option<Texts>,
}

impl PyStore {
    fn open(&self) -> PyResult<Arc<Store>> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner);
        store.clone().ok_or_else(|| PyValueError::new_err("the store is closed"))
    }

    /// The recipe for texts offered to this store; an error if the store has a custom recipe.
    fn recipe_of_texts(&self) -> Result<Recipe, Failure> {
        Recipe::parse(&self.recipe).ok_or_else(|| {
            let name = &self.recipe;
            Failure::value(format!(
                "the store's recipe {name:?} is the caller's own: offer fingerprints, not texts"
            ))
        })
    }
}

/// The offered content: a parsed page, a text, or a fingerprint alone.
enum Offer<'a> {
    Page(&'a Page),
    Text(Content),
    Fingerprint(Fingerprint),
}

/// A page that was parsed for this call or before, or a fingerprint alone.
enum Read<'a> {
    Own(Box<Page>),
    Given(&'a Page),
    Fingerprint(Fingerprint),
}

impl<'a> Offer<'a> {
    fn of(value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(page) = value.cast::<Page>() {
            return Ok(Self::Page(page.get()));
        }
        if value.hasattr("__index__")? {
            return Ok(Self::Fingerprint(fingerprint(value)?));
        }
        Ok(Self::Text(Content::of(value)?))
    }

    fn read(&self, store: &PyStore, url: Option<&Url>) -> Result<Read<'a>, Failure> {
        Ok(match self {
            Self::Fingerprint(value) => Read::Fingerprint(*value),
            Self::Text(text) => {
                let page = Page::read(&text.body(), url.cloned(), store.recipe_of_texts()?)?;
                Read::Own(Box::new(page))
            }
            Self::Page(page) if page.recipe == store.recipe => Read::Given(page),
            Self::Page(page) => {
                let (asked, own) = (page.recipe, &store.recipe);
                return Err(Failure::value(format!(
                    "the page was read by recipe {asked:?}, the store holds {own:?}"
                )));
            }
        })
    }
}

impl Read<'_> {
    /// The page; `None` for a fingerprint alone.
    fn page(&self) -> Option<&Page> {
        match self {
            Self::Fingerprint(_) => None,
            Self::Own(page) => Some(page),
            Self::Given(page) => Some(page),
        }
    }

    fn document<'k>(&self, key: &'k [u8], address: &Address, time: u64) -> Document<'k> {
        let page = match (self, self.page()) {
            (_, Some(page)) => page,
            (Self::Fingerprint(value), None) => {
                let site = hapax_page::site_of(address.url(None), key);
                return Document { site, time, ..Document::new(key, *value) };
            }
            (_, None) => return Document::new(key, Fingerprint::default()),
        };
        page.evidence.document(key, address.url(page.url.as_ref()), time)
    }

    /// The digest of the text in stores of versions before 0.2.
    fn former_digest(&self) -> Option<[u8; 16]> {
        self.page()?.evidence.comparison_text.features.former_digest
    }
}

/// Opens a store with the requested recipe, or with its former version if that made the store.
fn open_store(path: &Path, options: Options) -> Result<(Store, String), Failure> {
    let asked = options.recipe.clone();
    match Store::open(path, options.clone()) {
        Err(Error::Recipe { stored, asked }) => {
            if Recipe::parse(&asked).and_then(|recipe| recipe.former_named(&stored)).is_none() {
                return Err(Error::Recipe { stored, asked }.into());
            }
            let store = Store::open(path, Options { recipe: stored.clone(), ..options })?;
            Ok((store, stored))
        }
        store => Ok((store?, asked)),
    }
}

/// Offers a document; the former digest finds equal texts that an earlier version stored. Others are compared with
/// the texts, if there are any.
fn offer_to(
    store: &Store,
    texts: Option<&Texts>,
    document: &Document<'_>,
    read: &Read<'_>,
) -> Result<PyVerdict, Failure> {
    if let Some(former) = read.former_digest()
        && store.id_of(document.key)?.is_none()
        && let Some(of) = store.equal_by_former_digest(document, former)?.first()
    {
        let id = store.insert(document, Some(of.id))?;
        return Ok(Verdict::Duplicate { id, of: *of }.into());
    }
    match texts.zip(read.page()) {
        Some((texts, page)) => texts.offer(store, document, page),
        None => Ok(store.offer(document)?.into()),
    }
}

/// The argument `texts`.
enum TextsAsked {
    Stored,
    Off,
    Given(Py<PyAny>),
}

impl TextsAsked {
    fn of(value: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(value) = value else { return Ok(Self::Stored) };
        if let Ok(on) = value.extract::<bool>() {
            return Ok(if on { Self::Stored } else { Self::Off });
        }
        if value.is_callable() {
            return Ok(Self::Given(value.unbind()));
        }
        let name = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("texts: a bool or a function is needed, not {name}")))
    }
}

/// The address of a document.
struct Address {
    /// The address given by the caller.
    told: Option<Url>,
    /// The key, if it is a URL.
    key: Option<Url>,
}

impl Address {
    fn of(told: Option<Url>, key: &[u8]) -> Self {
        let of_key = || {
            let url = Url::parse(std::str::from_utf8(key).ok()?).ok()?;
            ["http", "https", "file"].contains(&url.scheme()).then_some(url)
        };
        let key = if told.is_none() { of_key() } else { None };
        Self { told, key }
    }

    /// The caller's URL, else the page's, else the key.
    fn url<'a>(&'a self, page: Option<&'a Url>) -> Option<&'a Url> {
        self.told.as_ref().or(page).or(self.key.as_ref())
    }
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(signature = (path=None, *, recipe=None, distance=3, policy="default", similarity=None,
        similarity_same_host=None, keep_duplicates=false, texts=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named where they are given")]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        recipe: Option<String>,
        distance: u32,
        policy: &str,
        similarity: Option<f64>,
        similarity_same_host: Option<f64>,
        keep_duplicates: bool,
        texts: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let asked = TextsAsked::of(texts)?;
        detached(py, || {
            let hamming_only = match policy {
                "default" => false,
                "simhash" => true,
                other => {
                    let what = format!("policy {other:?}: there are default and simhash");
                    return Err(Failure::Value(what));
                }
            };
            for value in [similarity, similarity_same_host].into_iter().flatten() {
                if !(0.0..=1.0).contains(&value) {
                    let what = format!("similarity {value}: it lies between 0 and 1");
                    return Err(Failure::Value(what));
                }
            }
            let default = Policy::default();
            let policy = Policy {
                distance,
                hamming_only,
                similarity: similarity.unwrap_or(default.similarity),
                similarity_same_site: similarity_same_host.unwrap_or(default.similarity_same_site),
                ..default
            };
            // A known recipe's short name is stored as its full name.
            let recipe = recipe.unwrap_or_else(|| Recipe::default().name().to_owned());
            let recipe = Recipe::parse(&recipe).map_or(recipe, |known| known.name().to_owned());
            let options = Options {
                policy,
                recipe,
                keep_duplicates,
                strong_digests: true,
                ..Options::default()
            };
            let (store, recipe) = match &path {
                Some(path) => open_store(path, options)?,
                None => (Store::in_memory(options.clone())?, options.recipe),
            };
            // A custom recipe has no texts, and the rule of the papers compares none.
            let known = Recipe::parse(&recipe).filter(|_| !hamming_only);
            let texts = known.and_then(|recipe| match asked {
                TextsAsked::Off => None,
                TextsAsked::Stored => {
                    Some(Texts::stored(path.as_deref(), store.next_id(), keep_duplicates))
                }
                TextsAsked::Given(function) => Some(Texts::given(function, recipe)),
            });
            Ok(Self { store: RwLock::new(Some(Arc::new(store))), recipe, distance, texts })
        })
    }

    /// The name of the recipe of the fingerprints.
    #[getter]
    fn recipe(&self) -> &str {
        &self.recipe
    }

    /// The largest Hamming distance of duplicates.
    #[getter]
    fn distance(&self) -> u32 {
        self.distance
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.store.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The number of stored documents, including duplicates.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let store = self.open()?;
        detached(py, move || Ok(usize::try_from(store.len()).unwrap_or(usize::MAX)))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The number of stored documents that are duplicates.
    #[getter]
    fn duplicates(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.open()?;
        detached(py, move || Ok(store.duplicates()))
    }

    /// Whether a document with this key is stored.
    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.id_of(py, key)?.is_some())
    }

    /// Looks up a document and inserts it in one step. Returns the verdict.
    ///
    /// `content` is a parsed page, a text, HTML (text that begins with `<`), or a fingerprint, which is decided by
    /// distance alone. Pages of one host are compared more strictly; the host comes from `url`, else from the page,
    /// else from the key. `time` is the time for `expire`.
    #[pyo3(signature = (key, content, *, url=None, time=0))]
    fn offer(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        url: Option<&str>,
        time: u64,
    ) -> PyResult<PyVerdict> {
        let store = self.open()?;
        let (key, url, offer) = (Content::of(key)?, parse_url(url)?, Offer::of(content)?);
        detached(py, || {
            let address = Address::of(url, key.bytes());
            let read = offer.read(self, address.url(None))?;
            let document = read.document(key.bytes(), &address, time);
            offer_to(&store, self.texts.as_ref(), &document, &read)
        })
    }

    /// Offers rows in order. Errors in the input name the row and change nothing.
    #[pyo3(signature = (keys, contents, *, time=0, threads=0))]
    fn offer_list(
        &self,
        py: Python<'_>,
        keys: Vec<Bound<'_, PyAny>>,
        #[pyo3(from_py_with = list)] contents: Vec<Bound<'_, PyAny>>,
        time: u64,
        threads: usize,
    ) -> PyResult<Vec<PyVerdict>> {
        let store = self.open()?;
        if keys.len() != contents.len() {
            let (keys, contents) = (keys.len(), contents.len());
            let what = format!("{keys} keys and {contents} contents: as many are needed");
            return Err(PyValueError::new_err(what));
        }
        let keys = self::contents(py, &keys)?;
        let mut lengths = keys.iter().map(|key| key.bytes().len()).enumerate();
        if let Some((number, length)) = lengths.find(|(_, length)| *length > MAX_KEY) {
            let what = Error::KeyTooLong(length);
            return Err(PyValueError::new_err(format!("item {number}: {what}")));
        }
        let mut offers = Vec::with_capacity(contents.len());
        for (number, content) in contents.iter().enumerate() {
            offers.push(Offer::of(content).map_err(|error| {
                PyValueError::new_err(format!("item {number}: {}", error.value(py)))
            })?);
        }
        detached(py, || {
            let addresses: Vec<Address> =
                keys.iter().map(|key| Address::of(None, key.bytes())).collect();
            let items: Vec<(&Offer<'_>, &Address)> = offers.iter().zip(&addresses).collect();
            let reads = parallel(&items, threads, |_, (offer, address)| {
                offer.read(self, address.url(None))
            })?;
            let documents: Vec<Document<'_>> = reads
                .iter()
                .zip(&keys)
                .zip(&addresses)
                .map(|((read, key), address)| read.document(key.bytes(), address, time))
                .collect();
            if self.texts.is_some() && reads.iter().any(|read| read.page().is_some()) {
                let rows = documents.iter().zip(&reads);
                let offer =
                    |(document, read)| offer_to(&store, self.texts.as_ref(), document, read);
                return rows.map(offer).collect();
            }
            let verdicts = store.offer_many(&documents)?;
            Ok(verdicts.into_iter().map(PyVerdict::from).collect())
        })
    }

    /// Returns all stored documents that this one would duplicate, best first. Changes nothing.
    #[pyo3(signature = (content, *, key="", url=None))]
    fn matches(
        &self,
        py: Python<'_>,
        content: &Bound<'_, PyAny>,
        key: &str,
        url: Option<&str>,
    ) -> PyResult<Vec<PyNeighbour>> {
        let store = self.open()?;
        let (url, offer) = (parse_url(url)?, Offer::of(content)?);
        detached(py, || {
            let address = Address::of(url, key.as_bytes());
            let read = offer.read(self, address.url(None))?;
            let document = read.document(key.as_bytes(), &address, 0);
            let mut found = match self.texts.as_ref().zip(read.page()) {
                Some((texts, page)) => {
                    let mut comparing = texts.comparing(page);
                    let found = store.confirmed_matches(&document, &mut comparing)?;
                    if let Some(error) = comparing.failure {
                        return Err(Failure::Python(error));
                    }
                    found
                }
                None => store.matches(&document)?,
            };
            if let Some(former) = read.former_digest() {
                let equal = store.equal_by_former_digest(&document, former)?;
                found.retain(|near| equal.iter().all(|other| other.id != near.id));
                found.extend(equal);
                found.sort_by(|a, b| a.best_first(b).then(a.id.cmp(&b.id)));
            }
            Ok(found.into_iter().map(PyNeighbour::from).collect())
        })
    }

    /// Returns documents within the distance of a fingerprint as pairs of id and distance: nearest first, then oldest.
    fn near(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Vec<(u64, u32)>> {
        let (store, value) = (self.open()?, fingerprint(value)?);
        detached(py, || Ok(store.near(value)?))
    }

    /// Returns columns: number of the query, document, distance.
    fn near_words<'py>(&self, py: Python<'py>, queries: PyBackedBytes) -> PyResult<Three<'py>> {
        let store = self.open()?;
        let columns = detached(py, || {
            let queries = fingerprints(&queries)?;
            let mut rows = Vec::new();
            store.near_many(&queries, |number, id, distance| {
                rows.push((number as u64, distance, id));
            })?;
            rows.sort_unstable();
            let mut columns = [Words::default(), Words::default(), Words::default()];
            let [numbers, ids, distances] = &mut columns;
            for (number, distance, id) in rows {
                numbers.push(number);
                ids.push(id);
                distances.push(distance.into());
            }
            Ok(columns)
        })?;
        Ok(three(py, columns))
    }

    /// Returns the id of the document with this key, or `None`.
    fn id_of(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let (store, key) = (self.open()?, Content::of(key)?);
        detached(py, || Ok(store.id_of(key.bytes())?))
    }

    /// Returns the stored document with this id, or `None`.
    fn record(&self, py: Python<'_>, id: u64) -> PyResult<Option<PyRecord>> {
        let store = self.open()?;
        detached(py, || Ok(store.record(id)?.map(PyRecord)))
    }

    /// Deletes a document: it matches nothing afterwards, and its key is unknown. Returns whether the id was stored.
    fn delete(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        let store = self.open()?;
        detached(py, || {
            self.texts.iter().for_each(|texts| texts.remove([id]));
            Ok(store.delete(id)?)
        })
    }

    /// Stores a discarded document again, as a kept one. Returns its new id, or `None`.
    fn restore(&self, py: Python<'_>, id: u64) -> PyResult<Option<u64>> {
        let store = self.open()?;
        detached(py, || Ok(store.restore(id)?))
    }

    /// Deletes every document whose time is before `before`. Returns their number.
    fn expire(&self, py: Python<'_>, before: u64) -> PyResult<u64> {
        let store = self.open()?;
        detached(py, || {
            if let Some(texts) = &self.texts {
                let snapshot = store.snapshot();
                let mut gone = Vec::new();
                for record in snapshot.records() {
                    let record = record?;
                    gone.extend((record.time < before).then_some(record.id));
                }
                texts.remove(gone);
            }
            Ok(store.expire(before)?)
        })
    }

    /// Makes all earlier changes durable. `payload`, bytes of the caller, is returned by `payload` after the next open;
    /// `None` leaves the last payload.
    #[pyo3(signature = (payload=None))]
    fn commit(&self, py: Python<'_>, payload: Option<PyBackedBytes>) -> PyResult<()> {
        let store = self.open()?;
        detached(py, || {
            self.texts.as_ref().map_or(Ok(()), Texts::commit)?;
            match payload {
                Some(payload) => store.commit(&payload)?,
                None => store.commit_keeping_payload()?,
            }
            self.texts.as_ref().map_or(Ok(()), Texts::erase)
        })
    }

    /// The payload of the last commit.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let store = self.open()?;
        Ok(PyBytes::new(py, &detached(py, move || Ok(store.payload()))?))
    }

    /// Merges all segments into one.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.open()?;
        detached(py, || Ok(store.compact()?))
    }

    /// Verifies the checksums of all stored bytes. Returns the number of documents; raises `DamagedError`.
    fn check(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.open()?;
        detached(py, || {
            let report = store.check()?;
            Ok(report.documents + report.in_journal)
        })
    }

    /// Closes the store. Uncommitted changes are lost.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            let store = self.store.write().unwrap_or_else(PoisonError::into_inner).take();
            // A call that still runs on another thread drops it later, which closes it.
            match store.map(Arc::try_unwrap) {
                Some(Ok(store)) => Ok(store.close()?),
                Some(Err(_)) | None => Ok(()),
            }
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Ok(store) = self.open() else {
            return Ok(format!("Store(recipe={:?}, closed)", self.recipe));
        };
        let documents = detached(py, move || Ok(store.len()))?;
        Ok(format!("Store(recipe={:?}, documents={documents})", self.recipe))
    }
}

/// Converts any iterable to a list.
fn list<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    value.try_iter()?.collect()
}

//! The store's answers: verdicts, neighbours, records.

use hapax_dedup::{Neighbour, Record, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The stored document that an offered one duplicates, with the evidence.
#[pyclass(frozen, get_all, eq, name = "Neighbour", module = "hapax")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PyNeighbour {
    /// The document's id.
    id: u64,
    /// The document's fingerprint, unsigned.
    fingerprint: u64,
    /// The Hamming distance of the fingerprints.
    distance: u32,
    /// The estimated similarity of the texts; `None` if one has no sketch.
    similarity: Option<f64>,
    /// The required similarity.
    similarity_threshold: Option<f64>,
    /// The evidence: `text` (equal), `hamming` or `sketch`.
    level: &'static str,
    /// The table or band that proposed the document.
    table: Option<usize>,
}

impl From<Neighbour> for PyNeighbour {
    fn from(of: Neighbour) -> Self {
        Self {
            id: of.id,
            fingerprint: of.fingerprint.bits(),
            distance: of.distance,
            similarity: of.similarity,
            similarity_threshold: of.similarity_threshold,
            level: of.level.name(),
            table: of.table,
        }
    }
}

#[pymethods]
impl PyNeighbour {
    fn __repr__(&self) -> String {
        let Self { id, distance, level, .. } = self;
        match self.similarity {
            Some(value) => format!(
                "Neighbour(id={id}, level={level:?}, distance={distance}, similarity={value:.3})"
            ),
            None => format!("Neighbour(id={id}, level={level:?}, distance={distance})"),
        }
    }
}

/// The answer to an offered document.
#[pyclass(frozen, get_all, eq, name = "Verdict", module = "hapax")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PyVerdict {
    /// `new`, `duplicate`, or `known` if the key was offered before.
    kind: &'static str,
    /// The id of the offered document.
    id: u64,
    /// The document that it duplicates.
    of: Option<PyNeighbour>,
    /// What decided that it is a duplicate: `text` if the texts were compared, else `sketch`.
    evidence: Option<&'static str>,
    /// If the texts were compared, their differences in words.
    differs: Vec<String>,
}

impl PyVerdict {
    /// A verdict; `differs` are the differences if the texts of a duplicate were compared.
    pub(crate) fn compared(verdict: Verdict, differs: Option<Vec<String>>) -> Self {
        let (kind, id, of) = match verdict {
            Verdict::New(id) => ("new", id, None),
            Verdict::Known(id) => ("known", id, None),
            Verdict::Duplicate { id, of } => ("duplicate", id, Some(PyNeighbour::from(of))),
        };
        let evidence = if differs.is_some() { "text" } else { "sketch" };
        let evidence = of.is_some().then_some(evidence);
        Self { kind, id, of, evidence, differs: differs.unwrap_or_default() }
    }
}

impl From<Verdict> for PyVerdict {
    fn from(verdict: Verdict) -> Self {
        Self::compared(verdict, None)
    }
}

#[pymethods]
impl PyVerdict {
    /// Whether the document is new.
    #[getter]
    fn is_new(&self) -> bool {
        self.kind == "new"
    }
    /// Whether the document is a duplicate.
    #[getter]
    fn is_duplicate(&self) -> bool {
        self.kind == "duplicate"
    }
    fn __repr__(&self) -> String {
        match &self.of {
            Some(of) => format!("Verdict({:?}, id={}, of={})", self.kind, self.id, of.__repr__()),
            None => format!("Verdict({:?}, id={})", self.kind, self.id),
        }
    }
}

/// A stored document.
#[pyclass(frozen, name = "Record", module = "hapax")]
#[derive(Debug)]
pub(crate) struct PyRecord(pub(crate) Record);

#[pymethods]
impl PyRecord {
    /// The document's id.
    #[getter]
    fn id(&self) -> u64 {
        self.0.id
    }
    /// The id of the document that this one duplicates, if it was discarded.
    #[getter]
    fn of(&self) -> Option<u64> {
        self.0.of
    }
    /// The document's key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.key)
    }
    /// The document's fingerprint, unsigned.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint.bits()
    }
    /// The number of content words, if known.
    #[getter]
    fn tokens(&self) -> Option<u32> {
        (self.0.tokens != u32::MAX).then_some(self.0.tokens)
    }
    /// The time given when it was offered.
    #[getter]
    fn time(&self) -> u64 {
        self.0.time
    }
    fn __repr__(&self) -> String {
        let key = String::from_utf8_lossy(&self.0.key);
        format!("Record(id={}, key={key:?}, fingerprint={})", self.0.id, self.0.fingerprint)
    }
}

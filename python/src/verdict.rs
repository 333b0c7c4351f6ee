//! The store's answers.

use hapax_dedup::{Neighbour, Record, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The stored document that another one duplicates, with the evidence.
#[pyclass(frozen, get_all, eq, name = "Neighbour", module = "hapax")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PyNeighbour {
    id: u64,
    fingerprint: u64,
    distance: u32,
    similarity: Option<f64>,
    similarity_threshold: Option<f64>,
    level: &'static str,
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
    kind: &'static str,
    id: u64,
    of: Option<PyNeighbour>,
}

impl From<Verdict> for PyVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::New(id) => Self { kind: "new", id, of: None },
            Verdict::Known(id) => Self { kind: "known", id, of: None },
            Verdict::Duplicate { id, of } => Self { kind: "duplicate", id, of: Some(of.into()) },
        }
    }
}

#[pymethods]
impl PyVerdict {
    #[getter]
    fn is_new(&self) -> bool {
        self.kind == "new"
    }
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

/// A document as the store holds it.
#[pyclass(frozen, name = "Record", module = "hapax")]
#[derive(Debug)]
pub(crate) struct PyRecord(pub(crate) Record);

#[pymethods]
impl PyRecord {
    #[getter]
    fn id(&self) -> u64 {
        self.0.id
    }
    #[getter]
    fn of(&self) -> Option<u64> {
        self.0.of
    }
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.key)
    }
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint.bits()
    }
    #[getter]
    fn tokens(&self) -> Option<u32> {
        (self.0.tokens != u32::MAX).then_some(self.0.tokens)
    }
    #[getter]
    fn time(&self) -> u64 {
        self.0.time
    }
    fn __repr__(&self) -> String {
        let key = String::from_utf8_lossy(&self.0.key);
        format!("Record(id={}, key={key:?}, fingerprint={})", self.0.id, self.0.fingerprint)
    }
}

//! What goes wrong, as Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hapax_dedup::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Why a call failed, before there is an interpreter to tell it to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The caller's input.
    Value(String),
    /// The store's.
    Store(Error),
}

impl Failure {
    pub(crate) fn value(what: impl Into<String>) -> Self {
        Self::Value(what.into())
    }

    /// As a Python exception.
    pub(crate) fn into_py(self, py: Python<'_>) -> PyErr {
        let error = match self {
            Self::Value(what) => return PyValueError::new_err(what),
            Self::Store(error) => error,
        };
        let text = error.to_string();
        let name = match &error {
            Error::Distance(_)
            | Error::Threshold { .. }
            | Error::RecipeName
            | Error::PayloadTooLong(_)
            | Error::KeyTooLong(_)
            | Error::TooMany(_) => return PyValueError::new_err(text),
            Error::Locked { .. } => "LockedError",
            Error::Corrupt { .. } => "DamagedError",
            Error::Version { .. } => "VersionError",
            Error::Recipe { .. } => "RecipeError",
            _ => "HapaxError",
        };
        match class(py, name) {
            Ok(class) => match &error {
                Error::Io { path, source } => match source.raw_os_error() {
                    Some(code) => {
                        PyErr::from_type(class, (code, message(source), path.display().to_string()))
                    }
                    None => PyErr::from_type(class, (text,)),
                },
                _ => PyErr::from_type(class, (text,)),
            },
            Err(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<hapax_dedup::LayoutError> for Failure {
    fn from(error: hapax_dedup::LayoutError) -> Self {
        Self::Value(error.to_string())
    }
}

/// Without the number, which Python puts before it.
fn message(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error ").map_or(text.clone(), |(text, _)| text.to_owned())
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("hapax.errors")?.getattr(name)?.cast_into::<PyType>()?)
}

/// Works without the interpreter's lock. A panic becomes a `RuntimeError`: PyO3's own exception for
/// it passes by `except Exception`.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(|failure| failure.into_py(py)),
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
            let what = what.unwrap_or_else(|| "unknown".to_owned());
            Err(PyRuntimeError::new_err(format!("a bug in hapax, please report it: {what}")))
        }
    }
}

//! Errors as Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hapax_dedup::Error;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The error of a call that runs without the interpreter.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Invalid input.
    Value(String),
    /// An error of the store.
    Store(Error),
    /// An error of the folder of texts.
    Texts(std::io::Error),
    /// An exception of the caller's function.
    Python(PyErr),
}

impl Failure {
    pub(crate) fn value(what: impl Into<String>) -> Self {
        Self::Value(what.into())
    }

    /// Converts it to a Python exception.
    pub(crate) fn into_py(self, py: Python<'_>) -> PyErr {
        let error = match self {
            Self::Value(what) => return PyValueError::new_err(what),
            Self::Store(error) => error,
            Self::Texts(error) => {
                let class = class(py, "HapaxError");
                return class
                    .map_or_else(|e| e, |class| PyErr::from_type(class, (error.to_string(),)));
            }
            Self::Python(error) => return error,
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Texts(error)
    }
}

impl From<hapax_dedup::LayoutError> for Failure {
    fn from(error: hapax_dedup::LayoutError) -> Self {
        Self::Value(error.to_string())
    }
}

/// The message without the error number, which Python adds.
fn message(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error ").map_or(text.clone(), |(text, _)| text.to_owned())
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("hapax.errors")?.getattr(name)?.cast_into::<PyType>()?)
}

/// Runs `work` without the interpreter's lock. A panic becomes a `RuntimeError`, because `except Exception` does not
/// catch PyO3's exception for it.
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

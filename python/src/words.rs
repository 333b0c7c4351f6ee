//! Arrays of numbers between Rust and Python: little-endian bytes, as in numpy and Arrow, because the stable interface
//! of Python 3.10 has no buffers.

use hapax_dedup::Fingerprint;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::Failure;

/// The 64-bit numbers in `bytes`.
pub(crate) fn words(bytes: &[u8]) -> Result<impl Iterator<Item = u64> + '_, Failure> {
    let (eights, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Failure::value(format!("{} bytes are no 64-bit numbers", bytes.len())));
    }
    Ok(eights.iter().map(|eight| u64::from_le_bytes(*eight)))
}

pub(crate) fn fingerprints(bytes: &[u8]) -> Result<Vec<Fingerprint>, Failure> {
    Ok(words(bytes)?.map(Fingerprint::from_bits).collect())
}

/// A fingerprint from a Python integer, unsigned or two's complement.
pub(crate) fn fingerprint(value: &Bound<'_, PyAny>) -> PyResult<Fingerprint> {
    let bits = match value.extract::<u64>() {
        Ok(bits) => bits,
        Err(_) => value.extract::<i64>().map(i64::cast_unsigned).map_err(|_| {
            let shown = value.repr().map(|text| text.to_string()).unwrap_or_default();
            PyValueError::new_err(format!("{shown} is no 64-bit fingerprint"))
        })?,
    };
    Ok(Fingerprint::from_bits(bits))
}

pub(crate) type Two<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);
pub(crate) type Three<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub(crate) fn two(py: Python<'_>, columns: [Words; 2]) -> Two<'_> {
    let [a, b] = columns.map(|column| PyBytes::new(py, &column.into_bytes()));
    (a, b)
}

pub(crate) fn three(py: Python<'_>, columns: [Words; 3]) -> Three<'_> {
    let [a, b, c] = columns.map(|column| PyBytes::new(py, &column.into_bytes()));
    (a, b, c)
}

/// Columns of 64-bit numbers, filled row by row.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<u8>);

impl Words {
    pub(crate) fn push(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

//! The rank of addresses, by which a cluster's kept page is chosen.

use hapax_url::AddressRank;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::column::rows;
use crate::errors::{Failure, detached};
use crate::words::Words;

/// A string that sorts before those of worse addresses. Better are https, no version for printers or phones, few
/// parameters, and a short path; ties are decided by the address.
fn rank(address: &str) -> String {
    let AddressRank { https, plain, parameters, path } = AddressRank::of(address);
    let (parameters, path) = (parameters.0.min(99_999), path.0.min(9_999_999));
    format!("{}{}{parameters:05}{path:07} {address}", u8::from(!https), u8::from(!plain))
}

/// Returns the ranks of an Arrow column of addresses, as an Arrow column.
#[pyfunction]
pub(crate) fn column_ranks<'py>(
    py: Python<'py>,
    data: PyBackedBytes,
    offsets: PyBackedBytes,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let (ranks, offsets) = detached(py, || {
        let (mut ranks, mut ends) = (Vec::new(), Words::default());
        ends.push(0);
        for row in rows(&data, &offsets)? {
            let address = std::str::from_utf8(row?)
                .map_err(|error| Failure::value(format!("urls: {error}")))?;
            ranks.extend(rank(address).into_bytes());
            ends.push(ranks.len() as u64);
        }
        Ok((ranks, ends.into_bytes()))
    })?;
    Ok((PyBytes::new(py, &ranks), PyBytes::new(py, &offsets)))
}

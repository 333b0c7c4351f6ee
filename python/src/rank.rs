//! Which address of a cluster is kept, as far as the address itself tells.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use url::Url;

use crate::column::rows;
use crate::errors::{Failure, detached};
use crate::words::Words;

/// Words of an address that tell a version of a page that has another, plainer one; as in the binary.
const VERSIONS: [&str; 12] = [
    "amp",
    "embed",
    "mobile",
    "m",
    "print",
    "printable",
    "printer",
    "printversion",
    "printview",
    "share",
    "touch",
    "wap",
];

/// Whether an address is one of a version for printers, phones or frames.
fn is_version(url: &Url) -> bool {
    let is_word = |word: &str| VERSIONS.iter().any(|version| word.eq_ignore_ascii_case(version));
    let words = |text: &str| text.split(['/', '.', '-', '_', '=', '&', '?']).any(is_word);
    let host = url.host_str().unwrap_or_default().split('.').next().unwrap_or_default();
    is_word(host) || words(url.path()) || url.query().is_some_and(words)
}

/// A string that sorts before those of worse addresses: https, no version for printers or phones, few
/// parameters, short path, then the address itself.
fn rank(address: &str) -> String {
    let url = Url::parse(address).ok();
    let url = url.as_ref();
    let plain_http = url.is_none_or(|url| url.scheme() != "https");
    let version = url.is_some_and(is_version);
    let parameters = url.map_or(0, |url| url.query_pairs().count());
    let path = url.map_or(address.len(), |url| {
        url.path().len() + url.query().map_or(0, |query| query.len() + 1)
    });
    let (parameters, path) = (parameters.min(99_999), path.min(9_999_999));
    format!("{}{}{parameters:05}{path:07} {address}", u8::from(plain_http), u8::from(version))
}

/// The ranks of a column as Arrow holds it, as such a column.
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

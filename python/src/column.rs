//! Fingerprints of columns of texts, on several threads.

use hapax_page::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::body::{self, Body};
use crate::errors::{Failure, detached};
use crate::page::Content;
use crate::words::{Two, Words, two, words};

/// Runs `work` on all items on `threads` threads; the results are in order.
pub(crate) fn parallel<I: Sync, O: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(usize, &I) -> Result<O, Failure> + Sync,
) -> Result<Vec<O>, Failure> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { available } else { threads };
    // Starting a thread costs more than reading a few short texts.
    let piece = items.len().div_ceil(threads.max(1)).max(16);
    let one = |number: usize, items: &[I]| -> Result<Vec<O>, Failure> {
        items.iter().enumerate().map(|(at, item)| work(number * piece + at, item)).collect()
    };
    if items.len() <= piece {
        return one(0, items);
    }
    let parts: Vec<Result<Vec<O>, Failure>> = std::thread::scope(|scope| {
        let running: Vec<_> = items
            .chunks(piece)
            .enumerate()
            .map(|(number, items)| {
                let one = &one;
                scope.spawn(move || one(number, items))
            })
            .collect();
        let joined = running.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let mut all = Vec::with_capacity(items.len());
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

/// The named kind; without a name it is detected from the bytes.
fn kind(name: Option<&str>) -> Result<Option<Kind>, Failure> {
    match name {
        None => Ok(None),
        Some("html") => Ok(Some(Kind::Html)),
        Some("text") => Ok(Some(Kind::Plain)),
        Some(other) => Err(Failure::value(format!("kind {other:?}: there are html and text"))),
    }
}

/// Fingerprints and numbers of content words of texts with optional addresses.
fn of_bodies(
    bodies: &[(Body<'_>, Option<&[u8]>)],
    kind_name: Option<&str>,
    recipe: Option<&str>,
    threads: usize,
) -> Result<[Words; 2], Failure> {
    let recipe = body::recipe(recipe)?;
    let kind = kind(kind_name)?;
    let done = parallel(bodies, threads, |_, (body, url)| {
        let body = Body { kind: kind.unwrap_or(body.kind), ..*body };
        body::fingerprint_of(&body, *url, recipe)
    })?;
    let (mut fingerprints, mut tokens) = (Words::default(), Words::default());
    for (fingerprint, count) in done {
        fingerprints.push(fingerprint.bits());
        tokens.push(count.into());
    }
    Ok([fingerprints, tokens])
}

/// The rows of an Arrow column: concatenated values, and 64-bit offsets.
pub(crate) fn rows<'a>(
    data: &'a [u8],
    offsets: &[u8],
) -> Result<impl Iterator<Item = Result<&'a [u8], Failure>>, Failure> {
    let mut ends = words(offsets)?.collect::<Vec<_>>().into_iter();
    let mut from = ends.next().unwrap_or(0);
    Ok(ends.enumerate().map(move |(number, to)| {
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let bytes = range.and_then(|(from, to)| data.get(from..to)).ok_or_else(|| {
            Failure::value(format!("row {number}: its offsets {from} and {to} lie outside"))
        });
        from = to;
        bytes
    }))
}

/// Returns the fingerprints and numbers of content words of an Arrow column (concatenated values and 64-bit
/// offsets). `urls` is such a column of addresses.
#[pyfunction]
#[pyo3(signature = (data, offsets, *, decoded, urls=None, kind=None, recipe=None, threads=0))]
#[expect(clippy::too_many_arguments, reason = "they are named where they are given")]
pub(crate) fn column_fingerprints<'py>(
    py: Python<'py>,
    data: PyBackedBytes,
    offsets: PyBackedBytes,
    decoded: bool,
    urls: Option<(PyBackedBytes, PyBackedBytes)>,
    kind: Option<&str>,
    recipe: Option<&str>,
    threads: usize,
) -> PyResult<Two<'py>> {
    let found = detached(py, || {
        let bodies = rows(&data, &offsets)?.map(|row| Ok((Body::new(row?, decoded), None)));
        let mut bodies = bodies.collect::<Result<Vec<_>, Failure>>()?;
        if let Some((data, offsets)) = &urls {
            for (body, url) in bodies.iter_mut().zip(rows(data, offsets)?) {
                body.1 = Some(url?);
            }
        }
        of_bodies(&bodies, kind, recipe, threads)
    })?;
    Ok(two(py, found))
}

/// Returns the fingerprints and numbers of content words of strings or bytes in a list.
#[pyfunction]
#[pyo3(signature = (texts, *, kind=None, recipe=None, threads=0))]
pub(crate) fn list_fingerprints<'py>(
    py: Python<'py>,
    texts: Vec<Bound<'py, PyAny>>,
    kind: Option<&str>,
    recipe: Option<&str>,
    threads: usize,
) -> PyResult<Two<'py>> {
    let contents = contents(py, &texts)?;
    let found = detached(py, || {
        let bodies: Vec<_> = contents.iter().map(|content| (content.body(), None)).collect();
        of_bodies(&bodies, kind, recipe, threads)
    })?;
    Ok(two(py, found))
}

/// Strings or bytes; the error for another type names its position.
pub(crate) fn contents(py: Python<'_>, items: &[Bound<'_, PyAny>]) -> PyResult<Vec<Content>> {
    let numbered = |(number, item)| {
        Content::of(item)
            .map_err(|error| PyValueError::new_err(format!("item {number}: {}", error.value(py))))
    };
    items.iter().enumerate().map(numbered).collect()
}

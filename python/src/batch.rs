//! Pairs, clusters and tables of whole sets of fingerprints.

use hapax_dedup::{
    BatchOptions, Clusters, Fingerprint, Found, Layout, TableOptions, Tables, find_each,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::errors::{Failure, detached};
use crate::words::{Three, Two, Words, fingerprints, three, two, words};

fn layout(count: usize, distance: u32, blocks: Option<u32>) -> Result<Layout, Failure> {
    Ok(match blocks {
        Some(blocks) => Layout::new(blocks, distance)?,
        None => Layout::for_batch(count as u64, distance)?,
    })
}

fn each(
    bytes: &[u8],
    distance: u32,
    blocks: Option<u32>,
    visit: impl FnMut(Found),
) -> Result<(), Failure> {
    let all = fingerprints(bytes)?;
    let layout = layout(all.len(), distance, blocks)?;
    Ok(find_each(all.as_slice(), &layout, &BatchOptions::default(), visit, |_| {})?)
}

/// Returns all near pairs, ascending, as columns: smaller values, larger values, distances.
#[pyfunction]
pub(crate) fn find_all<'py>(
    py: Python<'py>,
    values: PyBackedBytes,
    distance: u32,
    blocks: Option<u32>,
) -> PyResult<Three<'py>> {
    let found = detached(py, || {
        let mut pairs: Vec<(u64, u64)> = Vec::new();
        each(&values, distance, blocks, |found| {
            pairs.push(match found {
                Found::Near(pair) => (pair.a.bits(), pair.b.bits()),
                Found::Repeated(value, _) => (value.bits(), value.bits()),
            });
        })?;
        pairs.sort_unstable();
        let mut columns = [Words::default(), Words::default(), Words::default()];
        let [a, b, distances] = &mut columns;
        for (x, y) in pairs {
            a.push(x);
            b.push(y);
            distances.push((x ^ y).count_ones().into());
        }
        Ok(columns)
    })?;
    Ok(three(py, found))
}

/// Returns all clusters, ascending: the values of all clusters, and the start of each.
#[pyfunction]
pub(crate) fn find_clusters<'py>(
    py: Python<'py>,
    values: PyBackedBytes,
    distance: u32,
    blocks: Option<u32>,
) -> PyResult<Two<'py>> {
    let found = detached(py, || {
        let mut clusters = Clusters::default();
        each(&values, distance, blocks, |found| clusters.add(found))?;
        let mut columns = [Words::default(), Words::default()];
        let [members, starts] = &mut columns;
        let mut count = 0u64;
        starts.push(0);
        clusters.for_each(|cluster| {
            cluster.iter().for_each(|member| members.push(member.bits()));
            count += cluster.len() as u64;
            starts.push(count);
        })?;
        Ok(columns)
    })?;
    Ok(two(py, found))
}

/// Returns the Hamming distances of two columns, row by row.
#[pyfunction]
pub(crate) fn distances<'py>(
    py: Python<'py>,
    a: PyBackedBytes,
    b: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let found = detached(py, || {
        if a.len() != b.len() {
            let (a, b) = (a.len() / 8, b.len() / 8);
            return Err(Failure::value(format!("{a} fingerprints and {b}: as many are needed")));
        }
        let mut distances = Words::default();
        for (a, b) in words(&a)?.zip(words(&b)?) {
            distances.push((a ^ b).count_ones().into());
        }
        Ok(distances.into_bytes())
    })?;
    Ok(PyBytes::new(py, &found))
}

/// A fixed set of fingerprints in permuted tables.
#[pyclass(frozen, subclass, module = "hapax._hapax")]
#[derive(Debug)]
pub(crate) struct FixedTables(Tables);

#[pymethods]
impl FixedTables {
    #[new]
    fn new(
        py: Python<'_>,
        values: PyBackedBytes,
        distance: u32,
        blocks: Option<u32>,
    ) -> PyResult<Self> {
        detached(py, || {
            let all = fingerprints(&values)?;
            let layout = layout(0, distance, blocks)?;
            let options = TableOptions::default();
            Ok(Self(Tables::with_options(&all, &layout, &options)))
        })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns columns: number of the query, stored value, distance.
    fn near_words<'py>(&self, py: Python<'py>, queries: PyBackedBytes) -> PyResult<Three<'py>> {
        let found = detached(py, || {
            let queries: Vec<Fingerprint> = fingerprints(&queries)?;
            let mut rows = Vec::new();
            self.0.near_many(&queries, |number, near| {
                rows.push((number as u64, near.distance, near.fingerprint.bits()));
            });
            rows.sort_unstable();
            let mut columns = [Words::default(), Words::default(), Words::default()];
            let [numbers, values, distances] = &mut columns;
            for (number, distance, value) in rows {
                numbers.push(number);
                values.push(value);
                distances.push(distance.into());
            }
            Ok(columns)
        })?;
        Ok(three(py, found))
    }
}

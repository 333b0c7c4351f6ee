/*!
Hapax for Python: the extension module `hapax._hapax`.

The package `hapax` wraps it: arrays are little-endian bytes here, and numpy or Arrow arrays there. Long calls
release the interpreter, and no panic reaches it.
*/
#![forbid(unsafe_code)]

mod batch;
mod body;
mod column;
mod errors;
mod page;
mod rank;
mod store;
mod texts;
mod verdict;
mod words;

/// The Rust half of the package.
#[pyo3::pymodule]
mod _hapax {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{FixedTables, distances, find_all, find_clusters};
    #[pymodule_export]
    use crate::column::{column_fingerprints, list_fingerprints};
    #[pymodule_export]
    use crate::page::{
        Block, Page, examples, extract, extract_plain, fingerprint, response_fingerprint, split_url,
    };
    #[pymodule_export]
    use crate::rank::column_ranks;
    #[pymodule_export]
    use crate::store::PyStore;
    #[pymodule_export]
    use crate::verdict::{PyNeighbour, PyRecord, PyVerdict};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let names: Vec<&str> =
            hapax_extract::Recipe::ALL.iter().map(|recipe| recipe.name()).collect();
        module.add("RECIPE", hapax_extract::RECIPE)?;
        module.add("RECIPES", names)?;
        module.add("MAX_DISTANCE", hapax_dedup::MAX_DISTANCE)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

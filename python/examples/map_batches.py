"""Functions on Arrow tables, for Ray Data, Dask, Daft or a loop over files.

With Ray:  ray.data.read_parquet(PATH).map_batches(fingerprint_table, batch_format="pyarrow")
"""

import pyarrow as pa

import hapax
from hapax.batch import fingerprint_table

pages = pa.table(
    {
        "url": ["http://a.example/1", "http://a.example/2", "http://a.example/empty"],
        "html": ["<p>The long river rose.", "<p>A wood on a hill.", ""],
    }
)
with_fingerprints = fingerprint_table(pages)
print(with_fingerprints.column("fingerprint"))

# Look up a column in a fixed set.
known = hapax.Tables(with_fingerprints.column("fingerprint").drop_null())
print(known.near([hapax.fingerprint("the long rivers rose")]))

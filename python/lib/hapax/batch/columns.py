"""Converts pages to the columns of the job. Plain functions on Arrow batches, for any engine that passes
such batches to Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hapax import _hapax
from hapax._arrays import as_numpy, to_words
from hapax.texts import Kind, column_fingerprints

#: The columns of the job: address, fingerprint (signed, null without text), and a string by which better
#: addresses sort first.
SCHEMA = pa.schema([("url", pa.string()), ("fingerprint", pa.int64()), ("url_rank", pa.string())])
#: The job uses the first of these columns that the input has.
CONTENTS = ("fingerprint", "html", "text")


def content_column(names: list[str]) -> str:
    """Returns the first of :data:`CONTENTS` in ``names``. Raises ``ValueError`` if there is none, or if
    ``url`` is missing."""
    if "url" not in names:
        raise ValueError(f"the input has no column url, but {', '.join(names)}")
    for name in CONTENTS:
        if name in names:
            return name
    raise ValueError(f"the input has none of the columns {', '.join(CONTENTS)}")


def fingerprint_batch(
    batch: pa.RecordBatch, *, recipe: str | None = None, threads: int = 0
) -> pa.RecordBatch:
    """Converts a batch with ``url`` and ``html``, ``text`` or ``fingerprint`` to :data:`SCHEMA`, using
    ``threads`` threads (0: one a core). Raises ``ValueError`` for a missing column or a null URL."""
    name = content_column(batch.schema.names)
    content, urls = batch.column(name), batch.column("url")
    if urls.null_count:
        place = urls.is_null().to_pylist().index(True)
        raise ValueError(f"url of row {place} of a batch is null")
    if name != "fingerprint":
        kind: Kind = "html" if name == "html" else "text"
        found = column_fingerprints(content, urls=urls, kind=kind, recipe=recipe, threads=threads)
    else:
        found = _signed(content)
    urls = urls.cast(pa.string())
    return pa.RecordBatch.from_arrays([urls, found, _ranks(urls)], schema=SCHEMA)


def fingerprint_batches(
    batches: Iterator[pa.RecordBatch], *, recipe: str | None = None, threads: int = 1
) -> Iterator[pa.RecordBatch]:
    """Applies :func:`fingerprint_batch` to each batch of a stream, as in Spark's ``mapInArrow``."""
    for batch in batches:
        yield fingerprint_batch(batch, recipe=recipe, threads=threads)


def fingerprint_table(table: Any, *, recipe: str | None = None) -> Any:
    """Adds a column ``fingerprint`` (signed) to a table with ``html`` or ``text``, for example in
    ``ray.data.Dataset.map_batches(fingerprint_table, batch_format="pyarrow")``. Raises ``ValueError`` if
    both columns are missing."""
    name = content_column(["url", *(n for n in table.schema.names if n != "fingerprint")])
    kind: Kind = "html" if name == "html" else "text"
    urls = table.column("url") if "url" in table.schema.names else None
    content = table.column(name)
    found = column_fingerprints(content, urls=urls, kind=kind, recipe=recipe, threads=1)
    if "fingerprint" in table.schema.names:
        table = table.drop_columns(["fingerprint"])
    return table.append_column("fingerprint", found)


def page_batch(rows: list[tuple[str, int, int]]) -> pa.RecordBatch:
    """A batch of :data:`SCHEMA` from addresses, fingerprints and numbers of content words."""
    urls = pa.array([url for url, _, _ in rows], pa.string())
    bits = np.array([bits for _, bits, _ in rows], dtype="<u8").view("<i8")
    empty = np.array([tokens == 0 for _, _, tokens in rows], dtype=bool)
    found = pa.array(bits, pa.int64(), mask=empty)
    return pa.RecordBatch.from_arrays([urls, found, _ranks(urls)], schema=SCHEMA)


def _signed(column: Any) -> Any:
    if column.type not in (pa.int64(), pa.uint64()):
        raise ValueError(
            f"column fingerprint is of type {column.type}: BIGINT is needed, the unsigned number's"
            " bits in a signed one (hapax.to_signed)"
        )
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    bits, _ = to_words(pc.fill_null(column, 0))
    return pa.array(as_numpy(bits, "<i8"), pa.int64(), mask=~valid)


def _ranks(urls: Any) -> Any:
    if len(urls) == 0:
        return pa.array([], pa.string())
    large = urls.cast(pa.large_string())
    _, ends, data = large.buffers()
    offsets = np.frombuffer(ends, dtype="<i8")[large.offset :][: len(large) + 1]
    ranks, ends = _hapax.column_ranks(data.to_pybytes() if data else b"", offsets.tobytes())
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(ranks)]
    return pa.Array.from_buffers(pa.large_string(), len(urls), buffers).cast(pa.string())

"""The store of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hapax import _hapax
from hapax._arrays import as_numpy, is_arrow, to_words
from hapax.sets import Near

if TYPE_CHECKING:
    from hapax._arrays import Fingerprints
    from hapax._hapax import Page, Verdict


class Store(_hapax.Store):
    """Documents, looked up by fingerprint and sketch, each stored once.

    ``Store(path)`` opens or creates the store in a folder, ``Store()`` one in memory. One process
    holds a folder at a time, and in it any number of threads may share the store. What was offered
    is durable after :meth:`commit`; leaving a ``with`` block commits (unless by an exception) and
    closes.

    ``recipe`` names what made the fingerprints. The default is the product's own, in which texts are
    read; under a name of the caller's own, fingerprints alone can be offered. ``policy="simhash"``
    decides by Hamming distance alone, ``similarity`` and ``similarity_same_host`` are thresholds of
    the default policy, ``keep_duplicates`` lets later documents match discarded ones.
    """

    def offer_many(
        self,
        keys: Iterable[str | bytes],
        contents: Fingerprints | Iterable[str | bytes | int | Page],
        *,
        time: int = 0,
        threads: int = 0,
    ) -> list[Verdict]:
        """:meth:`offer` for each row, in order, texts read on several threads.

        Columns may be Arrow arrays. Before the first row is looked up all are read, so that bad
        input, which the error names by its position, changes nothing.
        """
        return self.offer_list(_python(keys), _contents(contents), time=time, threads=threads)

    def near_many(self, queries: Fingerprints) -> Near:
        """The documents near each query; ``value`` is the number of the document."""
        bits, _ = to_words(queries, "queries")
        numbers, ids, distances = self.near_words(bits)
        return Near(as_numpy(numbers, "<i8"), as_numpy(ids, "<i8"), as_numpy(distances))

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and not self.closed:
                self.commit()
        finally:
            self.close()


def _python(column: Any) -> list[Any]:
    if is_arrow(column):
        return list(column.to_pylist())
    return list(column)


def _contents(column: Any) -> Sequence[Any]:
    if is_arrow(column):
        import pyarrow as pa

        if pa.types.is_integer(column.type):
            bits, _ = to_words(column, "contents")
            return list(map(int, as_numpy(bits)))
    return _python(column)

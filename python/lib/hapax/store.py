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
    """Documents found by fingerprint and sketch, each stored once.

    ``Store(path)`` opens or creates the store in a folder, ``Store()`` one in memory. One process at a
    time can open a folder; its threads may share the store. Offered documents are durable after
    :meth:`commit`. Leaving a ``with`` block commits, except after an exception, and closes.

    ``recipe`` names the method of the fingerprints. A store with the default or another known recipe
    accepts texts; one with a custom name accepts fingerprints only. ``policy="simhash"`` decides by
    Hamming distance alone, ``similarity`` and ``similarity_same_host`` are thresholds of the default
    policy, ``keep_duplicates`` lets later documents match discarded ones.

    Pages are compared by their texts, as in a crawl: sizes of a product are two pages, and new comments make
    no other page. The texts of kept pages are stored compressed, in the folder ``texts`` of the store's folder
    (of the data directory, if the store is its ``dedup``) or in memory. With ``texts=False`` the fingerprints
    and sketches decide. ``texts`` may also be a function of a key that returns the page, HTML or text that the
    caller has under this key, or ``None``; then no text is stored. The function must not call the store. If it
    raises, the page is not stored and the exception is passed on.

    Raises ``ValueError`` for
    arguments out of range and ``HapaxError`` if the store cannot be opened.
    """

    def offer_many(
        self,
        keys: Iterable[str | bytes],
        contents: Fingerprints | Iterable[str | bytes | int | Page],
        *,
        time: int = 0,
        threads: int = 0,
    ) -> list[Verdict]:
        """:meth:`offer` for each row, in order; ``threads`` threads (0: one a core) read texts.

        Columns may be Arrow arrays. All rows are read before the first lookup, so bad input changes
        nothing: ``ValueError`` names its position. Raises ``HapaxError`` if the store fails.
        """
        return self.offer_list(_python(keys), _contents(contents), time=time, threads=threads)

    def near_many(self, queries: Fingerprints) -> Near:
        """Returns the documents near each query; ``value`` is the document's number. Raises ``ValueError`` for
        invalid queries and ``HapaxError`` if the store fails."""
        bits, _ = to_words(queries, "queries")
        numbers, ids, distances = self.near_words(bits)
        return Near(as_numpy(numbers, "<i8"), as_numpy(ids, "<i8"), as_numpy(distances))

    def __enter__(self) -> Store:
        """Returns the store."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commits, except after an exception, and closes. Raises ``HapaxError`` if that fails."""
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

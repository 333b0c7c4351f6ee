"""Fingerprints of many texts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hapax import _hapax
from hapax._arrays import as_numpy, is_arrow

Kind = Literal["html", "text"] | None


def fingerprints(
    texts: Any,
    *,
    kind: Kind = None,
    recipe: str | None = None,
    threads: int = 0,
) -> Any:
    """The fingerprint of each text or page, on ``threads`` threads (0: one a core).

    ``texts`` is a sequence of ``str`` or ``bytes``; the answer is a numpy array of ``uint64``. For an
    Arrow array of strings or binaries it is an Arrow array of ``int64`` with the same bits, null
    where the text is null or has no content words: such pages duplicate nothing.

    ``kind`` is ``"html"`` or ``"text"``; without it, what begins with ``<`` is HTML.
    """
    if is_arrow(texts):
        return column_fingerprints(texts, kind=kind, recipe=recipe, threads=threads)
    if isinstance(texts, str | bytes):
        raise TypeError("a sequence of texts is needed; fingerprint() takes one")
    found, _ = _hapax.list_fingerprints(list(texts), kind=kind, recipe=recipe, threads=threads)
    return as_numpy(found)


def fingerprints_and_tokens(
    texts: Sequence[str | bytes],
    *,
    kind: Kind = None,
    recipe: str | None = None,
    threads: int = 0,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The same, and how many content words each text has."""
    found, tokens = _hapax.list_fingerprints(list(texts), kind=kind, recipe=recipe, threads=threads)
    return as_numpy(found), as_numpy(tokens)


def column_fingerprints(
    texts: Any,
    *,
    urls: Any = None,
    kind: Kind = None,
    recipe: str | None = None,
    threads: int = 0,
) -> Any:
    """:func:`fingerprints` of an Arrow array. ``urls``, as many, are the addresses against
    which the images of pages are resolved, for recipes that count them."""
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        chunks, at = [], 0
        for chunk in texts.chunks:
            own = None if urls is None else urls[at : at + len(chunk)]
            chunks.append(
                column_fingerprints(chunk, urls=own, kind=kind, recipe=recipe, threads=threads)
            )
            at += len(chunk)
        return pa.chunked_array(chunks, type=pa.int64())
    strings = pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
    # Views have no offsets; strings of 32-bit ones are cast without a copy of their bytes.
    if strings or texts.type == pa.string_view():
        strings = True
        texts = texts.cast(pa.large_string())
    elif texts.type in (pa.binary(), pa.large_binary(), pa.binary_view()):
        texts = texts.cast(pa.large_binary())
    else:
        raise ValueError(f"texts: Arrow type {texts.type}; strings or binaries are needed")
    if len(texts) == 0:
        return pa.array([], type=pa.int64())
    found, tokens = _hapax.column_fingerprints(
        *_column(texts),
        decoded=strings,
        urls=None if urls is None else _addresses(urls),
        kind=kind,
        recipe=recipe,
        threads=threads,
    )
    empty = as_numpy(tokens) == 0
    if texts.null_count:
        empty |= texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(as_numpy(found, "<i8"), type=pa.int64(), mask=empty)


def _addresses(urls: Any) -> tuple[bytes, bytes]:
    import pyarrow as pa

    urls = urls.cast(pa.large_string())
    return _column(urls.combine_chunks() if isinstance(urls, pa.ChunkedArray) else urls)


def _column(texts: Any) -> tuple[bytes, bytes]:
    """The values and the offsets of an array with 64-bit ones."""
    _, buffer, data = texts.buffers()
    offsets = np.frombuffer(buffer, dtype="<i8")[texts.offset :][: len(texts) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    values = data.slice(first, last - first).to_pybytes() if data is not None else b""
    return values, (offsets - first).tobytes()

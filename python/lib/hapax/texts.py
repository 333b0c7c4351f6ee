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
    """Returns the fingerprint of each text or page, using ``threads`` threads (0: one a core).

    ``texts`` is a sequence of ``str`` or ``bytes``; the result is a numpy array of ``uint64``. For an
    Arrow array of strings or binaries it is an Arrow array of ``int64`` with the same bits, null for
    texts that are null or have no content words: such pages have no duplicates.

    ``kind`` is ``"html"`` or ``"text"``; without it, texts that begin with ``<`` are HTML. Raises
    ``TypeError`` for a single text, and ``ValueError`` for an unknown kind, recipe or Arrow type.
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
    """Returns the fingerprint and the number of content words of each text; see :func:`fingerprints`."""
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
    """:func:`fingerprints` of an Arrow array. ``urls``, one a text, are the base addresses of images, for
    recipes that use images. Raises ``ValueError`` if the array is not of strings or binaries."""
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
    # Views have no offsets. A cast from 32-bit offsets does not copy the bytes.
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
    """The values and the 64-bit offsets of an array."""
    _, buffer, data = texts.buffers()
    offsets = np.frombuffer(buffer, dtype="<i8")[texts.offset :][: len(texts) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    values = data.slice(first, last - first).to_pybytes() if data is not None else b""
    return values, (offsets - first).tobytes()

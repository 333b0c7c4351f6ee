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
        return _arrow(texts, kind, recipe, threads)
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


def _arrow(texts: Any, kind: Kind, recipe: str | None, threads: int) -> Any:
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        chunks = [_arrow(chunk, kind, recipe, threads) for chunk in texts.chunks]
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
    _, offsets_buffer, data = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype="<i8")[texts.offset :][: len(texts) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = data.slice(first, last - first).to_pybytes() if data is not None else b""
    found, tokens = _hapax.column_fingerprints(
        data,
        (offsets - first).tobytes(),
        decoded=strings,
        kind=kind,
        recipe=recipe,
        threads=threads,
    )
    empty = as_numpy(tokens) == 0
    if texts.null_count:
        empty |= texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(as_numpy(found, "<i8"), type=pa.int64(), mask=empty)

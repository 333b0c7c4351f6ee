"""Converts numpy arrays, Arrow arrays and plain sequences to bytes and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

    #: Fingerprints: unsigned, or signed with the same bits.
    Fingerprints = (
        npt.NDArray[np.uint64] | npt.NDArray[np.int64] | pa.Array | pa.ChunkedArray | Sequence[int]
    )

Array = Any
Wrap = Callable[[bytes], Array]


def is_arrow(values: object) -> bool:
    """Whether this is a pyarrow object; does not import pyarrow."""
    return type(values).__module__.startswith("pyarrow.")


def as_numpy(column: bytes, dtype: str = "<u8") -> npt.NDArray[Any]:
    """A numpy array of a column that the extension returned."""
    return np.frombuffer(column, dtype=dtype)


def to_words(values: Any, name: str = "fingerprints") -> tuple[bytes, Wrap]:
    """The bits of fingerprints, and a function that makes an array of the same kind from bits. Raises
    ``ValueError`` for an unsuitable type, a null, or a number of more than 64 bits."""
    if is_arrow(values):
        return _arrow_words(values, name)
    if isinstance(values, np.ndarray):
        return _numpy_words(values, name)
    return _sequence_words(values, name), as_numpy


def _numpy_words(values: npt.NDArray[Any], name: str) -> tuple[bytes, Wrap]:
    if values.ndim != 1:
        raise ValueError(f"{name}: {values.ndim} dimensions; one is needed")
    kind = values.dtype.newbyteorder("=")
    if kind not in (np.dtype(np.uint64), np.dtype(np.int64)):
        raise ValueError(f"{name}: dtype {values.dtype}; uint64 or int64 is needed")
    code = "<u8" if kind == np.dtype(np.uint64) else "<i8"
    return values.astype(code, copy=False).tobytes(), lambda column: as_numpy(column, code)


def _arrow_words(values: Any, name: str) -> tuple[bytes, Wrap]:
    import pyarrow as pa

    kind = values.type
    if kind not in (pa.uint64(), pa.int64()):
        raise ValueError(f"{name}: Arrow type {kind}; uint64 or int64 is needed")
    if values.null_count:
        place = values.is_null().to_pylist().index(True)
        raise ValueError(f"{name}[{place}] is null")
    code = "<u8" if kind == pa.uint64() else "<i8"

    def wrap(column: bytes) -> Any:
        return pa.array(as_numpy(column, code), type=kind)

    return values.to_numpy(zero_copy_only=False).astype(code, copy=False).tobytes(), wrap


def _sequence_words(values: Iterable[int], name: str) -> bytes:
    bits = []
    for place, value in enumerate(values):
        try:
            number = value.__index__()
        except AttributeError:
            raise ValueError(f"{name}[{place}]: {value!r} is no whole number") from None
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError(f"{name}[{place}]: {number} has more than 64 bits")
        bits.append(number & 0xFFFF_FFFF_FFFF_FFFF)
    return np.array(bits, dtype="<u8").tobytes()


def to_signed(values: Any) -> npt.NDArray[np.int64]:
    """Returns fingerprints as signed numbers with the same bits, as in Parquet and SQL's BIGINT. Raises
    ``ValueError`` for values that are not 64-bit integers."""
    bits, _ = to_words(values)
    return as_numpy(bits, "<i8")


def to_unsigned(values: Any) -> npt.NDArray[np.uint64]:
    """Returns fingerprints as unsigned numbers, as Hapax prints them. Raises ``ValueError`` for values that
    are not 64-bit integers."""
    bits, _ = to_words(values)
    return as_numpy(bits, "<u8")

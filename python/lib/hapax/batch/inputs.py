"""Input files: Parquet, and WARC by its extension."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from hapax import _hapax
from hapax.batch.columns import page_batch
from hapax.warc import responses

#: Rows of a batch of pages from a WARC.
BATCH = 1000
WARC = (".warc", ".warc.gz")


def is_warc(path: str) -> bool:
    """Whether a path has the extension of a WARC file."""
    return path.endswith(WARC)


def split(inputs: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns the paths of Parquet and of WARC files. Local folders and patterns are expanded, URIs are
    used as they are. Raises ``ValueError`` if there is no input."""
    parquet: list[str] = []
    warc: list[str] = []
    for given in inputs:
        for path in [given] if "://" in given else _local(given):
            (warc if is_warc(path) else parquet).append(path)
    if not parquet and not warc:
        raise ValueError("no input")
    return parquet, warc


def check_apart(inputs: Iterable[str], place: str) -> None:
    """Raises ``ValueError`` if the output is in a folder of the input, which would read it."""
    for given in inputs:
        if "://" in given or "://" in place or not Path(given).is_dir():
            continue
        if Path(place).resolve().is_relative_to(Path(given).resolve()):
            raise ValueError(f"{place}, for what is written, lies in the input {given}")


def check_kept(inputs: Iterable[str], places: Iterable[str]) -> None:
    """Raises ``ValueError`` if some input is in a folder that would be removed."""
    parquet, warc = split(inputs)
    for place in places:
        for path in (*parquet, *warc):
            if _within(path, place):
                raise ValueError(f"the input {path} lies in {place}, which is to be removed")


def _within(path: str, place: str) -> bool:
    path, place = path.removeprefix("file://"), place.removeprefix("file://")
    if "://" in path or "://" in place:
        return path.startswith(f"{place}/")
    return Path(path).resolve().is_relative_to(Path(place).resolve())


def _local(given: str) -> list[str]:
    path = Path(given)
    if path.is_dir():
        ends = (*WARC, ".parquet")
        found = [str(p) for p in sorted(path.rglob("*")) if p.name.endswith(ends)]
        found = [p for p in found if not Path(p).name.startswith(("_", "."))]
    elif path.exists():
        found = [given]
    else:
        found = sorted(glob.glob(given))
    if not found:
        raise ValueError(f"{given}: no Parquet or WARC files there")
    return [str(Path(path).resolve()) for path in found]


def open_stream(path: str) -> Any:
    """Opens a local file, or a URI that Arrow supports (``s3://``, ``hdfs://``), for reading. Raises
    ``OSError``."""
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(path)
    return system.open_input_stream(place, compression=None)


def read_warcs(paths: Iterable[str], recipe: str | None) -> Iterator[pa.RecordBatch]:
    """Yields the pages of WARC files in batches of :data:`hapax.batch.columns.SCHEMA`. Raises ``ValueError``
    for a damaged file."""
    rows: list[tuple[str, int, int]] = []
    for path in paths:
        with open_stream(path) as stream:
            for response in responses(stream, path):
                if response.status != 200:
                    continue
                found = _hapax.response_fingerprint(
                    response.body, response.content_type, url=response.url, recipe=recipe
                )
                if found is None:
                    continue
                rows.append((response.url, *found))
                if len(rows) >= BATCH:
                    yield page_batch(rows)
                    rows = []
    if rows:
        yield page_batch(rows)

"""The interface between the job and an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

#: The folder for intermediate files within the given one; only this folder is removed.
WORK = "hapax-work"
#: The output folders of a run, with their columns.
OUTPUTS = {
    "pages": ("url", "fingerprint", "cluster", "survivor", "distance"),
    "pairs": ("a", "b", "distance"),
}
#: Names of files that DataFusion and Spark write there.
FILES = re.compile(r"0\.parquet|part-.*\.parquet|_SUCCESS|_temporary|\..*\.crc")


def wrote(names: Iterable[str], columns: Sequence[str] | None, place: str) -> bool:
    """Whether a folder has only files of an earlier run, by their names and columns. ``columns`` is
    ``None`` if a killed run left no complete file."""
    if not all(FILES.fullmatch(name) for name in names):
        return False
    return columns is None or tuple(columns) == OUTPUTS[place.rpartition("/")[2]]


class Engine(Protocol):
    """Runs SQL over named tables on disk. Methods raise the engine's exceptions."""

    popcount: str
    """SQL for the number of set bits, with ``{}`` as its argument."""

    def ingest(self, inputs: list[str], recipe: str | None) -> None:
        """Writes the table ``pages`` from the input, with fingerprints by ``recipe``. Raises ``ValueError`` for
        bad input."""

    def save(self, name: str, query: str) -> None:
        """Writes the result of ``query`` as Parquet and registers it as table ``name``."""

    def drop(self, name: str) -> None:
        """Removes a table and its files."""

    def row(self, query: str) -> tuple[int, ...]:
        """Returns the only row of a query, which consists of integers."""

    def export(self, name: str, query: str) -> None:
        """Writes the result of ``query`` to the folder ``name`` of the output."""

    def close(self) -> None:
        """Removes intermediate files."""

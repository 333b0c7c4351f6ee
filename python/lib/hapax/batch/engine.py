"""What the job asks of an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

#: The folder for what is written on the way, within the one that was given for it: it alone is removed.
WORK = "hapax-work"
#: What a run writes into the output, and the columns of it.
OUTPUTS = {
    "pages": ("url", "fingerprint", "cluster", "survivor", "distance"),
    "pairs": ("a", "b", "distance"),
}
#: The files of that, by DataFusion and by Spark.
FILES = re.compile(r"0\.parquet|part-.*\.parquet|_SUCCESS|_temporary|\..*\.crc")


def wrote(names: Iterable[str], columns: Sequence[str] | None, place: str) -> bool:
    """Whether a folder holds only what an earlier run wrote there: by the names of its files, and by
    its columns, which are ``None`` if a run that was killed left no file whole."""
    if not all(FILES.fullmatch(name) for name in names):
        return False
    return columns is None or tuple(columns) == OUTPUTS[place.rpartition("/")[2]]


class Engine(Protocol):
    """Runs SQL over named tables, which lie on disk."""

    popcount: str
    """SQL for the number of bits set, with ``{}`` for its argument."""

    def ingest(self, inputs: list[str], recipe: str | None) -> None:
        """Makes the table ``pages`` of the input."""

    def save(self, name: str, query: str) -> None:
        """Writes what a query yields as Parquet, and names it."""

    def drop(self, name: str) -> None:
        """Forgets a table, and removes its files."""

    def row(self, query: str) -> tuple[int, ...]:
        """The one row of a query, of whole numbers."""

    def export(self, name: str, query: str) -> None:
        """Writes what a query yields into the output."""

    def close(self) -> None:
        """Removes what was written on the way."""

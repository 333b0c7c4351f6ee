"""What the job asks of an engine."""

from __future__ import annotations

from typing import Protocol


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

"""Near pairs and clusters of a whole set of fingerprints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hapax import _hapax
from hapax._arrays import as_numpy, to_words

if TYPE_CHECKING:
    from hapax._arrays import Array, Fingerprints


class Pairs(NamedTuple):
    """Near pairs, one a row, ascending. ``a`` and ``b`` are arrays of the input's kind."""

    a: Array
    """The smaller fingerprint (unsigned)."""
    b: Array
    """The larger fingerprint, or the same one if it is in the input more than once."""
    distance: Array
    """The Hamming distance."""


class Near(NamedTuple):
    """Neighbours of queries, one a row: by query, then nearest first."""

    query: Array
    """The position of the query."""
    value: Array
    """The stored fingerprint, or a document's number from :meth:`Store.near_many`."""
    distance: Array
    """The Hamming distance."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of at least two members; iterating and indexing yield arrays of members."""

    members: Array
    """The members of all clusters, each as often as in the input."""
    starts: Array
    """The start of each cluster in ``members``, and the end of the last one."""

    def __len__(self) -> int:
        """Returns the number of clusters."""
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Any]:
        """Yields the members of each cluster."""
        for number in range(len(self)):
            yield self[number]

    def __getitem__(self, number: Any) -> Any:
        """Returns the members of a cluster; negative numbers count from the end. Raises ``IndexError``."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"cluster {number} of {len(self)}")
        number %= len(self)
        return self.members[int(self.starts[number]) : int(self.starts[number + 1])]


def find_all(fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None) -> Pairs:
    """Returns every pair of values within ``distance`` bits (0 to 7), as ``crawl find-all`` does.

    ``blocks`` sets the number of blocks of the tables. Raises ``ValueError`` for a distance, number of
    blocks or value out of range.
    """
    bits, wrap = to_words(fingerprints)
    a, b, distances = _hapax.find_all(bits, distance, blocks)
    return Pairs(wrap(a), wrap(b), as_numpy(distances))


def find_clusters(
    fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None
) -> Clusters:
    """Returns the connected components of the near pairs, as ``crawl find-clusters`` does. Arguments and
    errors are those of :func:`find_all`."""
    bits, wrap = to_words(fingerprints)
    members, starts = _hapax.find_clusters(bits, distance, blocks)
    return Clusters(wrap(members), as_numpy(starts, "<i8"))


def distances(a: Fingerprints, b: Fingerprints) -> Array:
    """Returns the Hamming distances of two columns, row by row. Raises ``ValueError`` if their lengths
    differ or a value is not a 64-bit integer."""
    (left, _), (right, _) = to_words(a, "a"), to_words(b, "b")
    return as_numpy(_hapax.distances(left, right))


class Tables(_hapax.FixedTables):
    """A fixed set of fingerprints in permuted tables; queries find every neighbour.

    Faster than a :class:`Store`, and only in memory. A value that is in the set more than once is found
    once. Raises ``ValueError`` for a distance, number of blocks or value out of range.
    """

    def __new__(
        cls, fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None
    ) -> Tables:
        bits, _ = to_words(fingerprints)
        return super().__new__(cls, bits, distance, blocks)

    def near(self, queries: Fingerprints) -> Near:
        """Returns the stored fingerprints near each query. Raises ``ValueError`` for invalid queries."""
        bits, wrap = to_words(queries, "queries")
        numbers, values, found = self.near_words(bits)
        return Near(as_numpy(numbers, "<i8"), wrap(values), as_numpy(found))


def near(queries: Fingerprints, fingerprints: Fingerprints, *, distance: int = 3) -> Near:
    """Returns the members of ``fingerprints`` within ``distance`` bits of each query. For repeated queries
    build :class:`Tables` once. Raises ``ValueError`` for a value or distance out of range."""
    return Tables(fingerprints, distance=distance).near(queries)

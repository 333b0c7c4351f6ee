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
    """Near pairs, one a row, ascending. The arrays are of the kind that was asked with."""

    a: Array
    """The smaller fingerprint (unsigned)."""
    b: Array
    """The larger one, or the same again if it stands in the input more than once."""
    distance: Array
    """In how many bits they differ."""


class Near(NamedTuple):
    """What lies near a query, one a row: by query, then nearest first."""

    query: Array
    """Its place among the queries."""
    value: Array
    """The stored fingerprint."""
    distance: Array
    """In how many bits they differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of two and more; iterating and indexing yield their members."""

    members: Array
    """The members of all clusters, each as often as it stands in the input."""
    starts: Array
    """Where each cluster begins in ``members``, and where the last one ends."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Any]:
        for number in range(len(self)):
            yield self[number]

    def __getitem__(self, number: Any) -> Any:
        if not -len(self) <= number < len(self):
            raise IndexError(f"cluster {number} of {len(self)}")
        number %= len(self)
        return self.members[int(self.starts[number]) : int(self.starts[number + 1])]


def find_all(fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None) -> Pairs:
    """Every pair of values within ``distance`` bits (0 to 7), as ``crawl find-all`` finds them."""
    bits, wrap = to_words(fingerprints)
    a, b, distances = _hapax.find_all(bits, distance, blocks)
    return Pairs(wrap(a), wrap(b), as_numpy(distances))


def find_clusters(
    fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None
) -> Clusters:
    """The connected components of the near pairs, as ``crawl find-clusters`` finds them."""
    bits, wrap = to_words(fingerprints)
    members, starts = _hapax.find_clusters(bits, distance, blocks)
    return Clusters(wrap(members), as_numpy(starts, "<i8"))


def distances(a: Fingerprints, b: Fingerprints) -> Array:
    """In how many bits the fingerprints of two columns differ, row by row."""
    (left, _), (right, _) = to_words(a, "a"), to_words(b, "b")
    return as_numpy(_hapax.distances(left, right))


class Tables(_hapax.FixedTables):
    """A fixed set of fingerprints in permuted tables, for look-ups that miss nothing.

    Faster than a :class:`Store` and in memory only. A value that stands in the set more than once is
    found once.
    """

    def __new__(
        cls, fingerprints: Fingerprints, *, distance: int = 3, blocks: int | None = None
    ) -> Tables:
        bits, _ = to_words(fingerprints)
        return super().__new__(cls, bits, distance, blocks)

    def near(self, queries: Fingerprints) -> Near:
        """The stored fingerprints near each query."""
        bits, wrap = to_words(queries, "queries")
        numbers, values, found = self.near_words(bits)
        return Near(as_numpy(numbers, "<i8"), wrap(values), as_numpy(found))


def near(queries: Fingerprints, fingerprints: Fingerprints, *, distance: int = 3) -> Near:
    """The members of a set near each query. Who asks more than once makes :class:`Tables`."""
    return Tables(fingerprints, distance=distance).near(queries)

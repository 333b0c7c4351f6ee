"""Connected components by alternating large-star and small-star, without collecting rows.

Each step is two joins over the edges and is written to disk, so that plans do not grow. The edges of a
component become a star around its least member, in a number of cycles that grows with the logarithm of
its size (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, SoCC 2014).
"""

from __future__ import annotations

from hapax.batch import sql
from hapax.batch.engine import Engine


class RoundsExceeded(RuntimeError):
    """The components were not complete after ``max_rounds`` cycles; nothing was written."""


def connect(engine: Engine, edges: str, max_rounds: int) -> tuple[str, int]:
    """Contracts the table ``edges`` (``u > v``) to stars. Returns their table and the number of cycles.
    Raises :class:`RoundsExceeded` after ``max_rounds`` cycles."""
    for number in range(max_rounds + 1):
        _, forks, chains = engine.row(sql.unfinished(edges))
        if forks == 0 and chains == 0:
            return edges, number
        if number == max_rounds:
            break
        large, small = f"large_{number}", f"small_{number}"
        engine.save(large, sql.large_star(edges))
        engine.save(small, sql.small_star(large))
        engine.drop(large)
        if number:
            engine.drop(edges)
        edges = small
    raise RoundsExceeded(
        f"{forks} nodes with two parents and {chains} chains are left after {max_rounds} rounds:"
        " allow more with --max-rounds"
    )

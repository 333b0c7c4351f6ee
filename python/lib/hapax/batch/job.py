"""The steps of the job."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hapax.batch import sql
from hapax.batch.components import connect
from hapax.batch.engine import Engine


@dataclass(frozen=True)
class Options:
    """Settings of the job."""

    distance: int = 3
    """The largest Hamming distance."""
    blocks: int = 0
    """Blocks of the 64 bits; 0 means two more than the distance."""
    recipe: str | None = None
    """The recipe of the fingerprints; ``None`` is the default."""
    max_rounds: int = 40
    """Cycles of the components after which the job fails."""

    def masks(self) -> list[int]:
        """Returns the tables as bit masks for joins. Raises ``ValueError`` for values out of range."""
        return sql.masks(self.distance, self.blocks or self.distance + 2)


@dataclass
class Summary:
    """Counts and times of a run."""

    pages: int = 0
    """Rows of the input."""
    fingerprints: int = 0
    """Distinct fingerprints."""
    pairs: int = 0
    """Near pairs of distinct fingerprints."""
    clusters: int = 0
    """Clusters of several pages."""
    discarded: int = 0
    """Pages that are not their cluster's kept page."""
    rounds: int = 0
    """Cycles of the components."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds of each step."""


def run(
    engine: Engine,
    inputs: list[str],
    options: Options,
    progress: Callable[[str], None] = lambda step: None,
) -> Summary:
    """Reads the input, finds pairs and clusters, and writes them; ``progress`` is called with each step's
    name. Raises ``ValueError`` for bad input and :class:`RoundsExceeded`."""
    masks = options.masks()
    summary = Summary()

    def step(name: str, work: Callable[[], object]) -> None:
        progress(name)
        started = time.monotonic()
        work()
        summary.seconds[name] = round(time.monotonic() - started, 2)

    def connected() -> None:
        engine.save("edges", sql.edges())
        stars, summary.rounds = connect(engine, "edges", options.max_rounds)
        engine.save("labels", sql.labels(stars))

    def chosen() -> None:
        engine.save("clustered", sql.clustered())
        engine.save("best", sql.best())
        engine.save("survivors", sql.survivors())

    def written() -> None:
        engine.export("pairs", sql.pairs())
        engine.export("pages", sql.result(engine.popcount))

    step("read", lambda: engine.ingest(inputs, options.recipe))
    step("distinct", lambda: engine.save("prints", sql.prints()))
    step("join", lambda: engine.save("near", sql.near(masks, options.distance)))
    step("components", connected)
    step("survivors", chosen)
    step("write", written)

    def count(query: str) -> int:
        return engine.row(query)[0]

    summary.pages = count("SELECT COUNT(*) FROM pages")
    summary.fingerprints = count("SELECT COUNT(*) FROM prints")
    summary.pairs = count("SELECT COUNT(*) FROM near")
    summary.clusters = count("SELECT COUNT(*) FROM survivors")
    members = "SELECT COUNT(*) FROM clustered c JOIN survivors s ON c.cluster = s.cluster"
    summary.discarded = count(members) - summary.clusters
    return summary

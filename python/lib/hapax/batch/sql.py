"""The SQL of the job, which both engines support: BIGINT, ``&``, ``^``, joins on equality.

It avoids shifts, bit functions and unsigned numbers, which differ between dialects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from hapax._hapax import MAX_DISTANCE

#: More blocks would result in thousands of tables.
MAX_BLOCKS = 16
#: All bits except the sign.
POSITIVE = (1 << 63) - 1


def masks(distance: int, blocks: int) -> list[int]:
    """Returns the bit mask of each table's join key, as signed numbers. The 64 bits are cut into blocks;
    near pairs agree in all except at most ``distance`` blocks. Raises ``ValueError`` for values out of
    range."""
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"distance {distance}: 0 to {MAX_DISTANCE} are possible")
    if not distance < blocks <= MAX_BLOCKS:
        raise ValueError(f"{blocks} blocks: {distance + 1} to {MAX_BLOCKS} are possible")
    edges = [64 * number // blocks for number in range(blocks + 1)]
    cut = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
    chosen = combinations(cut, blocks - distance)
    return [_signed(sum(parts)) for parts in chosen]


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def prints() -> str:
    """Each fingerprint once, with its number of pages."""
    return (
        "SELECT fingerprint AS fp, COUNT(*) AS n FROM pages"
        " WHERE fingerprint IS NOT NULL GROUP BY fingerprint"
    )


def near(masks: Sequence[int], distance: int) -> str:
    """Near pairs ``a < b`` (signed) of ``prints``, each once, with their distance.

    A pair is near if clearing the lowest set bit, ``x & (x - 1)``, ``distance`` times results in 0. The
    sign bit is counted separately, because ``x - 1`` of the smallest number overflows.
    """
    values = ", ".join(
        f"(CAST({number} AS BIGINT), CAST({mask} AS BIGINT))" for number, mask in enumerate(masks)
    )
    keys = (
        "SELECT m.tab AS tab, p.fp & m.mask AS lead, p.fp AS fp"
        f" FROM prints p CROSS JOIN (VALUES {values}) AS m(tab, mask)"
    )
    # A pair may be in several tables; the first one reports it.
    first = " ".join(f"WHEN (x & {mask}) = 0 THEN {number}" for number, mask in enumerate(masks))
    rows = (
        "SELECT l.tab AS tab, l.fp AS a, r.fp AS b, (l.fp ^ r.fp) AS x"
        f" FROM ({keys}) l JOIN ({keys}) r ON l.tab = r.tab AND l.lead = r.lead"
        " WHERE l.fp < r.fp"
    )
    rows = f"SELECT tab, a, b, x, x & {POSITIVE} AS h0 FROM ({rows}) q"
    for step in range(distance):
        cleared = f"h{step} & (h{step} - 1) AS h{step + 1}"
        rows = f"SELECT *, {cleared} FROM ({rows}) q{step}"
    counted = [f"CASE WHEN h{step} <> 0 THEN 1 ELSE 0 END" for step in range(distance)]
    bits = " + ".join(["CASE WHEN x < 0 THEN 1 ELSE 0 END", *counted])
    within = f"(x >= 0 AND h{distance} = 0)"
    if distance:
        within = f"({within} OR (x < 0 AND h{distance - 1} = 0))"
    return (
        f"SELECT a, b, CAST({bits} AS BIGINT) AS distance FROM ({rows}) z"
        f" WHERE {within} AND tab = CASE {first} ELSE -1 END"
    )


def pairs() -> str:
    """The pairs as ``crawl find-all`` prints them: the smaller unsigned number first, and a fingerprint
    of several pages paired with itself."""
    return (
        "SELECT CASE WHEN a < 0 AND b >= 0 THEN b ELSE a END AS a,"
        " CASE WHEN a < 0 AND b >= 0 THEN a ELSE b END AS b, distance FROM near"
        " UNION ALL SELECT fp AS a, fp AS b, CAST(0 AS BIGINT) AS distance FROM prints WHERE n > 1"
    )


def edges() -> str:
    """The pairs as edges from the larger to the smaller number."""
    return "SELECT b AS u, a AS v FROM near"


def large_star(edges: str) -> str:
    """Connects each larger neighbour of a node to the least of the node and its neighbours."""
    both = f"SELECT u, v FROM {edges} UNION ALL SELECT v AS u, u AS v FROM {edges}"
    least = (
        f"SELECT u, CASE WHEN MIN(v) < u THEN MIN(v) ELSE u END AS least FROM ({both}) s GROUP BY u"
    )
    return (
        f"SELECT DISTINCT e.v AS u, m.least AS v FROM ({both}) e"
        f" JOIN ({least}) m ON e.u = m.u WHERE e.v > e.u"
    )


def small_star(edges: str) -> str:
    """Connects a node and its smaller neighbours to the least of them."""
    least = f"SELECT u, MIN(v) AS least FROM {edges} GROUP BY u"
    return (
        f"SELECT DISTINCT u, v FROM (SELECT u, least AS v FROM ({least}) s"
        f" UNION ALL SELECT e.v AS u, m.least AS v FROM {edges} e"
        f" JOIN ({least}) m ON e.u = m.u WHERE e.v <> m.least) t"
    )


def unfinished(edges: str) -> str:
    """Numbers of edges, of nodes with two parents, and of parents with a parent. If the last two are 0,
    the edges form stars that point to the least member of each component."""
    return (
        f"SELECT (SELECT COUNT(*) FROM {edges}) AS edges,"
        f" (SELECT COUNT(*) - COUNT(DISTINCT u) FROM {edges}) AS forks,"
        f" (SELECT COUNT(*) FROM {edges} e JOIN {edges} f ON e.v = f.u) AS chains"
    )


def labels(edges: str) -> str:
    """The component of each fingerprint with a neighbour, named by its least member."""
    return (
        f"SELECT u AS fp, v AS cluster FROM {edges}"
        f" UNION ALL SELECT DISTINCT v AS fp, v AS cluster FROM {edges}"
    )


def clustered() -> str:
    """The pages with their cluster, null for pages without text."""
    return (
        "SELECT p.url AS url, p.fingerprint AS fingerprint, p.url_rank AS url_rank,"
        " COALESCE(l.cluster, p.fingerprint) AS cluster"
        " FROM pages p LEFT JOIN labels l ON p.fingerprint = l.fp"
    )


def best() -> str:
    """The rank of the kept page of each cluster of several pages."""
    return (
        "SELECT cluster, MIN(url_rank) AS url_rank FROM clustered WHERE cluster IS NOT NULL"
        " GROUP BY cluster HAVING COUNT(*) > 1"
    )


def survivors() -> str:
    """The kept pages. A URL may be in the input twice, so one fingerprint is chosen."""
    return (
        "SELECT c.cluster AS cluster, MIN(c.url) AS url, MIN(c.fingerprint) AS fp"
        " FROM clustered c JOIN best b ON c.cluster = b.cluster AND c.url_rank = b.url_rank"
        " GROUP BY c.cluster"
    )


def result(popcount: str) -> str:
    """The output, one row a page; ``popcount`` is the engine's SQL, with ``{}`` as its argument."""
    bits = popcount.format("c.fingerprint ^ s.fp")
    return (
        "SELECT c.url AS url, c.fingerprint AS fingerprint, c.cluster AS cluster,"
        " COALESCE(s.url, c.url) AS survivor,"
        f" CASE WHEN c.fingerprint IS NULL THEN NULL WHEN s.fp IS NULL THEN CAST(0 AS BIGINT)"
        f" ELSE CAST({bits} AS BIGINT) END AS distance"
        " FROM clustered c LEFT JOIN survivors s ON c.cluster = s.cluster"
    )

"""Near-duplicate detection for web pages.

``extract`` and ``fingerprint`` read pages, ``Store`` answers "seen before?", ``find_all`` and
``find_clusters`` process a whole set. ``hapax.scrapy`` is an item pipeline, ``hapax.batch`` a job for
Spark and DataFusion.

Fingerprints have 64 bits. Hapax prints and stores them as unsigned numbers; in Arrow, Parquet and SQL
they are signed (two's complement, the same bits), because BIGINT is signed. ``to_signed`` and
``to_unsigned`` convert; all functions accept both.
"""

from hapax._arrays import to_signed, to_unsigned
from hapax._hapax import (
    MAX_DISTANCE,
    RECIPE,
    RECIPES,
    Block,
    Neighbour,
    Page,
    Record,
    Verdict,
    __version__,
    extract,
    extract_plain,
    fingerprint,
)
from hapax.errors import DamagedError, HapaxError, LockedError, RecipeError, VersionError
from hapax.sets import Clusters, Near, Pairs, Tables, distances, find_all, find_clusters, near
from hapax.store import Store
from hapax.texts import fingerprints, fingerprints_and_tokens

__all__ = [
    "MAX_DISTANCE",
    "RECIPE",
    "RECIPES",
    "Block",
    "Clusters",
    "DamagedError",
    "HapaxError",
    "LockedError",
    "Near",
    "Neighbour",
    "Page",
    "Pairs",
    "RecipeError",
    "Record",
    "Store",
    "Tables",
    "Verdict",
    "VersionError",
    "__version__",
    "distances",
    "extract",
    "extract_plain",
    "find_all",
    "find_clusters",
    "fingerprint",
    "fingerprints",
    "fingerprints_and_tokens",
    "near",
    "to_signed",
    "to_unsigned",
]

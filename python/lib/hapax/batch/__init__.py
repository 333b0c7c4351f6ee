"""Near-duplicate pairs and clusters over more pages than one machine holds.

``python -m hapax.batch --help`` is the command; :func:`run` the same from a program. See
``hapax.batch.columns`` for functions on Arrow batches, ``hapax.batch.engine_spark`` for those on Spark's
frames.
"""

from hapax.batch.columns import fingerprint_batch, fingerprint_batches, fingerprint_table
from hapax.batch.components import RoundsExceeded
from hapax.batch.job import Options, Summary, run

__all__ = [
    "Options",
    "RoundsExceeded",
    "Summary",
    "fingerprint_batch",
    "fingerprint_batches",
    "fingerprint_table",
    "run",
]

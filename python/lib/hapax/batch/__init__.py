"""Near-duplicate pairs and clusters of more pages than one machine can hold.

The command is ``python -m hapax.batch --help``; from a program call :func:`run`. Functions on Arrow
batches are in ``hapax.batch.columns``, those on Spark's frames in ``hapax.batch.engine_spark``.
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

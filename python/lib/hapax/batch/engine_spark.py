"""Spark: a cluster, with Parquet on storage that all machines can access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from hapax.batch.columns import content_column, fingerprint_batches
from hapax.batch.engine import WORK, wrote
from hapax.batch.inputs import read_warcs, split

SCHEMA = "url string, fingerprint bigint, url_rank string"
#: The setting of rows in a batch, with our default. Spark's default of 10,000 pages may exceed the 2 GiB
#: limit of a string column.
BATCH_ROWS = ("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")


def fingerprint_frame(frame: DataFrame, *, recipe: str | None = None) -> DataFrame:
    """Converts a frame with ``url`` and ``html``, ``text`` or ``fingerprint`` to one with ``url``,
    ``fingerprint`` (signed) and ``url_rank``, using ``mapInArrow``. Raises ``ValueError`` for a missing
    column."""
    name = content_column(frame.columns)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Several tasks share a machine, so each uses one thread.
        return fingerprint_batches(batches, recipe=recipe, threads=1)

    return frame.select("url", name).mapInArrow(work, SCHEMA)


def warc_frame(spark: SparkSession, paths: list[str], *, recipe: str | None = None) -> DataFrame:
    """Returns such a frame of the pages in WARC files, which every executor must reach by these paths."""
    files = spark.createDataFrame([(path,) for path in paths], "path string")

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from read_warcs(batch.column("path").to_pylist(), recipe)

    return files.repartition(len(paths)).mapInArrow(work, SCHEMA)


class SparkEngine:
    """An engine over an existing session. Each step is written to a separate folder within ``work``, which
    bounds the plan and preserves results when executors are lost."""

    popcount = "bit_count({})"

    def __init__(self, spark: SparkSession, output: str, work: str) -> None:
        self.spark, self.output = spark, output.rstrip("/")
        self.work = f"{work.rstrip('/')}/{WORK}"

    def ingest(self, inputs: list[str], recipe: str | None) -> None:
        """Writes the table ``pages`` from the input. Raises ``ValueError`` for bad input."""
        parquet, warcs = split(inputs)
        if not self.spark.sparkContext.getConf().contains(BATCH_ROWS[0]):
            self.spark.conf.set(*BATCH_ROWS)
        frames = []
        if parquet:
            frames.append(fingerprint_frame(self.spark.read.parquet(*parquet), recipe=recipe))
        if warcs:
            frames.append(warc_frame(self.spark, warcs, recipe=recipe))
        frame = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
        self._save("pages", frame)

    def save(self, name: str, query: str) -> None:
        """Writes the result of ``query`` and registers it as table ``name``."""
        self._save(name, self.spark.sql(query))

    def drop(self, name: str) -> None:
        """Removes a table and its files."""
        self.spark.catalog.dropTempView(name)
        self._remove(f"{self.work}/{name}")

    def row(self, query: str) -> tuple[int, ...]:
        """Returns the only row of a query, which consists of integers."""
        return tuple(int(value) for value in self.spark.sql(query).collect()[0])

    def export(self, name: str, query: str) -> None:
        """Writes the result of ``query`` to the folder ``name`` of the output."""
        frame = self.spark.sql(query)
        frame.write.option("compression", "zstd").parquet(f"{self.output}/{name}")

    def close(self) -> None:
        """Removes intermediate files."""
        self._remove(self.work)

    def _save(self, name: str, frame: DataFrame) -> None:
        path = f"{self.work}/{name}"
        schema = frame.schema
        frame.write.option("compression", "lz4").parquet(path)
        self.spark.read.schema(schema).parquet(path).createOrReplaceTempView(name)

    def _remove(self, path: str) -> None:
        remove(self.spark, path)


def _place(spark: SparkSession, path: str) -> tuple[Any, Any]:
    jvm: Any = spark.sparkContext._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), place


def exists(spark: SparkSession, path: str) -> bool:
    """Whether a path exists on the cluster's storage."""
    system, place = _place(spark, path)
    return bool(system.exists(place))


def is_output(spark: SparkSession, path: str) -> bool:
    """Whether a folder has only files of an earlier run."""
    system, place = _place(spark, path)
    if not system.getFileStatus(place).isDirectory():
        return False
    names = [str(status.getPath().getName()) for status in system.listStatus(place)]
    whole = any(name.endswith(".parquet") for name in names)
    return wrote(names, None, path) and (
        not whole or wrote([], spark.read.parquet(path).columns, path)
    )


def remove(spark: SparkSession, path: str) -> None:
    """Removes a folder on the cluster's storage."""
    system, place = _place(spark, path)
    system.delete(place, True)

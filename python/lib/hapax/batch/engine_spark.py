"""Spark: a cluster, by Parquet on storage that all of its machines reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from hapax.batch.columns import content_column, fingerprint_batches
from hapax.batch.engine import WORK, wrote
from hapax.batch.inputs import read_warcs, split

SCHEMA = "url string, fingerprint bigint, url_rank string"
#: Rows that Spark hands to Python at once, and how many of them if nothing else was said: 10,000 pages,
#: its own default, may be more than the 2 GiB that a column of strings holds.
BATCH_ROWS = ("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")


def fingerprint_frame(frame: DataFrame, *, recipe: str | None = None) -> DataFrame:
    """A frame with ``url`` and ``html``, ``text`` or ``fingerprint`` to one with ``url``,
    ``fingerprint`` (signed) and ``url_rank``, by the Rust kernel inside of ``mapInArrow``."""
    name = content_column(frame.columns)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A task is one of many on its machine, so it takes one thread.
        return fingerprint_batches(batches, recipe=recipe, threads=1)

    return frame.select("url", name).mapInArrow(work, SCHEMA)


def warc_frame(spark: SparkSession, paths: list[str], *, recipe: str | None = None) -> DataFrame:
    """The same of the pages in WARC files, which every executor must reach under these paths."""
    files = spark.createDataFrame([(path,) for path in paths], "path string")

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from read_warcs(batch.column("path").to_pylist(), recipe)

    return files.repartition(len(paths)).mapInArrow(work, SCHEMA)


class SparkEngine:
    """An engine over an existing session. Each step is written to a folder of its own within ``work``:
    that bounds the plan, and what was done survives the loss of executors."""

    popcount = "bit_count({})"

    def __init__(self, spark: SparkSession, output: str, work: str) -> None:
        self.spark, self.output = spark, output.rstrip("/")
        self.work = f"{work.rstrip('/')}/{WORK}"

    def ingest(self, inputs: list[str], recipe: str | None) -> None:
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
        self._save(name, self.spark.sql(query))

    def drop(self, name: str) -> None:
        self.spark.catalog.dropTempView(name)
        self._remove(f"{self.work}/{name}")

    def row(self, query: str) -> tuple[int, ...]:
        return tuple(int(value) for value in self.spark.sql(query).collect()[0])

    def export(self, name: str, query: str) -> None:
        frame = self.spark.sql(query)
        frame.write.option("compression", "zstd").parquet(f"{self.output}/{name}")

    def close(self) -> None:
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
    """Whether something lies there, on whatever storage the cluster uses."""
    system, place = _place(spark, path)
    return bool(system.exists(place))


def is_output(spark: SparkSession, path: str) -> bool:
    """Whether a folder holds only what an earlier run wrote there."""
    system, place = _place(spark, path)
    if not system.getFileStatus(place).isDirectory():
        return False
    names = [str(status.getPath().getName()) for status in system.listStatus(place)]
    whole = any(name.endswith(".parquet") for name in names)
    return wrote(names, None, path) and (
        not whole or wrote([], spark.read.parquet(path).columns, path)
    )


def remove(spark: SparkSession, path: str) -> None:
    """Removes a folder on that storage."""
    system, place = _place(spark, path)
    system.delete(place, True)

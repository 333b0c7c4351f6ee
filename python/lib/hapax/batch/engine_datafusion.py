"""DataFusion: one machine, for sets larger than its memory.

Its hash join cannot spill, so the job uses sort-merge joins, whose sorts spill into the work folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datafusion
import pyarrow as pa
import pyarrow.parquet as pq

import hapax
from hapax.batch.columns import CONTENTS, SCHEMA, content_column, fingerprint_batch
from hapax.batch.engine import WORK, wrote
from hapax.batch.inputs import read_warcs, split

#: Rows of an input batch; with HTML pages, some hundred megabytes.
ROWS = 4096
#: Rows of a batch of bare fingerprints.
BARE_ROWS = 1 << 17
#: Rows of a row group.
GROUP_ROWS = 1 << 17


class DataFusionEngine:
    """An engine over Parquet files in the folder :data:`WORK` within ``work``.

    ``memory`` bounds the bytes of joins and sorts; each of ``partitions`` (default: one a core) needs at
    least 100 MB. Raises ``OSError`` if a folder cannot be created.
    """

    popcount = "hapax_popcount({})"

    def __init__(
        self, output: str, work: str, *, memory: int = 2 << 30, partitions: int | None = None
    ) -> None:
        self.output, self.work = Path(output), Path(work) / WORK
        (self.work / "spill").mkdir(parents=True, exist_ok=True)
        self.output.mkdir(parents=True, exist_ok=True)
        config = datafusion.SessionConfig().set("datafusion.optimizer.prefer_hash_join", "false")
        if partitions is not None:
            config = config.with_target_partitions(partitions)
        runtime = (
            datafusion.RuntimeEnvBuilder()
            .with_disk_manager_specified(str(self.work / "spill"))
            .with_fair_spill_pool(memory)
        )
        self.context = datafusion.SessionContext(config, runtime)
        self.context.register_udf(
            datafusion.udf(_popcount, [pa.int64()], pa.int64(), "immutable", "hapax_popcount")
        )

    def ingest(self, inputs: list[str], recipe: str | None) -> None:
        """Writes the table ``pages`` from the input. Raises ``ValueError`` for bad input."""
        folder = self.work / "pages"
        folder.mkdir()
        with pq.ParquetWriter(folder / "0.parquet", SCHEMA, compression="lz4") as writer:
            for batch in _pages(inputs, recipe):
                writer.write_batch(batch)
        self._register("pages", folder)

    def save(self, name: str, query: str) -> None:
        """Writes the result of ``query`` and registers it as table ``name``."""
        folder = self.work / name
        self._write(query, folder, "lz4")
        self._register(name, folder)

    def drop(self, name: str) -> None:
        """Removes a table and its files."""
        self.context.deregister_table(name)
        shutil.rmtree(self.work / name)

    def row(self, query: str) -> tuple[int, ...]:
        """Returns the only row of a query, which consists of integers."""
        table = self.context.sql(query).to_arrow_table()
        return tuple(int(column[0].as_py()) for column in table.columns)

    def export(self, name: str, query: str) -> None:
        """Writes the result of ``query`` to the folder ``name`` of the output."""
        self._write(query, self.output / name, "zstd")

    def close(self) -> None:
        """Removes intermediate files."""
        shutil.rmtree(self.work, ignore_errors=True)

    def _write(self, query: str, folder: Path, compression: str) -> None:
        """Writes with pyarrow: buffers of DataFusion's writer count against the pool and cannot spill, so
        sorts that fill the pool would starve it."""
        folder.mkdir()
        frame = self.context.sql(query)
        schema = frame.schema()
        with pq.ParquetWriter(folder / "0.parquet", schema, compression=compression) as writer:
            gathered: list[pa.RecordBatch] = []
            rows = 0
            for batch in frame.execute_stream():
                gathered.append(batch.to_pyarrow())
                rows += gathered[-1].num_rows
                if rows >= GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(gathered, schema))
                    gathered, rows = [], 0
            if gathered:
                writer.write_table(pa.Table.from_batches(gathered, schema))

    def _register(self, name: str, folder: Path) -> None:
        self.context.register_parquet(name, str(folder))


def is_output(place: str) -> bool:
    """Whether a folder has only files of an earlier run."""
    folder = Path(place)
    if folder.is_symlink() or not folder.is_dir():
        return False
    if not wrote((path.name for path in folder.iterdir()), None, place):
        return False
    for path in folder.glob("*.parquet"):
        try:
            columns = pq.read_schema(path).names
        except pa.ArrowInvalid:
            # A killed run left an incomplete file.
            continue
        if not wrote([], columns, place):
            return False
    return True


def _pages(inputs: list[str], recipe: str | None) -> Iterator[pa.RecordBatch]:
    parquet, warcs = split(inputs)
    for path in parquet:
        file = pq.ParquetFile(path)
        try:
            name = content_column(file.schema_arrow.names)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        rows = BARE_ROWS if name == CONTENTS[0] else ROWS
        for batch in file.iter_batches(batch_size=rows, columns=["url", name]):
            yield fingerprint_batch(batch, recipe=recipe)
    yield from read_warcs(warcs, recipe)


def _popcount(column: Any) -> Any:
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    values = hapax.to_signed(column.fill_null(0))
    counts = hapax.distances(values, values * 0)
    return pa.array(counts.view("<i8"), pa.int64(), mask=~valid)

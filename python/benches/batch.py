"""Compares the batch job with `crawl find-all` on the same fingerprints.

    python benches/batch.py --count 1000000 --crawl ../target/release/crawl --engines binary wheel datafusion

A tenth of the fingerprints is planted near another one (1 to 3 bits). Engines: `binary` (crawl find-all and
find-clusters), `wheel` (hapax.find_all in this process's child), `datafusion`, and `spark`, a job submitted to
--master (default local[2]). Prints wall and CPU seconds, the largest resident set of a process, and the pairs
found; all engines must find as many.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
WHEEL = """
import sys, numpy as np, hapax
values = np.fromfile(sys.argv[1], dtype=np.uint64)
print(len(hapax.find_all(values).a))
"""


def planted(count: int) -> np.ndarray:
    chance = np.random.default_rng(20261121)
    values = chance.integers(0, 1 << 64, count, dtype=np.uint64)
    near = count // 10
    for _ in range(3):
        bits = np.uint64(1) << chance.integers(0, 64, near).astype(np.uint64)
        values[count - near :] = values[:near] ^ bits if _ == 0 else values[count - near :] ^ bits
    return values


def measure(command: list[str], environment: dict[str, str] | None = None) -> tuple[str, str]:
    """Runs a command; returns its output, times and memory."""
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=out, stderr=said, env=environment)
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.05)
        wall = time.monotonic() - started
        out.seek(0)
        said.seek(0)
        text = out.read()
        if process.returncode:
            raise SystemExit(f"{command[0]}: {said.read()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return text, f"{wall:8.1f} s wall {cpu:8.1f} s CPU {peak >> 10:6} MiB anon"


def resident(pid: int) -> int:
    """Returns the KiB of a process that no file backs; 0 without /proc."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--count", type=float, default=1e6)
    parse.add_argument("--crawl", default=str(HERE.parent.parent / "target/release/crawl"))
    parse.add_argument("--engines", nargs="+", default=["binary", "wheel", "datafusion"])
    parse.add_argument("--memory", default="2GiB")
    parse.add_argument("--master", default="local[2]")
    parse.add_argument("--folder", help="for input and output; default a temporary one")
    given = parse.parse_args()
    count = int(given.count)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        values = planted(count)
        values.tofile(folder / "values")
        np.savetxt(folder / "decimals", values, fmt="%d")
        urls = [f"http://h{number % 1000}.example/{number}" for number in range(count)]
        table = pa.table({"url": urls, "fingerprint": values.view(np.int64)})
        pq.write_table(table, folder / "in.parquet", compression="lz4")
        del urls, table, values
        found = {}

        def batch(engine: str, command: list[str], environment: dict[str, str]) -> None:
            places = ["--input", f"{folder}/in.parquet", "--output", f"{folder}/{engine}"]
            text, took = measure([*command, *places], environment)
            summary = json.loads([row for row in text.splitlines() if row.startswith("{")][-1])
            found[engine] = summary["pairs"]
            print(f"{engine:14} {took}  {summary}", flush=True)

        def binary() -> None:
            for what in ("find-all", "find-clusters"):
                places = ["--input", f"{folder}/decimals", "--output", f"{folder}/{what}"]
                _, took = measure([given.crawl, what, *places])
                with (folder / what).open("rb") as lines:
                    rows = sum(1 for _ in lines)
                print(f"{what:14} {took}  {rows} rows", flush=True)
                if what == "find-all":
                    found["binary"] = rows

        def wheel() -> None:
            text, took = measure([sys.executable, "-c", WHEEL, f"{folder}/values"])
            found["wheel"] = int(text)
            print(f"{'wheel':14} {took}  {int(text)} pairs", flush=True)

        def spark() -> None:
            import pyspark

            home = Path(pyspark.__file__).parent
            command = [
                str(home / "bin" / "spark-submit"),
                *("--master", given.master, "--driver-memory", "2g"),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=8"),
                *("--conf", "spark.driver.host=127.0.0.1"),
                str(HERE.parent / "job.py"),
            ]
            own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
            batch("spark", command, {**os.environ, **own})

        def datafusion() -> None:
            command = [sys.executable, "-m", "hapax.batch", "--memory", given.memory]
            batch("datafusion", command, dict(os.environ))

        works: dict[str, Callable[[], None]] = {
            "binary": binary,
            "wheel": wheel,
            "datafusion": datafusion,
            "spark": spark,
        }
        for engine in given.engines:
            works[engine]()
        if len(set(found.values())) > 1:
            raise SystemExit(f"the pairs differ: {found}")


if __name__ == "__main__":
    main()

"""The command line of the job."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

from hapax.batch.components import RoundsExceeded
from hapax.batch.engine import OUTPUTS, WORK, Engine
from hapax.batch.inputs import check_apart, check_kept
from hapax.batch.job import Options, run

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

INPUT = """\
input:   Parquet with a column url and one of fingerprint (BIGINT), html, text; or WARC (.warc, .warc.gz).
output:  OUTPUT/pages  url, fingerprint, cluster, survivor, distance: one row a page
         OUTPUT/pairs  a, b, distance: near pairs, the smaller unsigned fingerprint first
All numbers are BIGINT; fingerprints are the unsigned numbers' bits. A cluster is named by its least
fingerprint (as BIGINT). Of a cluster the page survives whose URL is https, no version for printers or
phones, has few parameters, a short path, and is the first by its letters; distance is that of a page's
fingerprint to its survivor's. Pages without text have no fingerprint and no cluster.
"""


def size(text: str) -> int:
    """Parses a size in bytes, with or without a unit. Raises ``ValueError``."""
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def parser(engine: str) -> argparse.ArgumentParser:
    """Returns the parser of the command line; ``engine`` is the default engine."""
    parse = argparse.ArgumentParser(
        prog="python -m hapax.batch",
        description=__doc__,
        epilog=INPUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parse.add_argument
    add("--input", nargs="+", required=True, help="files, folders, patterns, or URIs")
    add("--output", required=True, help="a folder, or a URI for Spark")
    add("--engine", choices=("datafusion", "spark"), default=engine, help=f"default {engine}")
    add("--distance", type=int, default=3, help="largest Hamming distance, 0 to 7 (default 3)")
    add("--blocks", type=int, default=0, help="blocks of the 64 bits (default: distance + 2)")
    add("--recipe", help="what fingerprints are made of, as in crawl fingerprint")
    add("--max-rounds", type=int, default=40, help="bound of the components (default 40)")
    add("--work", help=f"{WORK} in it is for what is written on the way (default OUTPUT)")
    add("--memory", type=size, default=2 << 30, help="of DataFusion's joins (default 2GiB)")
    add("--partitions", type=int, help="of DataFusion (default: one a core)")
    add("--overwrite", action="store_true", help="remove pages and pairs of an earlier run")
    add("--quiet", action="store_true", help="no steps on stderr")
    return parse


def main(arguments: Sequence[str] | None = None, engine: str = "datafusion") -> int:
    """Runs the job. Returns the exit code: 0, 1 for bad input, or 2 if it could not finish. Raises
    ``SystemExit`` with 2 for an invalid command line."""
    parse = parser(engine)
    given = parse.parse_args(arguments)
    options = Options(given.distance, given.blocks, given.recipe, given.max_rounds)
    output = given.output.rstrip("/") or "/"
    work = (given.work or output).rstrip("/") or "/"

    def progress(step: str) -> None:
        if not given.quiet:
            print(f"{step} ...", file=sys.stderr, flush=True)

    opened: Engine | None = None
    try:
        options.masks()
        check_apart(given.input, output)
        check_apart(given.input, work)
        opened = _open(given, output, work)
        summary = run(opened, given.input, options, progress)
    except (ValueError, FileExistsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except RoundsExceeded as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        # DataFusion's wheel raises plain exceptions.
        if "Resources exhausted" not in str(error):
            raise
        print(f"error: give more --memory or fewer --partitions: {error}", file=sys.stderr)
        return 2
    finally:
        if opened is not None:
            opened.close()
    print(json.dumps(asdict(summary)))
    return 0


def _open(given: argparse.Namespace, output: str, work: str) -> Engine:
    if given.engine == "spark":
        from pyspark.sql import SparkSession

        from hapax.batch import engine_spark

        spark = SparkSession.builder.appName("hapax").getOrCreate()
        _clear(
            given,
            output,
            work,
            exists=partial(engine_spark.exists, spark),
            is_output=partial(engine_spark.is_output, spark),
            remove=partial(engine_spark.remove, spark),
        )
        return engine_spark.SparkEngine(spark, output, work)
    from hapax.batch import engine_datafusion

    _clear(
        given,
        output,
        work,
        exists=os.path.lexists,
        is_output=engine_datafusion.is_output,
        remove=shutil.rmtree,
    )
    return engine_datafusion.DataFusionEngine(
        output, work, memory=given.memory, partitions=given.partitions
    )


def _clear(
    given: argparse.Namespace,
    output: str,
    work: str,
    *,
    exists: Callable[[str], bool],
    is_output: Callable[[str], bool],
    remove: Callable[[str], None],
) -> None:
    """Removes the output of an earlier run. Raises ``FileExistsError`` without ``--overwrite``, and if a
    folder has other files; then nothing is removed."""
    places = [f"{output}/{name}" for name in OUTPUTS]
    there = [place for place in (*places, f"{work}/{WORK}") if exists(place)]
    if there and not given.overwrite:
        raise FileExistsError(f"{there[0]} is there already: give --overwrite")
    check_kept(given.input, there)
    for place in there:
        if place in places and not is_output(place):
            raise FileExistsError(f"{place} is not what an earlier run wrote: it is left as it is")
    for place in there:
        remove(place)


if __name__ == "__main__":
    sys.exit(main())

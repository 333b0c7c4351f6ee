"""The batch job on Spark: a real master and two workers on loopback, from pyspark's wheel."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from batch_checks import check_fingerprints, check_pages, fingerprint_input, page_input, warc_input
from hapax.batch import __main__ as command

HERE = Path(__file__).resolve().parent
NEEDED = os.environ.get("CI") == "true"


def home() -> Path:
    try:
        import pyspark
    except ImportError:
        missing("pyspark")
    return Path(pyspark.__file__).parent


def missing(what: str) -> None:
    if NEEDED:
        pytest.fail(f"{what} is missing, and CI=true")
    pytest.skip(f"SPARK IS NOT TESTED: {what} is missing")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "512m",
        # These processes are too short-lived for the second compiler.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster of two workers with one core each."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Java")
    folder = tmp_path_factory.mktemp("spark")
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    command = [str(home() / "bin" / "spark-class"), "org.apache.spark.deploy."]
    local = ["--host", "127.0.0.1"]
    running = []

    def start(name: str, *arguments: str) -> None:
        log = (folder / f"{len(running)}.log").open("w")
        whole = [command[0], f"{command[1]}{name}", *local, *arguments]
        running.append(
            subprocess.Popen(whole, stdout=log, stderr=log, env=environment(), cwd=folder)
        )

    try:
        start("master.Master", "--port", str(port), "--webui-port", str(free_port()))
        for number in range(2):
            place = ["--work-dir", str(folder / f"worker-{number}")]
            web = ["--webui-port", str(free_port())]
            start("worker.Worker", "--cores", "1", "--memory", "1g", *place, *web, address)
        until = time.monotonic() + 120
        while (folder / "0.log").read_text().count("Registering worker") < 2:
            assert time.monotonic() < until, (folder / "0.log").read_text()
            assert all(process.poll() is None for process in running)
            time.sleep(0.2)
        yield address
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def submit(master: str, *arguments: object, code: int = 0) -> str:
    command = [
        str(home() / "bin" / "spark-submit"),
        *("--master", master, "--driver-memory", "1g", "--executor-memory", "900m"),
        *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.cores.max=2"),
        str(HERE.parent / "job.py"),
        *map(str, arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=500)
    assert done.returncode == code, done.stderr[-4000:]
    # spark-submit passes the program's stderr to stdout.
    return done.stdout


def test_a_cluster_finds_what_one_machine_finds(master: str, tmp_path: Path, request) -> None:
    # With ANSI rules, Spark's default, an overflow would end the job.
    values = fingerprint_input(tmp_path / "in.parquet", 10_000, chain=6)
    out = submit(master, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out")
    run_binary = request.getfixturevalue("run_binary") if os.environ.get("CRAWL_BINARY") else None
    check_fingerprints(values, tmp_path / "out", 3, run_binary)
    summary = json.loads(out.splitlines()[-1])
    assert summary["pages"] == len(values) and summary["rounds"] >= 2
    assert not (tmp_path / "out" / "hapax-work").exists()
    again = ("--input", tmp_path / "in.parquet", "--output", tmp_path / "out")
    assert "is there already" in submit("local[1]", *again, code=1)
    (tmp_path / "out" / "pages" / "notes").write_text("mine")
    said = submit("local[1]", *again, "--overwrite", code=1)
    assert "pages is not what an earlier run wrote" in said
    assert (tmp_path / "out" / "pairs" / "_SUCCESS").exists()


def test_pages_and_archives_are_read_on_the_workers(master: str, tmp_path: Path) -> None:
    page_input(tmp_path / "pages.parquet")
    warc_input(tmp_path / "a.warc.gz", packed=True)
    # The same pages twice: each URL is in its cluster twice.
    places = [tmp_path / "pages.parquet", tmp_path / "a.warc.gz"]
    from hapax.batch.engine_datafusion import is_output

    # Overwrites the output of another engine.
    earlier = ["--input", str(places[0]), "--output", str(tmp_path / "out"), "--quiet"]
    assert command.main(earlier) == 0
    (tmp_path / "mine" / "hapax-work").mkdir(parents=True)
    (tmp_path / "mine" / "notes").write_text("mine")
    options = ("--work", tmp_path / "mine", "--overwrite")
    submit(master, "--input", *places, "--output", tmp_path / "out", *options)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
    assert all(is_output(str(tmp_path / "out" / name)) for name in ("pages", "pairs"))
    check_pages(tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "pages").num_rows == 7 + 7 + 2

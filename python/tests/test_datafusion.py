"""The batch job on DataFusion."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hapax
from batch_checks import (
    check_fingerprints,
    check_pages,
    fingerprint_input,
    page_input,
    record,
    warc_input,
)
from conftest import article, page
from hapax.batch import RoundsExceeded, fingerprint_table
from hapax.batch import __main__ as command
from hapax.batch.columns import fingerprint_batch
from hapax.batch.inputs import check_kept, read_warcs
from hapax.warc import responses

pytest.importorskip("datafusion")

from hapax.batch.engine_datafusion import DataFusionEngine


def run(*arguments: object) -> int:
    return command.main([*map(str, arguments), "--quiet"])


@pytest.mark.parametrize("distance", [0, 1, 3, 5, 7])
def test_pairs_and_clusters_are_those_of_the_set(distance: int, tmp_path: Path, capsys) -> None:
    (tmp_path / "in").mkdir()
    values = fingerprint_input(tmp_path / "in" / "some.parquet", 5000)
    places = ("--input", tmp_path / "in", "--output", tmp_path / "out")
    assert run(*places, "--distance", distance) == 0
    check_fingerprints(values, tmp_path / "out", distance)
    summary = json.loads(capsys.readouterr().out)
    assert summary["pages"] == len(values)
    assert not (tmp_path / "out" / "hapax-work").exists()


def test_the_binary_says_the_same(run_binary, tmp_path: Path) -> None:
    values = fingerprint_input(tmp_path / "in.parquet", 30_000)
    assert run("--input", tmp_path / "*.parquet", "--output", tmp_path / "out") == 0
    check_fingerprints(values, tmp_path / "out", 3, run_binary)


def test_a_small_pool_of_memory_is_enough(tmp_path: Path) -> None:
    values = fingerprint_input(tmp_path / "in.parquet", 200_000)
    options = ("--memory", "100MiB", "--partitions", 1)
    assert run("--input", tmp_path / "in.parquet", "--output", tmp_path / "out", *options) == 0
    check_fingerprints(values, tmp_path / "out", 3)


def test_too_small_a_pool_is_said(tmp_path: Path, capsys) -> None:
    fingerprint_input(tmp_path / "in.parquet", 50_000)
    places = ("--input", tmp_path / "in.parquet", "--output", tmp_path / "out")
    assert run(*places, "--memory", "1MiB") == 2
    assert "--memory" in capsys.readouterr().err
    assert not (tmp_path / "out" / "hapax-work").exists()


def test_pages_are_read_and_the_better_address_survives(tmp_path: Path) -> None:
    page_input(tmp_path / "in.parquet")
    assert run("--input", tmp_path / "in.parquet", "--output", tmp_path / "out") == 0
    check_pages(tmp_path / "out")


def test_warc_files_are_read(tmp_path: Path) -> None:
    warc_input(tmp_path / "a.warc.gz", packed=True)
    assert run("--input", tmp_path / "a.warc.gz", "--output", tmp_path / "out") == 0
    check_pages(tmp_path / "out", with_empty=False)


def test_archives_of_a_crawl_are_read(run_binary, tmp_path: Path) -> None:
    warc_input(tmp_path / "a.warc", packed=False)
    run_binary("pages", tmp_path / "a.warc", "--data", tmp_path / "data")
    archives = sorted((tmp_path / "data" / "pages").glob("*.warc.gz"))
    urls = set()
    for path in archives:
        with path.open("rb") as stream:
            for response in responses(stream):
                urls.add(response.url)
                assert response.status == 200 and response.body
    with (tmp_path / "a.warc").open("rb") as stream:
        given = {response.url for response in responses(stream) if response.status == 200}
    # The body of an exact duplicate is stored once.
    assert urls <= given and len(urls) >= 4


def test_long_chains_are_one_cluster_and_rounds_are_bounded(tmp_path: Path) -> None:
    chain, value = [], 0x0123_4567_89AB_CDEF
    for step in range(2000):
        value ^= (0b111 << (step * 5 % 61)) & ((1 << 64) - 1)
        chain.append(value)
    urls = [f"http://h/{number}" for number in range(len(chain))]
    table = pa.table({"url": urls, "fingerprint": np.array(chain, np.uint64)})
    pq.write_table(table, tmp_path / "in.parquet")
    arguments = ("--input", tmp_path / "in.parquet", "--output", tmp_path / "out")
    assert run(*arguments, "--max-rounds", 0) == 2
    assert not (tmp_path / "out" / "pages").exists()
    assert run(*arguments) == 0
    check_fingerprints(chain, tmp_path / "out", 3)
    assert issubclass(RoundsExceeded, RuntimeError)


def test_what_is_wrong_is_said(tmp_path: Path, capsys) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    fingerprint_input(good, 10)
    pq.write_table(pa.table({"url": ["a"]}), bad)
    assert run("--input", bad, "--output", tmp_path / "out") == 1
    assert "bad.parquet" in (said := capsys.readouterr().err) and "html" in said
    pq.write_table(pa.table({"url": ["a"], "fingerprint": [1.5]}), bad)
    assert run("--input", bad, "--output", tmp_path / "out") == 1
    assert "BIGINT" in capsys.readouterr().err
    pq.write_table(pa.table({"url": ["a", None], "fingerprint": [1, 2]}), bad)
    assert run("--input", bad, "--output", tmp_path / "out") == 1
    assert "row 1" in capsys.readouterr().err
    assert run("--input", tmp_path, "--output", tmp_path / "out") == 1
    assert "lies in the input" in capsys.readouterr().err
    assert run("--input", tmp_path / "none", "--output", tmp_path / "out") == 1
    for options in (("--distance", 8), ("--blocks", 3), ("--recipe", "x")):
        assert run("--input", good, "--output", tmp_path / "o", *options) in (0, 1)
    assert run("--input", good, "--output", tmp_path / "o", "--distance", 8) == 1
    assert run("--input", good, "--output", tmp_path / "done") == 0
    assert run("--input", good, "--output", tmp_path / "done") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert run("--input", good, "--output", tmp_path / "done", "--overwrite") == 0


def test_a_wrong_command_line_ends_with_2(tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--input", tmp_path)
    assert ended.value.code == 2 and "--output" in capsys.readouterr().err
    assert "2 for an invalid command line" in " ".join((command.main.__doc__ or "").split())


def test_overwriting_removes_only_what_a_run_wrote(tmp_path: Path, capsys) -> None:
    given, out, work = tmp_path / "in.parquet", tmp_path / "out", tmp_path / "mine"
    fingerprint_input(given, 10)
    work.mkdir()
    (work / "notes").write_text("mine")
    places = ("--input", given, "--output", out, "--work", work)
    assert run(*places) == 0
    assert run(*places, "--overwrite") == 0
    # Remains of killed runs.
    (work / "hapax-work" / "pages").mkdir(parents=True)
    (out / "pages" / "0.parquet").write_bytes(b"PAR1")
    assert run(*places) == 1
    assert run(*places, "--overwrite") == 0
    engine = DataFusionEngine(str(out), str(work))
    engine.close()
    assert [path.name for path in work.iterdir()] == ["notes"]
    assert sorted(path.name for path in out.iterdir()) == ["pages", "pairs"]

    def refused(output: Path, *options: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert run("--input", given, "--output", output, *options, "--overwrite") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return capsys.readouterr().err

    (out / "pages" / "a.warc.gz").write_bytes(b"")
    assert "pages is not what an earlier run wrote" in refused(out)
    for number, columns in enumerate((["url", "html"], ["a", "b", "distance"])):
        theirs = tmp_path / f"theirs-{number}" / "pages"
        theirs.mkdir(parents=True)
        pq.write_table(pa.table({name: ["x"] for name in columns}), theirs / "part-0.parquet")
        assert "pages is not what an earlier run wrote" in refused(theirs.parent)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "pairs").symlink_to(out / "pairs")
    assert "pairs is not what an earlier run wrote" in refused(linked)


def test_the_input_is_not_removed(tmp_path: Path, capsys) -> None:
    given, out = tmp_path / "in.parquet", tmp_path / "out"
    fingerprint_input(given, 10)
    assert run("--input", given, "--output", out) == 0
    for places in ("pages", "pages/*.parquet", "*/0.parquet"):
        assert run("--input", out / places, "--output", out, "--overwrite") == 1
        assert "is to be removed" in capsys.readouterr().err
    check_kept(["s3://b/other/pages/x.parquet"], ["s3://b/pages"])
    with pytest.raises(ValueError, match="to be removed"):
        check_kept(["s3://b/pages/x.parquet"], ["s3://b/pages"])
    inside = ("--input", out / "pages", "--output", tmp_path / "o", "--work", out / "pages")
    assert run(*inside) == 1
    assert "lies in the input" in capsys.readouterr().err


def test_images_are_resolved_against_the_address(tmp_path: Path) -> None:
    recipe, url = "content-words-images-6", "http://h.example/dir/page"
    html = page("The river", article(1, 5), "<img src=a.png>", "<img src=b.png>")
    expected = hapax.extract(html, url=url, recipe=recipe).fingerprint
    elsewhere = hapax.fingerprint(html, recipe=recipe)
    assert elsewhere != expected
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html.encode()
    archive = record("response", url, answer) + record("response", "no url", answer)
    (tmp_path / "a.warc").write_bytes(archive)
    (batch,) = read_warcs([str(tmp_path / "a.warc")], recipe)
    found = hapax.to_unsigned(batch.column("fingerprint")).tolist()
    assert found == [expected, elsewhere]
    # The same page in a table has the same fingerprint.
    table = pa.table({"url": ["x", url, url], "html": ["", html, html]})
    batch = fingerprint_batch(table.to_batches()[0].slice(1), recipe=recipe)
    assert hapax.to_unsigned(batch.column("fingerprint")).tolist() == [expected, expected]
    pieces = pa.concat_tables([table[1:], table[2:]])
    found = fingerprint_table(pieces, recipe=recipe).column("fingerprint")
    assert hapax.to_unsigned(found).tolist() == [expected] * 3
    found = fingerprint_table(table.drop_columns(["url"])[1:], recipe=recipe).column("fingerprint")
    assert hapax.to_unsigned(found).tolist() == [elsewhere] * 2


def test_nothing_is_no_error(tmp_path: Path) -> None:
    empty = pa.table({"url": pa.array([], pa.string()), "text": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "in.parquet")
    assert run("--input", tmp_path / "in.parquet", "--output", tmp_path / "out") == 0
    names = pq.read_table(tmp_path / "out" / "pages").schema.names
    assert names == ["url", "fingerprint", "cluster", "survivor", "distance"]


def test_functions_on_batches() -> None:
    table = pa.table({"url": ["http://a/", "http://b/"], "text": ["the long river", ""]})
    found = fingerprint_table(table).column("fingerprint")
    assert found.null_count == 1
    assert hapax.to_unsigned(found[:1])[0] == hapax.fingerprint("the long river")
    batch = fingerprint_batch(table.to_batches()[0].slice(1))
    assert batch.column("url").to_pylist() == ["http://b/"]


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    warc_input(path, packed=False)
    whole = path.read_bytes()
    packed = gzip.compress(whole)
    for broken in (whole[:-40], b"WARC/1.1\r\n\r\n", b"nothing", packed[:-20], packed[:900]):
        (tmp_path / "b.warc").write_bytes(broken)
        with (tmp_path / "b.warc").open("rb") as stream, pytest.raises(ValueError):
            list(responses(stream))

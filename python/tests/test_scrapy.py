"""The item pipeline, in a real Scrapy against a server on loopback."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hapax
from conftest import article, page
from hapax import directory
from hapax.directory import DataDirectory

pytest.importorskip("scrapy")

SPIDER = """
import scrapy

class Pages(scrapy.Spider):
    name = "pages"
    custom_settings = {
        "ITEM_PIPELINES": {"hapax.scrapy.DuplicatesPipeline": 100},
        "FEEDS": {"kept.jsonl": {"format": "jsonlines"}},
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOAD_DELAY": 0,
    }
    def parse(self, response):
        yield {"url": response.url, "html": response.text}
        yield {"note": "no page"}
        for place, href in enumerate(response.css("a.go::attr(href)").getall()):
            yield response.follow(href, priority=-place)
"""

KEYS = (
    "time id url kind of fingerprint of_fingerprint distance threshold similarity"
    " similarity_threshold level evidence table recipe key title language host bytes shared different"
).split()


def site() -> dict[str, str]:
    links = "".join(f"<a class=go href=/{n}>{n}</a>" for n in ("1", "2", "print/1", "copy/2", "3"))
    river, wood = article(1), article(2)
    canonical = "<link rel=canonical href=/1>"
    return {
        "/": page("Home", article(9), links),
        "/1": page("The river", river),
        "/2": page("The wood", wood),
        "/print/1": page("The river", river, "<p>Printed from the paper today.</p>", canonical),
        "/copy/2": page("The wood", wood),
        "/3": page("The hill", article(3)),
    }


@pytest.fixture
def server():
    pages = site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def crawl(folder: Path, server: str) -> str:
    (folder / "spider.py").write_text(
        SPIDER.replace('name = "pages"', f'name = "pages"\n    start_urls = ["{server}/"]')
    )
    (folder / "kept.jsonl").unlink(missing_ok=True)
    command = [sys.executable, "-m", "scrapy", "runspider", "spider.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_scrapy_drops_and_logs_near_duplicates(server: str, tmp_path: Path, request) -> None:
    log = crawl(tmp_path, server)
    kept = {row["url"] for row in read(tmp_path / "kept.jsonl") if "url" in row}
    assert kept == {f"{server}/{path}" for path in ("", "1", "2", "3")}, log
    assert "'item_dropped_count': 2" in log
    assert "'hapax/canonical': 1" in log and "'hapax/exact': 1" in log
    assert "'hapax/ignored': 6" in log and "'hapax/new': 4" in log
    rows = read(tmp_path / "hapax-data" / "discarded.jsonl")
    assert [list(row) for row in rows] == [KEYS, KEYS]
    by_url = {row["url"]: row for row in rows}
    copy, printed = by_url[f"{server}/copy/2"], by_url[f"{server}/print/1"]
    assert copy["kind"] == "exact" and copy["of"]["url"] == f"{server}/2"
    assert copy["distance"] == 0 and copy["level"] == "text"
    assert printed["kind"] == "canonical" and printed["of"]["url"] == f"{server}/1"
    assert printed["similarity"] >= printed["similarity_threshold"]
    assert printed["recipe"] == hapax.RECIPE and printed["key"] == printed["url"]
    assert printed["host"] == server.removeprefix("http://")
    assert printed["title"] == "The river" and printed["language"] == "en"
    assert printed["shared"] and any("printed" in words for words in printed["different"])
    html = site()["/print/1"]
    assert printed["bytes"] == len(html.encode())
    assert printed["fingerprint"] == f"{hapax.fingerprint(html):016x}"

    # A second run knows the pages: it keeps the same ones and logs nothing.
    crawl(tmp_path, server)
    again = {row["url"] for row in read(tmp_path / "kept.jsonl") if "url" in row}
    assert again == kept
    assert read(tmp_path / "hapax-data" / "discarded.jsonl") == rows

    if os.environ.get("CRAWL_BINARY"):
        run = request.getfixturevalue("run_binary")
        data = tmp_path / "hapax-data"
        shown = run("duplicates", "list", "--json", "--data", data).splitlines()
        assert {json.loads(line)["url"] for line in shown} == set(by_url)
        assert "print/1" in run("duplicates", "show", printed["id"], "--data", data)
        run("check", "--data", data)


def test_lines_that_no_commit_covers_are_cut_off(tmp_path: Path) -> None:
    text = article(1)
    code = (
        "import os, sys, hapax\n"
        "from hapax.directory import DataDirectory\n"
        "data = DataDirectory(sys.argv[1])\n"
        "offer = lambda n, text: data.offer(hapax.extract_plain(text, url=f'http://h/{n}'))\n"
        "offer(1, sys.argv[2]); offer(2, sys.argv[2]); data.commit(); offer(3, sys.argv[2])\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path, text], timeout=60)
    assert done.returncode == 9
    log = tmp_path / "discarded.jsonl"
    assert [row["url"] for row in read(log)] == ["http://h/2", "http://h/3"]
    with log.open("a") as file:
        file.write('{"half": ')
    data = DataDirectory(tmp_path)
    try:
        assert [row["url"] for row in read(log)] == ["http://h/2"]
        with pytest.raises(hapax.LockedError):
            DataDirectory(tmp_path)
        verdict, line = data.offer(hapax.extract_plain(text, url="http://h/3"), key="three")
        assert verdict.is_duplicate and line["key"] == "three"
        assert line["of"] == {"id": 0, "url": "http://h/1"} and line["shared"] == []
        verdict, line = data.offer(hapax.extract_plain(text, url="http://h/2"))
        assert verdict.kind == "known" and line is None
        assert data.duplicate_of(verdict) == "http://h/1"
    finally:
        data.close()
    assert [row["url"] for row in read(log)] == ["http://h/2", "http://h/3"]


def test_a_log_that_the_store_knows_nothing_of_is_kept(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    for number in (1, 2):
        data.offer(hapax.extract_plain(article(1), url=f"http://h/{number}"))
    data.close()
    log = tmp_path / "discarded.jsonl"
    whole = log.read_bytes()
    shutil.rmtree(tmp_path / "dedup")
    for _ in range(2):
        with pytest.raises(hapax.DamagedError, match=r"MANIFEST is missing, and .*discarded\.jsonl"):
            DataDirectory(tmp_path)
        assert log.read_bytes() == whole != b""
        assert not (tmp_path / "dedup").exists(), "nothing is made that others take for the store"


def test_a_crash_before_the_first_commit_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import os, sys, hapax\n"
        "from hapax.directory import DataDirectory\n"
        "data = DataDirectory(sys.argv[1])\n"
        "for n in range(2): data.offer(hapax.extract_plain(sys.argv[2], url=f'http://h/{n}'))\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path, article(1)], timeout=60)
    assert done.returncode == 9
    assert len(read(tmp_path / "discarded.jsonl")) == 1
    DataDirectory(tmp_path).close()
    assert read(tmp_path / "discarded.jsonl") == []


def test_a_log_has_two_writers(tmp_path: Path, run_binary: Any) -> None:
    data = tmp_path / "data"
    log = data / "discarded.jsonl"

    def offer_from_python(*numbers: int) -> None:
        directory = DataDirectory(data)
        for number in numbers:
            directory.offer(hapax.extract_plain(article(1), url=f"http://h/{number}"))
        directory.close()

    def offer_from_binary(number: int) -> None:
        line = json.dumps({"id": f"http://h/{number}", "text": article(1)})
        run_binary("dedup", "--data", data, stdin=line + "\n")

    offer_from_python(1, 2)
    offer_from_binary(3)
    offer_from_python(4)
    run_binary("check", "--data", data)
    offer_from_binary(5)
    run_binary("check", "--data", data)
    assert len(read(log)) == 4
    # An earlier version stored no checksum; then only lengths are checked.
    with hapax.Store(data / "dedup") as store:
        position = json.loads(store.payload)
        assert position["discarded_sum"] == zlib.crc32(log.read_bytes())
        del position["discarded_sum"]
        store.commit(json.dumps(position).encode())
    offer_from_python(6)
    run_binary("check", "--data", data)
    with hapax.Store(data / "dedup") as store:
        assert json.loads(store.payload)["discarded_sum"] is None


def test_a_log_that_lost_its_end_is_damage(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    for number in (1, 2):
        data.offer(hapax.extract_plain(article(1), url=f"http://h/{number}"))
    data.close()
    log = tmp_path / "discarded.jsonl"
    left = log.read_bytes()[:-1]
    log.write_bytes(left)
    with pytest.raises(hapax.DamagedError, match="bytes that were committed are there"):
        DataDirectory(tmp_path)
    assert log.read_bytes() == left
    log.unlink()
    with pytest.raises(hapax.DamagedError, match="0 of "):
        DataDirectory(tmp_path)
    assert not log.exists(), "an empty one would look as if it had been cut"


@pytest.mark.parametrize("length", ['"7"', "-1", "true", "1.5", "null"])
def test_a_committed_length_is_a_number(tmp_path: Path, length: str) -> None:
    with hapax.Store(tmp_path / "dedup") as store:
        store.commit(f'{{"discarded": {length}}}'.encode())
    (tmp_path / "discarded.jsonl").write_bytes(b"{}\n")
    with pytest.raises(hapax.DamagedError, match="committed length"):
        DataDirectory(tmp_path)
    assert (tmp_path / "discarded.jsonl").read_bytes() == b"{}\n"


def test_keys_of_a_crawl_survive_a_commit(tmp_path: Path) -> None:
    with hapax.Store(tmp_path / "dedup") as store:
        store.commit(b'{"warc_length": 77, "discarded": 0}')
    data = DataDirectory(tmp_path)
    data.offer(hapax.extract_plain(article(1), url="http://h/1"))
    data.close()
    with hapax.Store(tmp_path / "dedup") as store:
        assert json.loads(store.payload) == {
            "warc_length": 77,
            "discarded": 0,
            "discarded_sum": 0,
        }


class FullDisk:
    """A file whose disk is full after half a line."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data[: len(data) // 2])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_line_that_cannot_be_written_is_undone(tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)

    def offer(number: int) -> Any:
        return data.offer(hapax.extract_plain(article(1), url=f"http://h/{number}"))

    offer(1), offer(2)
    data.commit()
    log = tmp_path / "discarded.jsonl"
    whole = log.read_bytes()
    data._log._file = FullDisk(data._log._file)
    with pytest.raises(hapax.HapaxError, match=r"No space left.*discarded\.jsonl"):
        offer(3)
    data._log._file = data._log._file._file
    assert log.read_bytes() == whole
    for call in (data.commit, lambda: offer(4), data.close):
        with pytest.raises(hapax.HapaxError, match="nothing is committed any more"):
            call()
    assert log.read_bytes() == whole
    data = DataDirectory(tmp_path)
    verdict, line = offer(3)
    assert verdict.is_duplicate and line is not None
    data.close()
    assert [row["url"] for row in read(log)] == ["http://h/2", "http://h/3"]


def test_the_cache_of_texts_counts_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "CACHE_BYTES", 3000)
    texts = directory._Texts()
    texts.put(1, "天" * 1000)
    texts.put(2, "天" * 1000)
    assert texts.get(1) is None and texts.get(2) is not None


@pytest.fixture
def pipeline(tmp_path: Path) -> Any:
    from scrapy.settings import Settings

    from hapax.scrapy import DuplicatesPipeline

    settings = Settings({"HAPAX_DATA": str(tmp_path / "data")})
    crawler: Any = SimpleNamespace(settings=settings, stats=None)
    return DuplicatesPipeline(crawler)


def test_a_text_may_be_bytes(pipeline: Any) -> None:
    from scrapy.exceptions import DropItem

    text = "Élan vital, ça va très bien à l'été. " + article(1)
    pipeline.open_spider()
    try:
        item = {"url": "http://h/1", "text": text}
        assert pipeline.process_item(item) == item
        for number, content in enumerate((text.encode(), bytearray(text.encode())), 2):
            with pytest.raises(DropItem):
                pipeline.process_item({"url": f"http://h/{number}", "text": content})
    finally:
        pipeline.close_spider()
    rows = read(Path(pipeline.path) / "discarded.jsonl")
    assert [row["fingerprint"] for row in rows] == [f"{hapax.fingerprint(text):016x}"] * 2
    assert [row["kind"] for row in rows] == ["exact", "exact"]


def test_a_directory_of_an_earlier_recipe_goes_on(pipeline: Any) -> None:
    from scrapy.exceptions import DropItem

    former = "content-words-tf-5"
    assert former != hapax.RECIPE
    with DataDirectory(pipeline.path, recipe=former).store as store:
        store.offer("http://h/1", article(1))
    pipeline.open_spider()
    try:
        assert pipeline.process_item({"url": "http://h/2", "text": article(2)})
        with pytest.raises(DropItem):
            pipeline.process_item({"url": "http://h/3", "text": article(1) + " The end."})
    finally:
        pipeline.close_spider()
    (row,) = read(Path(pipeline.path) / "discarded.jsonl")
    assert (row["recipe"], row["evidence"]) == (former, "text")


def test_commits_that_fail_are_said(
    pipeline: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(data: DataDirectory) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DataDirectory, "commit", fail)
        pipeline.open_spider()
        # The reactor makes the same call.
        pipeline._timer()
    assert "a commit failed: [Errno 28] No space left" in caplog.text
    with pytest.raises(hapax.HapaxError, match="a commit failed"):
        pipeline.close_spider()
    # The directory was closed nevertheless.
    DataDirectory(pipeline.path).close()

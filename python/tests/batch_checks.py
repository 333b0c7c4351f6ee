"""Inputs of the batch job, and checks of its output."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hapax
from conftest import article, lines, page, planted


def fingerprint_input(path: Path, count: int, chain: int = 100) -> list[int]:
    """Planted fingerprints, some of several pages, and some at the limits of signed numbers."""
    values = planted(count, chain=chain)
    values += [*values[:20], 0, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 1, (1 << 63) + 1]
    urls = [f"http://h{number % 7}.example/{number}" for number in range(len(values))]
    signed = hapax.to_signed(values)
    pq.write_table(pa.table({"url": urls, "fingerprint": signed}), path)
    return values


def check_fingerprints(values: list[int], output: Path, distance: int, run_binary=None) -> None:
    """Checks pairs and clusters against the whole set, and against the binary if available."""
    pairs = pq.read_table(output / "pairs")
    a, b = (hapax.to_unsigned(pairs.column(name)).tolist() for name in "ab")
    found = sorted(zip(a, b, strict=True))
    clusters = defaultdict(list)
    pages = pq.read_table(output / "pages")
    assert pages.schema.names == ["url", "fingerprint", "cluster", "survivor", "distance"]
    assert [str(kind) for kind in pages.schema.types[1:3]] == ["int64", "int64"]
    assert pages.num_rows == len(values)
    fingerprints = hapax.to_unsigned(pages.column("fingerprint")).tolist()
    names = pages.column("cluster").to_pylist()
    survivors = pages.column("survivor").to_pylist()
    by_url = dict(zip(pages.column("url").to_pylist(), fingerprints, strict=True))
    of_cluster = defaultdict(set)
    for bits, name, survivor in zip(fingerprints, names, survivors, strict=True):
        clusters[name].append(bits)
        of_cluster[name].add(survivor)
    assert all(len(survivors) == 1 for survivors in of_cluster.values())
    for name, members in clusters.items():
        assert name == min(hapax.to_signed(members))
    bits = [(x ^ by_url[s]).bit_count() for x, s in zip(fingerprints, survivors, strict=True)]
    assert pages.column("distance").to_pylist() == bits
    grouped = sorted(sorted(members) for members in clusters.values() if len(members) > 1)

    expected = hapax.find_all(values, distance=distance)
    assert found == list(zip(expected.a.tolist(), expected.b.tolist(), strict=True))
    by_pair = dict(zip(zip(a, b, strict=True), pairs.column("distance").to_pylist(), strict=True))
    assert all((x ^ y).bit_count() == bits for (x, y), bits in by_pair.items())
    assert grouped == [c.tolist() for c in hapax.find_clusters(values, distance=distance)]
    if run_binary is not None:
        text = lines(values)
        answer = run_binary("find-all", "--distance", distance, stdin=text).splitlines()
        assert [list(pair) for pair in found] == [json.loads(line) for line in answer]
        answer = run_binary("find-clusters", "--distance", distance, stdin=text).splitlines()
        assert grouped == [json.loads(line) for line in answer]


RIVER, WOOD = article(1, 60), article(2, 60)
PAGES = {
    "http://m.a.example/river": page("The river", RIVER),
    "http://a.example/river?session=12": page("The river", RIVER),
    "https://a.example/a/longer/path/river": page("The river", RIVER),
    "https://a.example/river": page("The river", RIVER, "<footer>Printed today</footer>"),
    "http://b.example/wood": page("The wood", WOOD),
    "http://c.example/wood": page("The wood", WOOD.upper()),
    "http://d.example/hill": page("The hill", article(3, 60)),
}
EMPTY = {"http://d.example/": "", "http://e.example/": "<p>"}


def page_input(path: Path) -> None:
    pages = {**PAGES, **EMPTY}
    urls, html = list(pages), list(pages.values())
    other = np.zeros(len(urls))
    pq.write_table(pa.table({"url": urls, "html": html, "other": other}), path, row_group_size=4)


def check_pages(output: Path, with_empty: bool = True) -> None:
    rows = {row["url"]: row for row in pq.read_table(output / "pages").to_pylist()}
    assert set(rows) == set(PAGES) | (set(EMPTY) if with_empty else set())
    for url in PAGES:
        fingerprint = hapax.fingerprint(PAGES[url])
        assert hapax.to_unsigned([rows[url]["fingerprint"]])[0] == fingerprint
        kept = url
        if "river" in url:
            kept = "https://a.example/river"
        elif "wood" in url:
            kept = "http://b.example/wood"
        assert rows[url]["survivor"] == kept
        assert rows[url]["distance"] <= 3
    assert len({rows[url]["cluster"] for url in PAGES}) == 3
    for url in EMPTY if with_empty else ():
        row = {"fingerprint": None, "cluster": None, "survivor": url, "distance": None}
        assert rows[url] == {"url": url, **row}


def warc_input(path: Path, packed: bool) -> None:
    """Writes the pages as responses in several encodings, among records of other types."""
    records = [record("warcinfo", None, b"software: test\r\n")]
    for number, (url, html) in enumerate(PAGES.items()):
        body, head = html.encode(), b"Content-Type: text/html; charset=utf-8\r\n"
        if number % 4 == 1:
            body, head = gzip.compress(body), head + b"Content-Encoding: gzip\r\n"
        elif number % 4 == 2:
            body, head = zlib.compress(body), head + b"Content-Encoding: deflate\r\n"
        elif number % 4 == 3:
            parts = [body[:100], body[100:]]
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
            head += b"Transfer-Encoding: chunked\r\n"
        records.append(record("request", url, b"GET / HTTP/1.1\r\n\r\n"))
        records.append(record("response", url, b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body))
    gone = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>" + RIVER.encode()
    picture = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + b"\x89PNG" * 9
    records.append(record("response", "http://a.example/gone", gone))
    records.append(record("response", "http://a.example/picture", picture))
    path.write_bytes(b"".join(gzip.compress(r) if packed else r for r in records))


def record(kind: str, url: str | None, block: bytes) -> bytes:
    target = f"WARC-Target-URI: {url}\r\n" if url else ""
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\n{target}WARC-Date: 2026-11-20T00:00:00Z\r\n"
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"

"""Responses from WARC files."""

from __future__ import annotations

import gzip
import io
import zlib

import pytest

from batch_checks import record
from hapax import warc

LIMIT = 1 << 20


def bodies(*blocks: bytes) -> list[bytes]:
    whole = b"".join(record("response", f"http://h/{n}", block) for n, block in enumerate(blocks))
    return [response.body for response in warc.responses(io.BytesIO(whole))]


def packed(encoding: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("length", ["-1", "+5", "1_0", "٣", "", "9" * 5000])
def test_a_length_is_digits(length: str) -> None:
    whole = record("response", "http://h/", b"HTTP/1.1 200 OK\r\n\r\nbody")
    whole = whole.replace(b"Content-Length: 23", f"Content-Length: {length}".encode())
    with pytest.raises(ValueError, match="without a Content-Length"):
        list(warc.responses(io.BytesIO(whole)))


@pytest.mark.parametrize("status", ["9" * 5000, "20", "2000", "+20", "2_0", "²00"])
def test_a_status_is_three_digits(status: str) -> None:
    odd = f"HTTP/1.1 {status} OK\r\n\r\nbody".encode()
    assert bodies(odd, b"HTTP/1.1 200 OK\r\n\r\nnext") == [b"next"]


def test_encodings_are_few() -> None:
    body = b"text"
    for layers in (1, 2, 3):
        body = gzip.compress(body)
        encoding = "gzip, identity" + ", gzip" * (layers - 1)
        assert bodies(packed(encoding, body)) == ([b"text"] if layers <= 2 else [])
    assert bodies(packed("gzip" + ", gzip" * 5000, body)) == []


def test_heads_are_bounded() -> None:
    fields = b"X-Field: value\r\n"
    for endless in (fields * 5000, b"x" * (1 << 17)):
        with pytest.raises(ValueError, match="name: a head of more than 65536 bytes"):
            list(warc.responses(io.BytesIO(b"WARC/1.1\r\n" + endless), "name"))
    # A response with such a head is skipped, and the next one is read.
    start = b"HTTP/1.1 200 OK\r\n"
    assert bodies(start + fields * 5000 + b"\r\nbody", start + b"\r\nnext") == [b"next"]
    assert bodies(start + fields * 4000 + b"\r\nbody") == [b"body"]


def brotli(body: bytes) -> bytes:
    return pytest.importorskip("brotli").compress(body)


def zstd(body: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(body)


def zstd_of_unknown_size(body: bytes) -> bytes:
    packer = pytest.importorskip("zstandard").ZstdCompressor(write_content_size=False)
    return packer.compress(body)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
        ("deflate", zlib.compress),
        ("br", brotli),
        ("zstd", zstd),
        ("zstd", zstd_of_unknown_size),
    ],
)
def test_bodies_are_bounded(encoding: str, pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "MAX_BODY", LIMIT)
    most = bytes(range(256)) * (LIMIT // 256)
    assert bodies(packed(encoding, pack(most))) == [most]
    assert bodies(packed(encoding, pack(most + b"x")), packed(encoding, pack(b"x"))) == [b"x"]
    assert bodies(packed(encoding, pack(bytes(LIMIT * 50)))) == []


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstd)])
def test_all_members_of_a_body_are_read(encoding: str, pack, monkeypatch) -> None:
    parts = [b"one " * 2000, b"two", b"", b"three"]
    members = b"".join(map(pack, parts))
    assert bodies(packed(encoding, members)) == [b"".join(parts)]
    assert bodies(packed(encoding, members + b"\0\0 padding")) == [b"".join(parts)]
    monkeypatch.setattr(warc, "MAX_MEMBERS", 3)
    assert bodies(packed(encoding, members)) == []


def test_bodies_that_are_cut() -> None:
    text = " ".join(map(str, range(5000))).encode()
    (part,) = bodies(packed("gzip", gzip.compress(text)[:-2000]))
    assert part and text.startswith(part)
    for encoding, pack in (("br", brotli), ("zstd", zstd)):
        assert bodies(packed(encoding, pack(text)[:-100])) == []

"""Responses out of WARC files, gzipped or not, one after the other and in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

#: A longer record is passed over.
MAX_BLOCK = 64 << 20
#: Bytes of a line of a head.
MAX_LINE = 1 << 16
#: What a body may become when it is unpacked.
MAX_BODY = 64 << 20


class Response(NamedTuple):
    """One response."""

    url: str
    status: int
    content_type: str | None
    body: bytes


def responses(stream: IO[bytes], name: str = "WARC") -> Iterator[Response]:
    """The records of type ``response``, and a near-duplicate's ``revisit`` records that hold a whole
    response, as Hapax writes them.

    Bodies are freed of chunks and Content-Encoding; one whose encoding cannot be read is passed over.
    Raises ``ValueError`` where no record begins or one is cut.
    """
    reader: Any = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
    start = reader.read(2)
    reader = io.BufferedReader(_Again(start, reader), 1 << 18)
    if start == b"\x1f\x8b":
        # Each record is a member of its own; they are read as one file.
        reader = io.BufferedReader(gzip.GzipFile(fileobj=reader), 1 << 18)
    try:
        yield from _records(reader, name)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name}: damaged: {error}") from error


class _Again(io.RawIOBase):
    """A stream with its first bytes put back."""

    def __init__(self, start: bytes, rest: Any) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _records(reader: Any, name: str) -> Iterator[Response]:
    while True:
        line = reader.readline(MAX_LINE)
        while line in (b"\r\n", b"\n"):
            line = reader.readline(MAX_LINE)
        if not line:
            return
        if not line.startswith(b"WARC/"):
            raise ValueError(f"{name}: no record begins with {line[:20]!r}")
        head = _head(reader)
        try:
            length = int(head["content-length"])
        except (KeyError, ValueError):
            raise ValueError(f"{name}: a record without a Content-Length") from None
        kind, url = head.get("warc-type"), head.get("warc-target-uri", "").strip("<>")
        if kind not in ("response", "revisit") or length > MAX_BLOCK or not url:
            _skip(reader, length, name)
            continue
        block = reader.read(length)
        if len(block) < length:
            raise ValueError(f"{name}: a record is cut")
        response = _response(url, block)
        if response is not None and (kind == "response" or response.body):
            yield response


def _skip(reader: Any, length: int, name: str) -> None:
    while length:
        piece = reader.read(min(length, 1 << 20))
        if not piece:
            raise ValueError(f"{name}: a record is cut")
        length -= len(piece)


def _head(reader: Any) -> dict[str, str]:
    """Names in lower case; of a name that comes twice the first counts."""
    head: dict[str, str] = {}
    while True:
        line = reader.readline(MAX_LINE)
        if line in (b"\r\n", b"\n", b""):
            return head
        name, colon, value = line.partition(b":")
        if colon:
            key = name.decode("latin-1").strip().lower()
            head.setdefault(key, value.decode("utf-8", "replace").strip())


def _response(url: str, block: bytes) -> Response | None:
    stream = io.BytesIO(block)
    status = stream.readline(MAX_LINE).split(None, 2)
    if len(status) < 2 or not status[0].startswith(b"HTTP/") or not status[1].isdigit():
        return None
    head = _head(stream)
    body = stream.read()
    if "chunked" in head.get("transfer-encoding", "").lower():
        body = _chunks(body)
    decoded = _decode(body, head.get("content-encoding", "").lower())
    if decoded is None:
        return None
    return Response(url, int(status[1]), head.get("content-type"), decoded)


def _chunks(body: bytes) -> bytes:
    """The body without its chunks; some archives hold it so already."""
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at)
        try:
            size = int(body[at:end].split(b";")[0], 16) if end >= 0 else -1
        except ValueError:
            size = -1
        if size < 0:
            return b"".join(parts) if parts else body
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def _decode(body: bytes, encoding: str) -> bytes | None:
    """The body as it was before it was packed; ``None`` if that cannot be told."""
    for name in reversed([part.strip() for part in encoding.split(",") if part.strip()]):
        unpacked = _unpack(body, name)
        if unpacked is None:
            return None
        body = unpacked
    return body


def _unpack(body: bytes, name: str) -> bytes | None:
    try:
        if name in ("gzip", "x-gzip"):
            return _inflate(body, 31) if body[:2] == b"\x1f\x8b" else body
        if name == "deflate":
            try:
                return _inflate(body, 15)
            except zlib.error:
                return _inflate(body, -15)
        if name == "br":
            import brotli

            return bytes(brotli.decompress(body))
        if name == "zstd":
            import zstandard

            return bytes(zstandard.ZstdDecompressor().decompress(body, max_output_size=MAX_BODY))
        return body if name == "identity" else None
    except Exception:
        # Packed by a library that is not there, or not packed as it says.
        return None


def _inflate(body: bytes, bits: int) -> bytes | None:
    unpacker = zlib.decompressobj(bits)
    plain = unpacker.decompress(body, MAX_BODY)
    return None if unpacker.unconsumed_tail else plain

"""Reads responses from WARC files, gzipped or not, in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
#: Bytes of a record; longer ones are skipped.
MAX_BLOCK = 64 << 20
#: Bytes of a line before a head.
MAX_LINE = 1 << 16
#: Bytes of a head.
MAX_HEAD = 1 << 16
#: Bytes of a decoded body.
MAX_BODY = 64 << 20
#: Members of a gzipped body, or frames of one in zstd.
MAX_MEMBERS = 10_000
#: Nested encodings of a body, as many as a crawl decodes.
MAX_ENCODINGS = 2
#: Bytes of a body that are decompressed in one step.
PIECE = 1 << 10


class Response(NamedTuple):
    """One HTTP response with its decoded body."""

    url: str
    status: int
    content_type: str | None
    body: bytes


def responses(stream: IO[bytes], name: str = "WARC") -> Iterator[Response]:
    """Yields the ``response`` records of a WARC file, and the ``revisit`` records that contain a whole
    response, as Hapax writes them for near-duplicates. ``name`` is for error messages.

    Bodies are decoded from chunks and Content-Encoding; those with an unknown encoding are skipped.
    Raises ``ValueError`` for data that is not a record and for a truncated record.
    """
    reader: Any = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
    start = reader.read(2)
    reader = io.BufferedReader(_Again(start, reader), 1 << 18)
    if start == GZIP:
        # Each record is a gzip member; GzipFile reads them as one stream.
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
        try:
            head = _head(reader)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        # int() would accept signs, spaces and underscores.
        given = head.get("content-length", "")
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            raise ValueError(f"{name}: a record without a Content-Length")
        length = int(given)
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
    """Reads a header block: names in lower case, and the first of repeated names.

    Raises ``ValueError`` for more than :data:`MAX_HEAD` bytes.
    """
    head: dict[str, str] = {}
    left = MAX_HEAD
    while True:
        line = reader.readline(left + 1)
        left -= len(line)
        if left < 0:
            raise ValueError(f"a head of more than {MAX_HEAD} bytes")
        if line in (b"\r\n", b"\n", b""):
            return head
        name, colon, value = line.partition(b":")
        if colon:
            key = name.decode("latin-1").strip().lower()
            head.setdefault(key, value.decode("utf-8", "replace").strip())


def _response(url: str, block: bytes) -> Response | None:
    stream = io.BytesIO(block)
    status = stream.readline(MAX_LINE).split(None, 2)
    if len(status) < 2 or not status[0].startswith(b"HTTP/"):
        return None
    # int() raises an error for thousands of digits.
    if not (len(status[1]) == 3 and status[1].isdigit()):
        return None
    try:
        head = _head(stream)
    except ValueError:
        return None
    body = stream.read()
    if "chunked" in head.get("transfer-encoding", "").lower():
        body = _chunks(body)
    decoded = _decode(body, head.get("content-encoding", "").lower())
    if decoded is None:
        return None
    return Response(url, int(status[1]), head.get("content-type"), decoded)


def _chunks(body: bytes) -> bytes:
    """The body without chunked encoding, which some archives have removed already."""
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
    """The decoded body; ``None`` if it cannot be decoded."""
    parts = (part.strip() for part in encoding.split(","))
    names = [name for name in parts if name not in ("", "identity")]
    if len(names) > MAX_ENCODINGS:
        return None
    for name in reversed(names):
        unpacked = _unpack(body, name)
        if unpacked is None:
            return None
        body = unpacked
    return body


def _unpack(body: bytes, name: str) -> bytes | None:
    try:
        if name in ("gzip", "x-gzip"):
            return _inflate(body, 31, GZIP) if body[:2] == GZIP else body
        if name == "deflate":
            try:
                return _inflate(body, 15)
            except zlib.error:
                return _inflate(body, -15)
        if name == "br":
            import brotli

            unpacker = brotli.Decompressor()
            plain = unpacker.process(body, output_buffer_limit=MAX_BODY + 1)
            return bytes(plain) if unpacker.is_finished() and len(plain) <= MAX_BODY else None
        if name == "zstd":
            import zstandard

            unpacked = _members(body, zstandard.ZstdDecompressor().decompressobj, ZSTD)
            return unpacked[0] if unpacked is not None and unpacked[1] else None
        return None
    except Exception:
        # The library is missing, or the encoding is not the declared one.
        return None


def _inflate(body: bytes, bits: int, magic: bytes | None = None) -> bytes | None:
    unpacked = _members(body, lambda: zlib.decompressobj(bits), magic)
    # A truncated body is used as far as it can be decoded.
    return None if unpacked is None else unpacked[0]


def _members(
    body: bytes, opener: Callable[[], Any], magic: bytes | None
) -> tuple[bytes, bool] | None:
    """Decompresses all members that begin with ``magic``, or without it the first member. Returns the
    data and whether the last member is complete; ``None`` above the limits. Ignores trailing data."""
    parts: list[bytes] = []
    length = at = 0
    for _ in range(MAX_MEMBERS):
        unpacker = opener()
        while at < len(body) and not unpacker.eof:
            piece = body[at : at + PIECE]
            plain = unpacker.decompress(piece)
            length += len(plain)
            if length > MAX_BODY:
                return None
            parts.append(plain)
            at += len(piece) - len(unpacker.unused_data)
        if magic is None or not body.startswith(magic, at):
            return b"".join(parts), unpacker.eof
    return None

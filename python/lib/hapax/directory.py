"""A data directory in the binary's layout: ``dedup/``, ``discarded.jsonl``, and a lock.

The binary's commands read it too: ``crawl duplicates list --data DIR``.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from sys import getsizeof
from typing import IO, Any

from hapax import _hapax
from hapax._hapax import Neighbour, Page, Verdict
from hapax.errors import DamagedError, HapaxError, LockedError
from hapax.store import Store

#: Bytes of recently kept texts, from which log lines quote differences.
CACHE_BYTES = 32 << 20
#: Pages are committed in groups of this size or age, in seconds.
GROUP_PAGES = 1000
GROUP_AGE = 1.0
#: Attempts to take the lock, and seconds between them.
LOCK_TRIES = 10
LOCK_WAIT = 0.02


class DataDirectory:
    """Offers pages to a store and logs the discarded ones.

    :meth:`offer` writes a whole line before it returns. A commit syncs the log first, then the store,
    whose payload contains the log's length and checksum. After a crash the log is cut to that length, so
    no line is repeated or lacks its document.

    If a line cannot be written, the store is ahead of the log: every later call raises ``HapaxError``,
    and uncommitted pages must be offered again after the next start.
    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Opens or creates a directory; ``options`` are those of :class:`Store`. Raises ``LockedError``,
        ``DamagedError`` or another ``HapaxError``, and ``ValueError`` for bad options."""
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HapaxError(error.errno, error.strerror, str(self.path)) from error
        self._lock = _lock(self.path / "LOCK")
        try:
            _has_store(self.path)
            self.store = Store(self.path / "dedup", **options)
            self._position = _position(self.store.payload)
            length = self._position.get("discarded", 0)
            self._log = _Log(self.path / "discarded.jsonl", length, self._position.get("discarded_sum"))
        except BaseException:
            if hasattr(self, "store"):
                self.store.close()
            self._lock.close()
            raise
        self._texts = _Texts()
        self._pending = 0
        self._since = time.monotonic()
        self._broken: BaseException | None = None
        self.discarded = 0

    def offer(self, page: Page, *, key: str | None = None) -> tuple[Verdict, dict[str, Any] | None]:
        """Offers a page under ``key``, by default its URL. Returns the verdict, and the logged line if
        the page is a duplicate.

        A page that was offered before is ``known`` and gets no second line. Raises ``ValueError`` for a
        page without a URL and ``HapaxError`` if writing fails.
        """
        if page.url is None:
            raise ValueError("the page has no url: give one to extract()")
        self._check()
        now = int(time.time())
        verdict = self.store.offer(key or page.url, page, time=now)
        line = None
        if verdict.of is not None:
            try:
                line = self._line(page, key, verdict, verdict.of, now)
                self._log.append(line)
            except BaseException as error:
                self._broken = error
                raise
            self.discarded += 1
        elif verdict.is_new:
            self._texts.put(verdict.id, page.basis)
        if verdict.kind != "known":
            self._pending += 1
        if self._pending >= GROUP_PAGES or time.monotonic() - self._since >= GROUP_AGE:
            self.commit()
        return verdict, line

    def duplicate_of(self, verdict: Verdict) -> str | None:
        """Returns the key of the page that this one duplicates, now or when it was first offered, or
        ``None``. Raises ``HapaxError`` if the store fails."""
        if verdict.of is not None:
            return self._key(verdict.of.id)
        record = self.store.record(verdict.id) if verdict.kind == "known" else None
        return None if record is None or record.of is None else self._key(record.of)

    def commit(self) -> None:
        """Makes all offered pages durable. Raises ``HapaxError`` if this or an earlier write fails."""
        self._check()
        self._since = time.monotonic()
        if self._pending:
            try:
                self._position["discarded"], self._position["discarded_sum"] = self._log.sync()
            except BaseException as error:
                # After a failed fsync data may be lost, and a second fsync may succeed nevertheless.
                self._broken = error
                raise
            self.store.commit(json.dumps(self._position).encode())
            self._pending = 0

    def close(self) -> None:
        """Commits and closes. Raises ``HapaxError`` if the commit fails; the directory is closed anyway."""
        try:
            if not self.store.closed:
                self.commit()
        finally:
            self.store.close()
            self._log.close()
            self._lock.close()

    def _check(self) -> None:
        if self._broken is not None:
            raise HapaxError(
                f"{self._log.path}: could not be written, so nothing is committed any more; open the"
                f" directory anew: {self._broken}"
            ) from self._broken

    def _key(self, number: int) -> str:
        record = self.store.record(number)
        return "" if record is None else record.key.decode("utf-8", "replace")

    def _line(
        self, page: Page, key: str | None, verdict: Verdict, of: Neighbour, now: int
    ) -> dict[str, Any]:
        of_url = self._key(of.id)
        other = self._texts.get(of.id)
        shared, different = _hapax.examples(page.basis, other) if other is not None else ([], [])
        kind = "exact" if of.level == "text" else "near"
        if page.canonical == of_url != page.url:
            kind = "canonical"
        url = page.url or ""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            "id": verdict.id,
            "url": url,
            "kind": kind,
            "of": {"id": of.id, "url": of_url},
            "fingerprint": f"{page.fingerprint:016x}",
            "of_fingerprint": f"{of.fingerprint:016x}",
            "distance": of.distance,
            "threshold": self.store.distance,
            "similarity": None if of.similarity is None else round(of.similarity, 3),
            "similarity_threshold": of.similarity_threshold,
            "level": of.level,
            "evidence": verdict.evidence,
            "table": of.table,
            "recipe": page.recipe,
            "key": url if key is None else key,
            "title": page.title,
            "language": page.language,
            "host": _hapax.split_url(url)[1],
            "bytes": len(page),
            "shared": shared,
            "different": different,
        }
        if page.canonical == page.url:
            line["canonical"] = True
        return line


def _lock(path: Path) -> IO[bytes]:
    """Takes the lock that a crawl uses; on systems without ``flock`` the store's lock suffices."""
    file = path.open("ab")
    try:
        import fcntl
    except ImportError:
        return file
    for tries_left in reversed(range(LOCK_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except OSError as error:
            # Readers of the log lock it briefly.
            if not tries_left:
                file.close()
                raise LockedError(f"{path}: another process holds it") from error
            time.sleep(LOCK_WAIT)
    return file


def _position(payload: bytes) -> dict[str, Any]:
    """The positions in a commit's payload, the binary's JSON object; its other keys are preserved."""
    if not payload:
        return {}
    try:
        position = json.loads(payload)
    except ValueError as error:
        raise DamagedError(f"the committed positions cannot be read: {error}") from error
    if not isinstance(position, dict):
        raise DamagedError("the committed positions are no object")
    length = position.get("discarded", 0)
    if type(length) is not int or length < 0:
        raise DamagedError(f"the committed length of discarded.jsonl is {length!r}")
    checksum = position.get("discarded_sum")
    if checksum is not None and (type(checksum) is not int or not 0 <= checksum < 1 << 32):
        raise DamagedError(f"the committed checksum of discarded.jsonl is {checksum!r}")
    return position


def _has_store(path: Path) -> None:
    """Raises ``DamagedError`` if the store is missing but other parts exist: the store is created first and
    knows their committed lengths."""
    if (path / "dedup" / "MANIFEST").exists():
        return
    logs = ("discarded.jsonl", "decisions.jsonl", "skipped.jsonl", "index/meta.json")
    left = [path / name for name in logs if (path / name).exists() and (path / name).stat().st_size > 0]
    left += path.glob("pages/pages-*.warc.gz")
    if left:
        raise DamagedError(
            f"{path / 'dedup'} or its MANIFEST is missing, and {left[0]} is there: put it back from a copy, or "
            "move what is left elsewhere"
        )


class _Log:
    """An append-only file of JSON lines, with the CRC-32 of all lines.

    The checksum is ``None`` if an earlier version, which had no checksums, started the log.
    """

    def __init__(self, path: Path, length: int, checksum: int | None) -> None:
        self.path = path
        # A missing log is an error, not an empty log.
        found = path.stat().st_size if path.exists() else 0
        if found < length:
            raise DamagedError(
                f"{path}: {found} of {length} bytes that were committed are there; put this file back from a"
                " copy"
            )
        self._file = path.open("ab", buffering=0)
        self._length = length
        self._checksum = checksum if length else 0
        self._file.truncate(length)

    def append(self, line: dict[str, Any]) -> None:
        whole = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        rest = memoryview(whole)
        with self._named():
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
            except BaseException:
                with suppress(OSError):
                    self._file.truncate(self._length)
                raise
        self._length += len(whole)
        if self._checksum is not None:
            self._checksum = zlib.crc32(whole, self._checksum)

    def sync(self) -> tuple[int, int | None]:
        """Makes the lines durable. Returns length and checksum."""
        with self._named():
            os.fsync(self._file.fileno())
        return self._length, self._checksum

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HapaxError(error.errno, error.strerror, str(self.path)) from error

    def close(self) -> None:
        self._file.close()


class _Texts:
    """A cache of texts by number that evicts the oldest."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._bytes = 0

    def put(self, number: int, text: str) -> None:
        self._texts[number] = text
        self._bytes += getsizeof(text)
        while self._bytes > CACHE_BYTES:
            _, oldest = self._texts.popitem(last=False)
            self._bytes -= getsizeof(oldest)

    def get(self, number: int) -> str | None:
        return self._texts.get(number)

"""The store."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hapax
from conftest import article, page


def test_near_duplicates_are_told_with_their_evidence() -> None:
    store = hapax.Store()
    text = article(1)
    assert store.offer("http://a.example/1", text).is_new
    verdict = store.offer("http://b.example/1", text + " It was printed today.")
    assert verdict.is_duplicate and verdict.of is not None
    assert (verdict.id, verdict.of.id) == (1, 0)
    assert verdict.of.level in ("hamming", "sketch")
    assert 0.8 < verdict.of.similarity <= 1.0
    assert verdict.of.similarity_threshold == 0.5
    assert store.offer("http://c.example/1", text.upper()).of.level == "text"
    assert store.offer("http://a.example/1", "other words").kind == "known"
    assert store.offer("http://a.example/2", article(2)).is_new
    assert (len(store), store.duplicates) == (4, 2)


def test_html_text_page_and_fingerprint_may_be_offered() -> None:
    store = hapax.Store()
    html = page("The river", article(3))
    read = hapax.extract(html, url="http://a.example/")
    assert store.offer("a", read).is_new
    assert store.offer("b", html, url="http://a.example/b").of.level == "text"
    own = hapax.Store(recipe="my own 1")
    assert own.offer("a", 7).is_new
    assert own.offer(b"\xff", -1).is_new
    verdict = own.offer("b", 6)
    assert (verdict.of.distance, verdict.of.similarity) == (1, None)
    with pytest.raises(ValueError, match="my own 1"):
        own.offer("c", "text")
    with pytest.raises(ValueError, match="the page was read by"):
        own.offer("c", read)


def tee(colour: str, more: str = "") -> str:
    """A page of a shop: colours are other pages, whatever the sketch says."""
    return page(f"Tee - {colour}", article(7), more)


def test_texts_decide_between_variants_and_new_comments(tmp_path: Path) -> None:
    comment = "<p>It fits my brother too, wrote Anna.</p>"
    for store in (hapax.Store(), hapax.Store(tmp_path / "store")):
        assert store.offer("http://shop.example/navy", tee("Navy")).is_new
        assert store.offer("http://shop.example/rust", tee("Rust")).is_new
        verdict = store.offer("http://shop.example/navy?all", tee("Navy", comment))
        assert verdict.is_duplicate and verdict.evidence == "text"
        assert any("anna" in words for words in verdict.differs)
        found = store.matches(tee("Rust", comment), url="http://shop.example/rust?all")
        assert [near.id for near in found] == [1]
    store.commit()
    store.close()
    # After the next start the texts are read from the folder.
    with hapax.Store(tmp_path / "store") as store:
        verdict = store.offer("http://shop.example/rust?all", tee("Rust", comment))
        assert (verdict.of.id, verdict.evidence) == (1, "text")
        assert store.offer("http://shop.example/black", tee("Black")).is_new
    with hapax.Store(tmp_path / "sketches", texts=False) as store:
        store.offer("http://shop.example/navy", tee("Navy"))
        verdict = store.offer("http://shop.example/navy?all", tee("Navy", comment))
        assert (verdict.evidence, verdict.differs) == ("sketch", [])
    assert not (tmp_path / "sketches" / "texts").exists()


def test_batches_compare_texts_too() -> None:
    keys = [f"http://shop.example/{colour}" for colour in ("navy", "rust", "plum")]
    pages = [tee(colour) for colour in ("Navy", "Rust", "Plum")]
    store = hapax.Store()
    assert [verdict.kind for verdict in store.offer_many(keys, pages)] == ["new"] * 3
    again = store.offer_many([key + "?x" for key in keys], [text + " " for text in pages])
    assert [verdict.of.id for verdict in again] == [0, 1, 2]


def test_a_deleted_page_leaves_no_text(tmp_path: Path) -> None:
    store = hapax.Store(tmp_path / "dedup")
    store.offer("http://shop.example/navy", tee("Navy"), time=1)
    store.offer("http://shop.example/rust", tee("Rust"), time=2)
    store.offer("http://shop.example/plum", tee("Plum"), time=3)
    store.commit()
    # Beside the store, as in a data directory of the program.
    places = tmp_path / "texts" / "places"
    before = places.read_bytes()
    assert len(before) == 3 * 16 and all(any(before[at : at + 16]) for at in (0, 16, 32))
    assert store.delete(1) and store.expire(2) == 1
    store.commit()
    after = places.read_bytes()
    assert after == bytes(32) + before[32:]
    store.close()


def test_the_caller_may_have_the_texts() -> None:
    pages: dict[str, str] = {}
    asked: list[object] = []

    def text_of(key: str) -> str | None:
        asked.append(key)
        return pages.get(key)

    store = hapax.Store(texts=text_of)
    for colour in ("Navy", "Rust"):
        key = f"http://shop.example/{colour}"
        assert store.offer(key, tee(colour)).is_new
        pages[key] = tee(colour)
    assert asked == ["http://shop.example/Navy"]
    verdict = store.offer("http://shop.example/again", tee("Rust", "<p>New.</p>"))
    assert (verdict.of.id, verdict.evidence) == (1, "text")
    # Without a text the sketch decides.
    pages.clear()
    assert store.offer("http://shop.example/third", tee("Rust", "<p>New.</p>")).evidence == "sketch"


def test_an_exception_of_the_callers_function_stores_nothing() -> None:
    def fails(key: object) -> str:
        raise LookupError(f"no {key}")

    store = hapax.Store(texts=fails)
    assert store.offer("http://shop.example/navy", tee("Navy")).is_new
    with pytest.raises(LookupError, match=r"no http://shop\.example/navy"):
        store.offer("http://shop.example/rust", tee("Rust"))
    with pytest.raises(LookupError):
        store.matches(tee("Rust"), url="http://shop.example/rust")
    assert "http://shop.example/rust" not in store and len(store) == 1
    store = hapax.Store(texts=lambda key: 7)
    store.offer("http://shop.example/navy", tee("Navy"))
    with pytest.raises(TypeError, match="must return a Page"):
        store.offer("http://shop.example/rust", tee("Rust"))
    with pytest.raises(TypeError, match="a bool or a function"):
        hapax.Store(texts=7)


def test_looking_up_changes_nothing() -> None:
    store = hapax.Store(recipe="own")
    store.offer_many(["a", "b", "c"], [0, 0xFF, 0xFFFF])
    assert store.near(1) == [(0, 1)]
    assert store.near(0xF8) == [(1, 3)]
    found = store.near_many(np.array([1, 0xFFFE], dtype=np.uint64))
    assert [column.tolist() for column in found] == [[0, 1], [0, 2], [1, 1]]
    assert [of.id for of in store.matches(3)] == [0]
    assert "a" in store and b"z" not in store
    assert store.id_of("b") == 1
    record = store.record(1)
    assert (record.key, record.fingerprint, record.of, record.tokens) == (b"b", 0xFF, None, None)
    assert store.record(9) is None
    assert len(store) == 3


def test_batches_give_the_verdicts_of_single_offers() -> None:
    texts = [article(seed // 2) + ("" if seed % 2 else " And more.") for seed in range(60)]
    keys = [f"http://{seed}.example/" for seed in range(60)]
    store = hapax.Store()
    single = [store.offer(key, text) for key, text in zip(keys, texts, strict=True)]
    assert [verdict.is_duplicate for verdict in single] == [False, True] * 30
    assert hapax.Store().offer_many(keys, texts) == single
    assert hapax.Store().offer_many(pa.array(keys), pa.array(texts), threads=2) == single
    by_number = hapax.Store(recipe="own").offer_many(keys, hapax.fingerprints(pa.array(texts)))
    assert len(by_number) == 60


def test_bad_rows_are_named_and_change_nothing() -> None:
    store = hapax.Store()
    with pytest.raises(ValueError, match="item 1"):
        store.offer_many(["a", "b"], ["x", None])
    with pytest.raises(ValueError, match="item 1"):
        store.offer_many(["a", None], ["x", "y"])
    with pytest.raises(ValueError, match="2 keys and 1 contents"):
        store.offer_many(["a", "b"], ["x"])
    with pytest.raises(ValueError, match="item 1: a key of 70000 bytes, at most 65535"):
        store.offer_many(["a", "k" * 70_000], ["x", "y"])
    with pytest.raises(ValueError, match="65535"):
        store.offer("k" * 70_000, "x")
    with pytest.raises(ValueError, match="64-bit"):
        store.offer("a", 1 << 64)
    with pytest.raises(TypeError):
        store.offer("a", 1.5)
    assert len(store) == 0


def test_what_was_committed_is_there_again(tmp_path: Path) -> None:
    with hapax.Store(tmp_path / "seen") as store:
        store.offer("a", article(1), time=5)
        store.commit(b"position 7")
        store.offer("b", article(2), time=9)
    with pytest.raises(ValueError, match="closed"):
        store.offer("c", "x")
    store = hapax.Store(tmp_path / "seen")
    assert (len(store), store.payload) == (2, b"position 7")
    store.offer("lost", article(3))
    store.close()
    store.close()
    with hapax.Store(tmp_path / "seen") as store:
        assert len(store) == 2
        assert store.expire(6) == 1
        assert store.delete(1) and not store.delete(1)
        assert store.offer("again", article(2)).is_new
        duplicate = store.offer("b2", article(2))
        assert store.restore(duplicate.id) > duplicate.id
        store.compact()
        assert store.check() == len(store) == 2


def test_errors_of_stores_have_names(tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    with hapax.Store(folder) as store:
        store.offer_many(map(str, range(50)), [article(seed) for seed in range(50)])
        store.compact()
        code = "import sys, hapax; hapax.Store(sys.argv[1])"
        other = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
        assert "LockedError" in other.stderr, other.stderr
    with pytest.raises(hapax.RecipeError, match="content-words"):
        hapax.Store(folder, recipe="other")
    segment = next(path for path in folder.iterdir() if path.name.startswith("seg-"))
    whole = segment.read_bytes()
    segment.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with pytest.raises(hapax.DamagedError, match="damaged at byte"), hapax.Store(folder) as store:
        store.check()
    (tmp_path / "file").write_text("")
    with pytest.raises(hapax.HapaxError) as caught:
        hapax.Store(tmp_path / "file" / "seen")
    assert isinstance(caught.value, OSError) and caught.value.errno
    assert caught.value.filename == str(tmp_path / "file" / "seen")
    for options in ({"distance": 9}, {"policy": "x"}, {"similarity": 2.0}, {"recipe": "a\nb"}):
        with pytest.raises(ValueError):
            hapax.Store(**options)


def test_threads_share_a_store() -> None:
    store = hapax.Store()
    texts = [article(seed) for seed in range(40)]
    verdicts = []

    def offer(name: int) -> None:
        for number, text in enumerate(texts):
            verdicts.append(store.offer(f"{name} {number}", text).kind)

    threads = [threading.Thread(target=offer, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts.count("new") == 40
    assert verdicts.count("duplicate") == 120


@pytest.mark.parametrize(
    "ask",
    [len, repr, lambda store: store.duplicates, lambda store: store.payload],
    ids=["len", "repr", "duplicates", "payload"],
)
def test_other_threads_run_while_a_store_is_asked(ask: Callable[[hapax.Store], object]) -> None:
    store = hapax.Store(recipe="own")
    values = np.random.default_rng(1).integers(0, 1 << 63, 300_000).tolist()
    keys = [str(number) for number in range(len(values))]
    writer = threading.Thread(target=store.offer_list, args=(keys, values))
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    ticking = threading.Thread(target=tick)
    ticking.start()
    writer.start()
    asked: list[tuple[float, float]] = []
    while writer.is_alive():
        started = time.monotonic()
        ask(store)
        asked.append((started, time.monotonic()))
    done.set()
    writer.join()
    ticking.join()
    # Waiting calls: for the writer, or for the interpreter while arguments are read.
    waited = [(start, end) for start, end in asked if end - start > 0.05]
    meanwhile = [sum(start < at < end for at in ticks) / (end - start) for start, end in waited]
    assert max(meanwhile) > 50, f"ticks a second while each of them waited: {meanwhile}"


def test_the_address_that_is_told_comes_first() -> None:
    def threshold(key: str, own: str | None, told: str | None) -> float:
        store = hapax.Store()
        store.offer("first", hapax.extract_plain(article(1), url="http://a.example/1"))
        near = hapax.extract_plain(f"{article(1)} It was printed today.", url=own)
        (match,) = store.matches(near, key=key, url=told)
        verdict = store.offer(key, near, url=told)
        assert verdict.of.similarity_threshold == match.similarity_threshold
        return verdict.of.similarity_threshold

    here, there = "http://a.example/2", "http://b.example/2"
    same, other = threshold(here, None, None), threshold(there, None, None)
    assert same != other
    assert threshold(there, here, None) == threshold(there, there, here) == same
    assert threshold(here, there, None) == threshold(here, here, there) == other


def test_verdicts_are_those_of_the_binary(run_binary, tmp_path: Path) -> None:
    documents = []
    for seed in range(30):
        text = article(seed // 2, 4 + seed) + (" And this." if seed % 2 else "")
        documents.append((f"http://h{seed % 3}.example/{seed}", page(f"Title {seed // 4}", text)))
    rows = [json.dumps({"id": url, "url": url, "html": html}) for url, html in documents]
    answer = run_binary("dedup", "--data", tmp_path, stdin="\n".join(rows) + "\n")
    store = hapax.Store()
    kinds = set()
    for line, (url, html) in zip(answer.splitlines(), documents, strict=True):
        expected, verdict = json.loads(line), store.offer(url, html)
        assert verdict.kind == expected["verdict"]
        kinds.add(verdict.kind)
        if verdict.of is not None:
            assert store.record(verdict.of.id).key.decode() == expected["of"]["id"]
            assert verdict.of.distance == expected["distance"]
            assert verdict.of.similarity == expected["similarity"]
    assert kinds == {"new", "duplicate"}
    # Each reads the other's store.
    with hapax.Store(tmp_path / "dedup") as theirs:
        assert len(theirs) == 30
        assert theirs.offer(*documents[0]).kind == "known"

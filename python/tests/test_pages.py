"""extract and fingerprint."""

from __future__ import annotations

import json
import re
from importlib.metadata import requires
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hapax
from conftest import article, page

CHINESE = "今天天气很好，我们在北京大学的公园里散步，看见许多人也在那里休息。" * 4
RIVER = "The river rose in the spring, and the village moved up the hill before the water came."


def test_golden_fingerprints_never_change() -> None:
    assert hapax.RECIPE == "content-words-tf-6"
    assert f"{hapax.fingerprint(RIVER):016x}" == "09c0684c10afa940"
    assert f"{hapax.fingerprint(CHINESE):016x}" == "92536d1f5f692dcf"
    html = page("The river", article(1))
    assert f"{hapax.fingerprint(html):016x}" == "d3274d7d14b54844"
    windows = hapax.fingerprint(RIVER, recipe="token-window-4")
    assert f"{windows:016x}" == "52733f3f86aacfcd"


@pytest.mark.parametrize("recipe", hapax.RECIPES)
def test_fingerprints_are_those_of_the_binary(recipe, run_binary, tmp_path: Path) -> None:
    texts = {
        "river.txt": RIVER.encode(),
        "chinese.txt": CHINESE.encode(),
        "gb.html": f"<meta charset=gb2312><title>天气</title><p>{CHINESE}".encode("gb18030"),
        "page.html": page("The river", article(1), "<img src=/a.png alt=flood>").encode(),
        "marked.html": b"\xef\xbb\xbf" + page("The river", article(1)).encode(),
        "little.html": b"<title>Little</title><p>Nothing here.",
        "empty.txt": b"",
        "latin.txt": "Élan vital, ça va très bien à l'été".encode("latin-1"),
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in texts]
    answer = run_binary("fingerprint", "--recipe", recipe, *paths).splitlines()
    expected = [line.split("\t")[0] for line in answer]
    assert expected == [f"{hapax.fingerprint(t, recipe=recipe):016x}" for t in texts.values()]
    many = hapax.fingerprints(list(texts.values()), recipe=recipe)
    assert expected == [f"{value:016x}" for value in many]


def test_extract_says_what_the_binary_says(run_binary, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page("The river", article(2), "<p><a href=next>Next</a></p>"))
    expected = json.loads(run_binary("extract", path))
    found = hapax.extract(path.read_bytes())
    assert found.title == expected["title"] == "The river"
    assert found.text == expected["text"]
    assert found.language == expected["language"] == "en"
    assert found.links == expected["links"]
    assert found.tokens == expected["tokens"]
    assert f"{found.fingerprint:016x}" == expected["fingerprint"]
    blocks = [(block.text, block.kept, block.reason) for block in found.blocks]
    assert blocks == [(b["text"], b["kept"], b["reason"]) for b in expected["blocks"]]


def test_a_page_tells_what_it_declares() -> None:
    html = (
        "<link rel=canonical href=/x><meta name=robots content='noindex'>"
        f"<title>A title</title><p>{article(3)} <a href=y>z</a>"
    )
    read = hapax.extract(html, url="https://a.example/dir/")
    assert read.url == "https://a.example/dir/"
    assert read.canonical == "https://a.example/x"
    assert (read.noindex, read.nofollow) == (True, False)
    assert read.links == ["https://a.example/dir/y"]
    assert len(read) == len(html.encode())
    assert not read.little_text
    plain = hapax.extract_plain(article(3))
    assert plain.tokens > 100 and plain.blocks[0].kept


def test_bytes_are_decoded_as_a_crawl_decodes_them() -> None:
    html = f"<title>天气</title><p>{CHINESE}"
    legacy = hapax.extract(html.encode("gb18030"), content_type="text/html; charset=gb2312")
    assert legacy.text == hapax.extract(html).text
    assert legacy.fingerprint == hapax.fingerprint(html)


def test_columns_are_read_at_once() -> None:
    texts = [article(seed) for seed in range(40)]
    one_by_one = [hapax.fingerprint(text) for text in texts]
    assert hapax.fingerprints(texts, threads=3).tolist() == one_by_one
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.string_view()):
        column = pa.array([None, *texts, "", "!"], type=kind)
        found = hapax.fingerprints(column)
        assert found.type == pa.int64()
        assert found.is_null().to_pylist() == [True] + [False] * 40 + [True, True]
        assert hapax.to_unsigned(found[1:41]).tolist() == one_by_one
        # A slice, and a column of several chunks.
        assert found[5:9].equals(hapax.fingerprints(column[5:9]))
    pieces = pa.chunked_array([texts[:3], [], texts[3:]])
    assert hapax.to_unsigned(hapax.fingerprints(pieces)).tolist() == one_by_one
    assert len(hapax.fingerprints(pa.array([], pa.string()))) == 0
    counts = hapax.fingerprints_and_tokens(["", texts[0]])[1]
    assert counts[0] == 0 and counts[1] > 100


def test_arrow_is_new_enough_for_views() -> None:
    needed = [need for need in requires("hapax") if need.startswith("pyarrow")]
    bounds = [re.match(r"pyarrow>=(\d+)", need) for need in needed]
    assert len(bounds) >= 3
    assert all(bound is not None and int(bound[1]) >= 16 for bound in bounds), needed


def test_the_kind_may_be_told() -> None:
    text = "<b> is a tag that " + article(4)
    as_text, as_html = (hapax.fingerprints([text], kind=kind)[0] for kind in ("text", "html"))
    assert as_text != as_html == hapax.fingerprint(text)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: hapax.fingerprint(3), TypeError, "not int"),
        (lambda: hapax.fingerprint("x", recipe="none"), ValueError, "content-words-tf-6"),
        (lambda: hapax.extract("x", url="no url"), ValueError, "no url"),
        (lambda: hapax.extract("x\ud800"), UnicodeEncodeError, "surrogates"),
        (lambda: hapax.fingerprints(["a", None]), ValueError, "item 1"),
        (lambda: hapax.fingerprints("a"), TypeError, "sequence"),
        (lambda: hapax.fingerprints(pa.array([1])), ValueError, "int64"),
        (lambda: hapax.fingerprints(["a"], kind="pdf"), ValueError, "pdf"),
    ],
)
def test_bad_input_is_named(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


def test_other_threads_run_meanwhile() -> None:
    import threading
    import time

    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    values = np.random.default_rng(1).integers(0, 1 << 63, 400_000, dtype=np.uint64)
    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    hapax.find_all(values)
    took = time.monotonic() - started
    done.set()
    thread.join()
    assert ticks > took * 50, f"{ticks} ticks in {took:.2f} s"

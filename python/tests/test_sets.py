"""find_all, find_clusters, Tables and the conversions."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hapax
from conftest import lines, planted
from hapax import _hapax


def slowly(values: list[int], distance: int) -> list[tuple[int, int]]:
    pairs = {
        (min(a, b), max(a, b))
        for place, a in enumerate(values)
        for b in values[place + 1 :]
        if (a ^ b).bit_count() <= distance
    }
    return sorted(pairs)


@pytest.mark.parametrize("distance", [0, 1, 3, 7])
def test_all_pairs_are_found(distance: int) -> None:
    values = planted(600) + planted(20)
    pairs = hapax.find_all(values, distance=distance)
    found = list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    assert found == slowly(values, distance)
    bits = [(a ^ b).bit_count() for a, b in found]
    assert pairs.distance.tolist() == bits == hapax.distances(pairs.a, pairs.b).tolist()


def test_the_answer_is_of_the_kind_of_the_question() -> None:
    values = planted(400)
    expected = hapax.find_all(values, blocks=5)
    unsigned = np.array(values, dtype=np.uint64)
    signed = unsigned.view(np.int64)
    for column, kind in ((unsigned, np.uint64), (signed, np.int64), (signed.byteswap(), None)):
        if kind is None:
            column = column.view(column.dtype.newbyteorder())
        found = hapax.find_all(column)
        assert found.a.dtype == (kind or np.int64)
        assert np.array_equal(found.a.view(np.uint64), expected.a)
    for column in (
        pa.array(signed),
        pa.array(unsigned),
        pa.chunked_array([signed[:7], signed[7:]]),
    ):
        found = hapax.find_all(column)
        assert found.a.type == column.type
        assert np.array_equal(hapax.to_unsigned(found.b), expected.b)
        clusters = hapax.find_clusters(column)
        assert clusters[0].type == column.type
    assert np.array_equal(hapax.to_signed(values), signed)
    assert np.array_equal(hapax.to_unsigned(signed), unsigned)


@pytest.mark.parametrize("distance", [1, 3, 6])
def test_the_binary_says_the_same(distance: int, run_binary, tmp_path: Path) -> None:
    values = planted(20_000)
    values += values[:50]
    path = tmp_path / "fingerprints"
    path.write_text(lines(values))
    answer = run_binary("find-all", "--input", path, "--distance", distance)
    pairs = hapax.find_all(values, distance=distance)
    assert [json.loads(line) for line in answer.splitlines()] == [
        [a, b] for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)
    ]
    answer = run_binary("find-clusters", "--input", path, "--distance", distance)
    clusters = hapax.find_clusters(values, distance=distance)
    assert [json.loads(line) for line in answer.splitlines()] == [c.tolist() for c in clusters]
    assert len(clusters[-1]) >= 2 and len(clusters) == len(answer.splitlines())


def test_tables_find_what_is_near() -> None:
    values = planted(3000)
    tables = hapax.Tables(values)
    assert len(tables) == len(set(values))
    found = tables.near(values[:200])
    expected = [
        (place, value)
        for place, query in enumerate(values[:200])
        for value in set(values)
        if (query ^ value).bit_count() <= 3
    ]
    assert sorted(zip(found.query.tolist(), found.value.tolist(), strict=True)) == sorted(expected)
    assert hapax.near([1], [0, 7, 255], distance=1).value.tolist() == [0]


def test_clusters_are_copied_and_unpacked() -> None:
    clusters = hapax.find_clusters([0, 1, 15 << 40, 31 << 40])
    expected = [[0, 1], [15 << 40, 31 << 40]]
    copies = (copy.copy(clusters), copy.deepcopy(clusters), pickle.loads(pickle.dumps(clusters)))
    for same in (clusters, *copies):
        first, second = same
        assert [first.tolist(), second.tolist()] == expected
        assert same.starts.tolist() == [0, 2, 4] and len(same) == 2
    with pytest.raises(FrozenInstanceError):
        clusters.members = []


def test_the_extension_is_what_its_stub_says() -> None:
    numbers = np.array([0, 1], dtype="<u8").tobytes()
    store = hapax.Store(recipe="own")
    for answer, columns in (
        (_hapax.find_all(numbers, 3, None), 3),
        (_hapax.find_clusters(numbers, 3, None), 2),
        (_hapax.FixedTables(numbers, 3, None).near_words(numbers), 3),
        (store.near_words(numbers), 3),
        (_hapax.list_fingerprints([""]), 2),
    ):
        assert type(answer) is tuple and len(answer) == columns
        assert all(type(column) is bytes for column in answer)
    stub = ast.parse((Path(hapax.__file__).parent / "_hapax.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    named |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    there = {name for name in dir(_hapax) if not name.startswith("__")} | {"__version__"}
    assert named == there
    # Nothing had consumed them.
    assert not {"ranks", "RANK_WIDTH"} & there


def test_nothing_is_no_error() -> None:
    assert len(hapax.find_all([]).a) == 0
    assert len(hapax.find_clusters(np.array([], dtype=np.int64))) == 0
    assert len(hapax.Tables([]).near([1]).value) == 0
    with pytest.raises(IndexError):
        hapax.find_clusters([])[0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, "2"], r"fingerprints\[1\]"),
        ([1, 2, 1 << 64], r"fingerprints\[2\]: .* more than 64 bits"),
        (np.array([1.0]), "float64"),
        (np.array([[1]]), "2 dimensions"),
        (pa.array([1, None]), r"fingerprints\[1\] is null"),
        (pa.array(["x"]), "string"),
    ],
)
def test_bad_columns_are_named(values, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        hapax.find_all(values)


def test_impossible_arrangements_are_refused() -> None:
    for options in ({"distance": 8}, {"blocks": 3}, {"blocks": 17}):
        with pytest.raises(ValueError, match=r"blocks|distance"):
            hapax.find_all([1], **options)
    with pytest.raises(OverflowError):
        hapax.find_all([1], distance=-1)
    with pytest.raises(ValueError, match="as many"):
        hapax.distances([1], [1, 2])

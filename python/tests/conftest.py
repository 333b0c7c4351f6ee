"""Fixtures: the binary, if available, and pages."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

WORDS = (
    "river village spring winter mountain bridge council harvest letter window market garden"
    " engine harbour library teacher autumn signal copper kitchen railway lantern orchard"
    " morning evening journey captain island forest meadow thunder blanket"
).split()


def article(seed: int, sentences: int = 30) -> str:
    """A text that is deterministic for its seed and unlike other seeds' texts."""
    chance = random.Random(seed)
    said = []
    for _ in range(sentences):
        words = [chance.choice(WORDS) + chance.choice(["", "s", "ing", "ed"]) for _ in range(9)]
        said.append(f"The {words[0]} was in the {' '.join(words[1:])} of that year.")
    return " ".join(said)


def page(title: str, text: str, *extra: str) -> str:
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body>"
        f"<nav><a href=/>Home</a> <a href=/about>About</a></nav>"
        f"<main><h1>{title}</h1><p>{text}</p>{''.join(extra)}</main></body></html>"
    )


def planted(count: int, seed: int = 7, chain: int = 100) -> list[int]:
    """Random fingerprints; a tenth are near others, also in chains, and some are repeated."""
    chance = random.Random(seed)
    values = [chance.getrandbits(64) for _ in range(count)]
    for place in range(0, count - 1, 10):
        near = values[place]
        for _ in range(chance.randint(0, 3)):
            near ^= 1 << chance.randrange(64)
        values[place + 1] = near
    # A chain: each is near only its neighbours.
    start = chance.getrandbits(64)
    for place in range(min(chain, count)):
        values[-1 - place] = start
        for bit in chance.sample(range(64), 3):
            start ^= 1 << bit
    return values


@pytest.fixture(scope="session")
def binary() -> Path:
    """The program `crawl`, named by CRAWL_BINARY."""
    path = os.environ.get("CRAWL_BINARY")
    if not path:
        pytest.skip("CRAWL_BINARY does not name the program to compare with")
    return Path(path).resolve()


@pytest.fixture(scope="session")
def run_binary(binary: Path) -> Callable[..., str]:
    def run(*arguments: object, stdin: str = "") -> str:
        command = [str(binary), *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def lines(values: Iterable[object]) -> str:
    return "".join(f"{value}\n" for value in values)

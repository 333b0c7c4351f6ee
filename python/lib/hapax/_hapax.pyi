"""The Rust half of the package."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypeVar, final

MAX_DISTANCE: int
"""The largest Hamming distance that tables look for: 7."""
RECIPE: str
"""The name of the default recipe, the product's own."""
RECIPES: list[str]
"""The names of all recipes, the default first."""
__version__: str

@final
class Block:
    """A run of text between two block-level tags."""

    @property
    def text(self) -> str: ...
    @property
    def kept(self) -> bool: ...
    @property
    def reason(self) -> str:
        """Why it was kept or dropped, in words."""
    @property
    def chance(self) -> float:
        """How often a block with such evidence is text, 0 to 1."""

@final
class Page:
    """A page, read: its own text, and what it is compared by. ``len`` is its size in bytes."""

    @property
    def title(self) -> str:
        """Its title, or its first heading."""
    @property
    def heading(self) -> str:
        """Its first heading of the highest level that is not the site's."""
    @property
    def language(self) -> str:
        """Two-letter code, or the empty string."""
    @property
    def text(self) -> str:
        """Its own text: the kept blocks, one a line."""
    @property
    def basis(self) -> str:
        """The text by which it is compared: with its heading, or, if it has little text of its own,
        its title and all visible text."""
    @property
    def little_text(self) -> bool:
        """It has little text of its own: only equal pages are its duplicates."""
    @property
    def tokens(self) -> int:
        """How many content words it is compared by. A page without any duplicates nothing."""
    @property
    def fingerprint(self) -> int:
        """The simhash by its recipe, unsigned."""
    @property
    def recipe(self) -> str: ...
    @property
    def url(self) -> str | None:
        """The address it was read with."""
    @property
    def canonical(self) -> str | None:
        """The address it names as its own."""
    @property
    def noindex(self) -> bool: ...
    @property
    def nofollow(self) -> bool: ...
    @property
    def charset(self) -> str: ...
    @property
    def truncated(self) -> str | None:
        """The limit that cut it short, if one did."""
    @property
    def links(self) -> list[str]:
        """Where it leads, absolute."""
    @property
    def blocks(self) -> list[Block]:
        """All blocks in order, made anew for each call."""
    def __len__(self) -> int: ...

@final
class Neighbour:
    """The stored document that another one duplicates, with the evidence."""

    @property
    def id(self) -> int: ...
    @property
    def fingerprint(self) -> int: ...
    @property
    def distance(self) -> int:
        """In how many bits the fingerprints differ."""
    @property
    def similarity(self) -> float | None:
        """Estimated similarity of the texts; ``None`` where one has no sketch."""
    @property
    def similarity_threshold(self) -> float | None:
        """The similarity that was asked for."""
    @property
    def level(self) -> Literal["text", "hamming", "sketch"]:
        """What found it."""
    @property
    def table(self) -> int | None:
        """The table or band that found it."""

@final
class Verdict:
    """The answer to an offered document."""

    @property
    def kind(self) -> Literal["new", "known", "duplicate"]:
        """``known``: its key was offered before, as new or as duplicate."""
    @property
    def id(self) -> int:
        """The number under which it is remembered."""
    @property
    def of(self) -> Neighbour | None:
        """What it duplicates."""
    @property
    def is_new(self) -> bool: ...
    @property
    def is_duplicate(self) -> bool: ...

@final
class Record:
    """A document as the store holds it."""

    @property
    def id(self) -> int: ...
    @property
    def of(self) -> int | None:
        """The document it duplicates, if it was discarded."""
    @property
    def key(self) -> bytes: ...
    @property
    def fingerprint(self) -> int: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def time(self) -> int: ...

_S = TypeVar("_S", bound="Store")

class Store:
    def __new__(
        cls: type[_S],
        path: str | PathLike[str] | None = None,
        *,
        recipe: str | None = None,
        distance: int = 3,
        policy: Literal["default", "simhash"] = "default",
        similarity: float | None = None,
        similarity_same_host: float | None = None,
        keep_duplicates: bool = False,
    ) -> _S: ...
    @property
    def recipe(self) -> str: ...
    @property
    def distance(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def duplicates(self) -> int:
        """How many of the documents are duplicates."""
    @property
    def payload(self) -> bytes:
        """What the last commit carried."""
    def __len__(self) -> int:
        """How many documents are stored, duplicates among them."""
    def __contains__(self, key: str | bytes) -> bool: ...
    def offer(
        self,
        key: str | bytes,
        content: str | bytes | int | Page,
        *,
        url: str | None = None,
        time: int = 0,
    ) -> Verdict:
        """Looks a document up and inserts it, in one step.

        ``content`` is a page that was read, a text, HTML (what begins with ``<``), or a fingerprint
        alone, which gets the classic verdict by distance. Pages of one host are compared more
        strictly; the host is that of ``url``, then of the page's address, then of the key if that is
        one. ``time`` is for :meth:`expire`.
        """
    def offer_list(
        self,
        keys: Sequence[str | bytes],
        contents: Sequence[str | bytes | int | Page],
        *,
        time: int = 0,
        threads: int = 0,
    ) -> list[Verdict]: ...
    def matches(
        self, content: str | bytes | int | Page, *, key: str = "", url: str | None = None
    ) -> list[Neighbour]:
        """All stored documents that this one would duplicate, best first. Changes nothing."""
    def near(self, value: int) -> list[tuple[int, int]]:
        """Documents within the distance, with the distance: nearest first, then oldest first."""
    def near_words(self, queries: bytes) -> tuple[bytes, bytes, bytes]: ...
    def id_of(self, key: str | bytes) -> int | None: ...
    def record(self, id: int) -> Record | None: ...
    def delete(self, id: int) -> bool:
        """Removes a document: nothing is a duplicate of it any more, its key is unknown."""
    def restore(self, id: int) -> int | None:
        """Takes a discarded document back, under a new number."""
    def expire(self, before: int) -> int:
        """Deletes every document with a time before this; how many there were."""
    def commit(self, payload: bytes | None = None) -> None:
        """Makes everything done before durable. ``payload``, the caller's own positions, comes back
        after the next open; without one the last stays."""
    def compact(self) -> None:
        """Merges all segments into one."""
    def check(self) -> int:
        """Reads every stored byte against its checksum; how many documents there are."""
    def close(self) -> None:
        """Closes the store. What was not committed is lost."""

def extract(
    html: str | bytes,
    *,
    url: str | None = None,
    content_type: str | None = None,
    recipe: str | None = None,
) -> Page:
    """Reads an HTML page. Of bytes the charset is found as a crawl finds it."""

def extract_plain(
    text: str | bytes,
    *,
    url: str | None = None,
    content_type: str | None = None,
    recipe: str | None = None,
) -> Page:
    """Reads a page of plain text."""

def fingerprint(text: str | bytes, *, recipe: str | None = None) -> int:
    """The fingerprint of a text or an HTML page (what begins with ``<``), as ``crawl fingerprint``
    prints it; unsigned."""

def response_fingerprint(
    body: bytes,
    content_type: str | None = None,
    *,
    url: str | None = None,
    recipe: str | None = None,
) -> tuple[int, int] | None:
    """Fingerprint and content words of a response's body; ``None`` for what is no text. A ``url`` that
    is none counts as not given."""

def examples(text: str, other: str) -> tuple[list[str], list[str]]:
    """Shingles of three words that two texts share, and that only the first has."""

def split_url(url: str) -> tuple[str, str]:
    """A URL in its normal spelling, and the host by which logs name it."""

def column_ranks(data: bytes, offsets: bytes) -> tuple[bytes, bytes]:
    """A column of strings that sort the better address first."""

def list_fingerprints(
    texts: Sequence[str | bytes],
    *,
    kind: str | None = None,
    recipe: str | None = None,
    threads: int = 0,
) -> tuple[bytes, bytes]: ...
def column_fingerprints(
    data: bytes,
    offsets: bytes,
    *,
    decoded: bool,
    urls: tuple[bytes, bytes] | None = None,
    kind: str | None = None,
    recipe: str | None = None,
    threads: int = 0,
) -> tuple[bytes, bytes]: ...
def find_all(values: bytes, distance: int, blocks: int | None) -> tuple[bytes, bytes, bytes]: ...
def find_clusters(values: bytes, distance: int, blocks: int | None) -> tuple[bytes, bytes]: ...
def distances(a: bytes, b: bytes) -> bytes: ...

_T = TypeVar("_T", bound="FixedTables")

class FixedTables:
    def __new__(cls: type[_T], values: bytes, distance: int, blocks: int | None) -> _T: ...
    def __len__(self) -> int: ...
    def near_words(self, queries: bytes) -> tuple[bytes, bytes, bytes]: ...

"""The Rust half of the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar, final

MAX_DISTANCE: int
"""The largest Hamming distance of tables: 7."""
RECIPE: str
"""The name of the default recipe."""
RECIPES: list[str]
"""The names of all recipes, the default first."""
__version__: str

@final
class Block:
    """A run of text between two block-level tags."""

    @property
    def text(self) -> str:
        """The text of the block."""
    @property
    def kept(self) -> bool:
        """Whether the block is content."""
    @property
    def reason(self) -> str:
        """Why the block was kept or dropped, in words."""
    @property
    def chance(self) -> float:
        """The estimated probability that the block is content, 0 to 1."""

@final
class Page:
    """A parsed page: its content, and the text by which it is compared. ``len`` is its size in bytes."""

    @property
    def title(self) -> str:
        """The title, or the first heading."""
    @property
    def heading(self) -> str:
        """The first heading of the highest level that is not the site's."""
    @property
    def language(self) -> str:
        """A two-letter code, or the empty string."""
    @property
    def text(self) -> str:
        """The content: the kept blocks, one a line."""
    @property
    def basis(self) -> str:
        """The comparison text: heading and content, or, for a thin page, title and all visible text."""
    @property
    def little_text(self) -> bool:
        """Whether the page is thin (fewer than 15 content words); only equal pages are its duplicates."""
    @property
    def tokens(self) -> int:
        """The number of content words in the comparison text. A page with 0 has no duplicates."""
    @property
    def fingerprint(self) -> int:
        """The simhash by the page's recipe, unsigned."""
    @property
    def recipe(self) -> str:
        """The name of the recipe of the fingerprint."""
    @property
    def url(self) -> str | None:
        """The URL given to :func:`extract`."""
    @property
    def canonical(self) -> str | None:
        """The canonical URL that the page declares."""
    @property
    def noindex(self) -> bool:
        """Whether the page forbids indexing."""
    @property
    def nofollow(self) -> bool:
        """Whether the page forbids following its links."""
    @property
    def charset(self) -> str:
        """The name of the detected charset."""
    @property
    def truncated(self) -> str | None:
        """The limit at which parsing stopped, if any."""
    @property
    def links(self) -> list[str]:
        """The absolute URLs of the links."""
    @property
    def blocks(self) -> list[Block]:
        """All blocks in order; each call creates a new list."""
    def __len__(self) -> int:
        """The size of the page in bytes."""

@final
class Neighbour:
    """The stored document that an offered one duplicates, with the evidence."""

    @property
    def id(self) -> int:
        """The document's id."""
    @property
    def fingerprint(self) -> int:
        """The document's fingerprint, unsigned."""
    @property
    def distance(self) -> int:
        """The Hamming distance of the fingerprints."""
    @property
    def similarity(self) -> float | None:
        """The estimated similarity of the texts; ``None`` if one has no sketch."""
    @property
    def similarity_threshold(self) -> float | None:
        """The required similarity."""
    @property
    def level(self) -> Literal["text", "hamming", "sketch"]:
        """The evidence: ``text`` is equal text."""
    @property
    def table(self) -> int | None:
        """The table or band that proposed the document."""

@final
class Verdict:
    """The answer to an offered document."""

    @property
    def kind(self) -> Literal["new", "known", "duplicate"]:
        """``known`` means that the key was offered before."""
    @property
    def id(self) -> int:
        """The id of the offered document."""
    @property
    def of(self) -> Neighbour | None:
        """The document that it duplicates."""
    @property
    def evidence(self) -> Literal["text", "sketch"] | None:
        """What decided that it is a duplicate: ``text`` if the texts were compared, else ``sketch``."""
    @property
    def differs(self) -> list[str]:
        """The differences of the two texts in words, if they were compared."""
    @property
    def is_new(self) -> bool:
        """Whether the document is new."""
    @property
    def is_duplicate(self) -> bool:
        """Whether the document is a duplicate."""

@final
class Record:
    """A stored document."""

    @property
    def id(self) -> int:
        """The document's id."""
    @property
    def of(self) -> int | None:
        """The id of the document that this one duplicates, if it was discarded."""
    @property
    def key(self) -> bytes:
        """The document's key."""
    @property
    def fingerprint(self) -> int:
        """The document's fingerprint, unsigned."""
    @property
    def tokens(self) -> int | None:
        """The number of content words, if known."""
    @property
    def time(self) -> int:
        """The time given when it was offered."""

_S = TypeVar("_S", bound="Store")

class Store:
    """The base of :class:`hapax.Store`. Methods raise ``ValueError`` for bad input and after :meth:`close`,
    and ``HapaxError`` if the store fails."""

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
        texts: bool | Callable[[Any], str | bytes | Page | None] | None = None,
    ) -> _S: ...
    @property
    def recipe(self) -> str:
        """The name of the recipe of the fingerprints."""
    @property
    def distance(self) -> int:
        """The largest Hamming distance of duplicates."""
    @property
    def closed(self) -> bool:
        """Whether the store is closed."""
    @property
    def duplicates(self) -> int:
        """The number of stored documents that are duplicates."""
    @property
    def payload(self) -> bytes:
        """The payload of the last commit."""
    def __len__(self) -> int:
        """The number of stored documents, including duplicates."""
    def __contains__(self, key: str | bytes) -> bool:
        """Whether a document with this key is stored."""
    def offer(
        self,
        key: str | bytes,
        content: str | bytes | int | Page,
        *,
        url: str | None = None,
        time: int = 0,
    ) -> Verdict:
        """Looks up a document and inserts it in one step. Returns the verdict.

        ``content`` is a parsed page, a text, HTML (text that begins with ``<``), or a fingerprint, which
        is decided by distance alone. Pages of one host are compared more strictly; the host comes from
        ``url``, else from the page, else from the key. ``time`` is the time for :meth:`expire`.
        """
    def offer_list(
        self,
        keys: Sequence[str | bytes],
        contents: Sequence[str | bytes | int | Page],
        *,
        time: int = 0,
        threads: int = 0,
    ) -> list[Verdict]:
        """Offers rows in order. Errors in the input name the row and change nothing."""
    def matches(
        self, content: str | bytes | int | Page, *, key: str = "", url: str | None = None
    ) -> list[Neighbour]:
        """Returns all stored documents that this one would duplicate, best first. Changes nothing."""
    def near(self, value: int) -> list[tuple[int, int]]:
        """Returns documents within the distance as pairs of id and distance: nearest first, then oldest."""
    def near_words(self, queries: bytes) -> tuple[bytes, bytes, bytes]:
        """Returns columns: number of the query, document, distance."""
    def id_of(self, key: str | bytes) -> int | None:
        """Returns the id of the document with this key, or ``None``."""
    def record(self, id: int) -> Record | None:
        """Returns the stored document with this id, or ``None``."""
    def delete(self, id: int) -> bool:
        """Deletes a document: it matches nothing afterwards, and its key is unknown. Returns whether the
        id was stored."""
    def restore(self, id: int) -> int | None:
        """Stores a discarded document again, as a kept one. Returns its new id, or ``None``."""
    def expire(self, before: int) -> int:
        """Deletes every document whose time is before ``before``. Returns their number."""
    def commit(self, payload: bytes | None = None) -> None:
        """Makes all earlier changes durable. ``payload``, bytes of the caller, is returned by
        :attr:`payload` after the next open; ``None`` leaves the last payload."""
    def compact(self) -> None:
        """Merges all segments into one."""
    def check(self) -> int:
        """Verifies the checksums of all stored bytes. Returns the number of documents; raises
        ``DamagedError``."""
    def close(self) -> None:
        """Closes the store. Uncommitted changes are lost."""

def extract(
    html: str | bytes,
    *,
    url: str | None = None,
    content_type: str | None = None,
    recipe: str | None = None,
) -> Page:
    """Reads an HTML page. For bytes, the charset is detected as in a crawl, also from ``content_type``.
    Raises ``ValueError`` for an invalid ``url`` or unknown ``recipe``."""

def extract_plain(
    text: str | bytes,
    *,
    url: str | None = None,
    content_type: str | None = None,
    recipe: str | None = None,
) -> Page:
    """Reads a page of plain text. Arguments and errors are those of :func:`extract`."""

def fingerprint(text: str | bytes, *, recipe: str | None = None) -> int:
    """Returns the unsigned fingerprint of a text or an HTML page (text that begins with ``<``), as
    ``crawl fingerprint`` prints it. Raises ``ValueError`` for an unknown ``recipe``."""

def response_fingerprint(
    body: bytes,
    content_type: str | None = None,
    *,
    url: str | None = None,
    recipe: str | None = None,
) -> tuple[int, int] | None:
    """Returns the fingerprint and the number of content words of a response's body, or ``None`` if it is
    not text. An invalid ``url`` counts as missing. Raises ``ValueError`` for an unknown ``recipe``."""

def examples(text: str, other: str) -> tuple[list[str], list[str]]:
    """Returns shingles of three words that two texts share, and shingles that only the first has."""

def split_url(url: str) -> tuple[str, str]:
    """Returns a URL in its normal form, and its host as in the logs. Raises ``ValueError``."""

def column_ranks(data: bytes, offsets: bytes) -> tuple[bytes, bytes]:
    """Returns a column of strings by which better addresses sort first."""

def list_fingerprints(
    texts: Sequence[str | bytes],
    *,
    kind: str | None = None,
    recipe: str | None = None,
    threads: int = 0,
) -> tuple[bytes, bytes]:
    """Returns the fingerprints and numbers of content words of texts in a list."""

def column_fingerprints(
    data: bytes,
    offsets: bytes,
    *,
    decoded: bool,
    urls: tuple[bytes, bytes] | None = None,
    kind: str | None = None,
    recipe: str | None = None,
    threads: int = 0,
) -> tuple[bytes, bytes]:
    """Returns the fingerprints and numbers of content words of a column."""

def find_all(values: bytes, distance: int, blocks: int | None) -> tuple[bytes, bytes, bytes]:
    """Returns all near pairs as columns: smaller values, larger values, distances."""

def find_clusters(values: bytes, distance: int, blocks: int | None) -> tuple[bytes, bytes]:
    """Returns the members of all clusters, and the start of each cluster."""

def distances(a: bytes, b: bytes) -> bytes:
    """Returns the Hamming distances of two columns, row by row."""

_T = TypeVar("_T", bound="FixedTables")

class FixedTables:
    """The base of :class:`hapax.Tables`."""

    def __new__(cls: type[_T], values: bytes, distance: int, blocks: int | None) -> _T: ...
    def __len__(self) -> int:
        """The number of distinct stored values."""
    def near_words(self, queries: bytes) -> tuple[bytes, bytes, bytes]:
        """Returns columns: number of the query, stored value, distance."""

"""A Scrapy item pipeline that drops near-duplicates and logs them in discarded.jsonl.

::

    ITEM_PIPELINES = {"hapax.scrapy.DuplicatesPipeline": 100}
    HAPAX_DATA = "hapax-data"

An item needs a URL and the page, ``html`` or ``text`` (str or bytes). The settings
``HAPAX_URL_FIELD``, ``HAPAX_HTML_FIELD`` and ``HAPAX_TEXT_FIELD`` name these fields;
``HAPAX_KEY_FIELD`` names a field with an id that replaces the URL as key. Other settings: ``HAPAX_DISTANCE``,
``HAPAX_POLICY`` (``default`` or ``simhash``), ``HAPAX_SIMILARITY``, ``HAPAX_SIMILARITY_SAME_HOST``,
``HAPAX_RECIPE``, ``HAPAX_TEXTS`` (``False``: texts are neither stored nor compared).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

from hapax import _hapax
from hapax.directory import GROUP_AGE, DataDirectory
from hapax.errors import HapaxError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from hapax._hapax import Page

logger = logging.getLogger(__name__)


def _drop(message: str) -> DropItem:
    """An expected drop: logged as INFO, not as a warning, by Scrapy 2.13 and later."""
    try:
        return DropItem(message, log_level="INFO")
    except TypeError:
        return DropItem(message)


class DuplicatesPipeline:
    """Drops items whose page duplicates one of this run or of an earlier run."""

    def __init__(self, crawler: Crawler) -> None:
        """Reads the settings. Raises ``ValueError`` for a similarity that is not a number."""
        settings = crawler.settings
        self.stats = crawler.stats
        self.path = settings.get("HAPAX_DATA", "hapax-data")
        self.url_field = settings.get("HAPAX_URL_FIELD", "url")
        self.html_field = settings.get("HAPAX_HTML_FIELD", "html")
        self.text_field = settings.get("HAPAX_TEXT_FIELD", "text")
        self.key_field = settings.get("HAPAX_KEY_FIELD")
        self.recipe = settings.get("HAPAX_RECIPE")
        self.options: dict[str, Any] = {
            "recipe": self.recipe,
            "distance": settings.getint("HAPAX_DISTANCE", 3),
            "policy": settings.get("HAPAX_POLICY", "default"),
            "texts": settings.getbool("HAPAX_TEXTS", True),
        }
        for name in ("similarity", "similarity_same_host"):
            value = settings.get(f"HAPAX_{name.upper()}")
            if value is not None:
                self.options[name] = float(value)
        self.directory: DataDirectory | None = None
        self._timer: Any = None
        self._failure: BaseException | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DuplicatesPipeline:
        """Returns the pipeline of a crawler, as Scrapy requires."""
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        """Opens the data directory. Raises ``HapaxError`` if it is locked, damaged or not writable."""
        self.directory = DataDirectory(self.path, **self.options)
        # Commits during pauses, when no item triggers a commit.
        try:
            from twisted.internet.task import LoopingCall

            self._timer = LoopingCall(self.directory.commit)
            self._timer.start(GROUP_AGE, now=False).addErrback(self._failed)
        except Exception:
            # Without Twisted's reactor, items alone trigger commits.
            self._timer = None

    def close_spider(self, spider: Any = None) -> None:
        """Commits and closes. Raises ``HapaxError`` if this or an earlier commit failed."""
        if self._timer is not None and self._timer.running:
            self._timer.stop()
        if self.directory is not None:
            self.directory.close()
        if self._failure is not None:
            raise HapaxError(f"{self.path}: a commit failed: {self._failure}") from self._failure

    def _failed(self, failure: Any) -> None:
        # Scrapy does not see errors of the timer, so raise it when the spider closes.
        self._failure = failure.value
        logger.error("%s: a commit failed: %s", self.path, failure.value)

    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Returns the item, or raises ``DropItem`` if its page is a duplicate; its log line is then
        written. Raises ``ValueError`` for an invalid URL and ``HapaxError`` if writing fails."""
        if self.directory is None:
            raise RuntimeError("the spider was not opened")
        adapter = ItemAdapter(item)
        page = self._page(adapter)
        if page is None:
            self._count("ignored")
            return item
        key = adapter.get(self.key_field) if self.key_field else None
        verdict, line = self.directory.offer(page, key=None if key is None else str(key))
        of = self.directory.duplicate_of(verdict)
        if of is None:
            self._count(verdict.kind)
            return item
        self._count(line["kind"] if line is not None else "known")
        raise _drop(f"near-duplicate of {of}: {page.url}")

    def _page(self, adapter: ItemAdapter) -> Page | None:
        """The page of an item; ``None`` for items without a URL or a page."""
        url = adapter.get(self.url_field)
        html, text = adapter.get(self.html_field), adapter.get(self.text_field)
        if url is None or (html is None and text is None):
            return None
        url, _ = _hapax.split_url(url)
        # A directory of an earlier version goes on with its recipe.
        recipe = self.recipe if self.directory is None else self.directory.store.recipe
        if html is None:
            text = bytes(text) if isinstance(text, bytes | bytearray) else str(text)
            return _hapax.extract_plain(text, url=url, recipe=recipe)
        return _hapax.extract(html, url=url, recipe=recipe)

    def _count(self, what: str) -> None:
        if self.stats is not None:
            self.stats.inc_value(f"hapax/{what}")

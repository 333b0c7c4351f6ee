"""A Scrapy item pipeline that drops near-duplicates and logs them in discarded.jsonl.

::

    ITEM_PIPELINES = {"hapax.scrapy.DuplicatesPipeline": 100}
    HAPAX_DATA = "hapax-data"

An item needs a URL and the page: ``html`` or ``text`` (str or bytes). The names of these fields are
settings, ``HAPAX_URL_FIELD``, ``HAPAX_HTML_FIELD``, ``HAPAX_TEXT_FIELD``, and ``HAPAX_KEY_FIELD`` names
a field with the caller's own id, in place of the URL. Further settings: ``HAPAX_DISTANCE``,
``HAPAX_POLICY`` (``default`` or ``simhash``), ``HAPAX_SIMILARITY``, ``HAPAX_SIMILARITY_SAME_HOST``,
``HAPAX_RECIPE``.
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


class DuplicatesPipeline:
    """Drops items whose page duplicates one that was seen, in this run or an earlier one."""

    def __init__(self, crawler: Crawler) -> None:
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
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        self.directory = DataDirectory(self.path, **self.options)
        # Without it the last pages before a pause would wait for the next one.
        try:
            from twisted.internet.task import LoopingCall

            self._timer = LoopingCall(self.directory.commit)
            self._timer.start(GROUP_AGE, now=False).addErrback(self._failed)
        except Exception:
            # A crawl without Twisted's reactor commits as items come.
            self._timer = None

    def close_spider(self, spider: Any = None) -> None:
        if self._timer is not None and self._timer.running:
            self._timer.stop()
        if self.directory is not None:
            self.directory.close()
        if self._failure is not None:
            raise HapaxError(f"{self.path}: a commit failed: {self._failure}") from self._failure

    def _failed(self, failure: Any) -> None:
        # Scrapy would hear of it at the end of the run, if at all.
        self._failure = failure.value
        logger.error("%s: a commit failed: %s", self.path, failure.value)

    def process_item(self, item: Any, spider: Any = None) -> Any:
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
        raise DropItem(f"near-duplicate of {of}: {page.url}")

    def _page(self, adapter: ItemAdapter) -> Page | None:
        """The page of an item; ``None`` for items that are no pages."""
        url = adapter.get(self.url_field)
        html, text = adapter.get(self.html_field), adapter.get(self.text_field)
        if url is None or (html is None and text is None):
            return None
        url, _ = _hapax.split_url(url)
        if html is None:
            text = bytes(text) if isinstance(text, bytes | bytearray) else str(text)
            return _hapax.extract_plain(text, url=url, recipe=self.recipe)
        return _hapax.extract(html, url=url, recipe=self.recipe)

    def _count(self, what: str) -> None:
        if self.stats is not None:
            self.stats.inc_value(f"hapax/{what}")

"""A spider that drops near-duplicates: `scrapy runspider examples/scrapy_spider.py -a seed=URL`.

To list them with reasons: `crawl duplicates list --data hapax-data`, or hapax-data/discarded.jsonl.
"""

import scrapy
from scrapy.linkextractors import LinkExtractor


class Pages(scrapy.Spider):
    name = "pages"
    custom_settings = {  # noqa: RUF012
        "ITEM_PIPELINES": {"hapax.scrapy.DuplicatesPipeline": 100},
        "HAPAX_DATA": "hapax-data",
        "FEEDS": {"kept.jsonl": {"format": "jsonlines"}},
        "ROBOTSTXT_OBEY": True,
    }

    def __init__(self, seed: str, **arguments: object) -> None:
        super().__init__(**arguments)
        self.start_urls = [seed]
        self.links = LinkExtractor(allow=seed)

    def parse(self, response: scrapy.http.TextResponse):
        yield {"url": response.url, "html": response.text}
        for link in self.links.extract_links(response):
            yield response.follow(link)

"""Pages, near-duplicates, and a whole set at once."""

import numpy as np

import hapax

ARTICLE = (
    "The river rose in the spring, and the village moved up the hill before the water came. " * 5
)

page = hapax.extract(f"<title>The river</title><p>{ARTICLE}", url="http://a.example/river")
print(page, page.language, f"{hapax.fingerprint(ARTICLE):016x}")

# Durable after commit() and at the end of the block; hapax.Store() without a path is in memory.
with hapax.Store("seen") as store:
    print(store.offer(page.url, page))
    verdict = store.offer("http://b.example/copy", ARTICLE + "Printed today.")
    if verdict.of is not None:
        print("like", store.record(verdict.of.id).key, "similarity", verdict.of.similarity)
    print(store.near(page.fingerprint))

values = np.array([0b0001, 0b0011, 0xFFFF_0000], dtype=np.uint64)
print(hapax.find_all(values))
print(list(hapax.find_clusters(values)))

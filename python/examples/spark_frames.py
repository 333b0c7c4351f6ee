"""Fingerprints of your own frames: `spark-submit examples/spark_frames.py PAGES.parquet`.

PAGES.parquet has the columns url and html (or text). For pairs and clusters see job.py.
"""

import sys

from pyspark.sql import SparkSession

from hapax.batch.engine_spark import fingerprint_frame

if __name__ == "__main__":
    spark = SparkSession.builder.appName("fingerprints").getOrCreate()
    pages = spark.read.parquet(sys.argv[1])
    found = fingerprint_frame(pages)
    # BIGINT with the bits of the unsigned number; null for pages without text.
    found.groupBy("fingerprint").count().orderBy("count", ascending=False).show()

"""The batch job for spark-submit: ``spark-submit job.py --input PATH ... --output PATH``.

The wheel `hapax` must be installed on the driver and the executors; see README.md.
"""

import sys

from hapax.batch.__main__ import main

if __name__ == "__main__":
    sys.exit(main(engine="spark"))

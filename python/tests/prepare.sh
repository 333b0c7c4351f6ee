#!/bin/sh
# Makes the virtual environment FOLDER, if it is not there, with what the tests need but the wheel itself.
#
#   tests/prepare.sh FOLDER
set -eu
[ -x "$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$1"
# pyspark comes as source of 400 MB: it is installed once.
"$1/bin/pip" install --quiet "pytest>=8" scrapy numpy "pyarrow>=16" "pandas>=2.2" "brotli>=1.2" zstandard datafusion pyspark==4.3.0 ruff mypy

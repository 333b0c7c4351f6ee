#!/bin/sh
# Creates the virtual environment FOLDER, if missing, with all test dependencies except the wheel.
#
#   tests/prepare.sh FOLDER
set -eu
[ -x "$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$1"
# pyspark is a source package of 400 MB, so it is installed once.
"$1/bin/pip" install --quiet "pytest>=8" scrapy numpy "pyarrow>=16" "pandas>=2.2" "brotli>=1.2" zstandard datafusion duckdb pyspark==4.3.0 "moto[server]>=5" ruff mypy

#!/bin/sh
# Builds the wheel, installs it with what the tests need into a virtual environment, and runs all tests.
#
#   tests/run.sh [FOLDER] [PYTEST ARGUMENTS]
#
# The environment is made in FOLDER, and used again if it is there; without FOLDER it is a temporary one.
# Needs Python >= 3.10, cargo, and Java for Spark: without Java that test is skipped, but fails if CI=true.
# CRAWL_BINARY=PATH names the program `crawl` to compare with; by default ../target/release/crawl, if there.
set -eu
python_folder=$(cd "$(dirname "$0")/.." && pwd)
cd "$python_folder"
if [ $# -gt 0 ]; then
    folder=$1
    shift
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
tests/prepare.sh "$folder"
bin=$(cd "$folder/bin" && pwd)
"$bin/pip" install --quiet --force-reinstall --no-deps .
if [ -z "${CRAWL_BINARY:-}" ] && [ -x ../target/release/crawl ]; then
    CRAWL_BINARY=$(cd ../target/release && pwd)/crawl
    export CRAWL_BINARY
fi
if [ -z "${CRAWL_BINARY:-}" ]; then
    echo "CRAWL_BINARY is not set: the tests that compare with the binary are skipped" >&2
fi
"$bin/ruff" check .
"$bin/mypy" --python-executable "$bin/python" lib/hapax
cd tests
"$bin/python" -m pytest "$@"

#!/bin/sh
# Builds the wheel, installs it with its test dependencies in a virtual environment, and runs all tests.
#
#   tests/run.sh [FOLDER] [PYTEST ARGUMENTS]
#
# The environment is created in FOLDER, or reused if it exists; without FOLDER it is temporary.
# Needs Python >= 3.10, cargo, and Java for Spark: without Java that test is skipped, or fails if CI=true.
# CRAWL_BINARY=PATH is the program `crawl` to compare with; default: ../target/release/crawl, if it exists.
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

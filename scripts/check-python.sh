#!/usr/bin/env bash
# Checks the Python SDK. Exits with status 1 if a check finds a problem, and with 77 if this machine has no Python 3.11.
#
#   scripts/check-python.sh generated   the synchronous modules are what the asynchronous ones generate
#   scripts/check-python.sh lint        ruff: rules and format
#
# `make test-sdk` checks the types, which takes longer.
set -euo pipefail
cd "$(dirname "$0")/../clients/python"

generated() {
  command -v python3 >/dev/null || { echo "python3 is not installed" >&2; exit 77; }
  python3 -B tools/make_sync.py --check
}

lint() {
  local python status=0
  python=$(../../scripts/python-environment.sh sdk requirements.txt) || exit 77
  "$python" -m ruff check --quiet --output-format concise . || status=1
  "$python" -m ruff format --quiet --check . || { echo "run ruff format in clients/python" >&2; status=1; }
  return "$status"
}

case ${1:-} in
  generated | lint) "$1" ;;
  *) echo "usage: check-python.sh generated|lint" >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# Runs `go build` in the current folder and shows its progress. Prints nothing if nothing has to be compiled.
#
#   scripts/go-build.sh <title> <package> <output file> <flags of go build>...
#
# The caller sets CGO_ENABLED and GOARCH. The Go that scripts/setup.sh installed is preferred to the machine's.
set -euo pipefail
title=$1 package=$2 output=$3
shift 3
flags=(-mod=readonly -trimpath "$@")
export PATH="$(dirname "$(readlink -f "$0")")/../.cache/toolchain/go/bin:$PATH"

say() { printf 'build: %s\n' "$*" >&2; }

# On a terminal, updates one line; otherwise prints a line for every ten percent.
show_progress() {
  local total=$1 done=0 shown=0 percent line
  while IFS= read -r line; do
    case $line in
      *' '*) printf '%s\n' "$line" >&2; continue ;;
    esac
    done=$((done + 1))
    percent=$((100 * done / total))
    [ "$percent" -le 100 ] || percent=100
    if [ -t 2 ]; then
      printf '\rbuild: %s: %d of %d packages (%d %%) ' "$title" "$done" "$total" "$percent" >&2
    elif [ "$percent" -ge "$((shown + 10))" ]; then
      shown=$percent
      say "$title: $done of $total packages ($percent %)"
    fi
  done
  [ ! -t 2 ] || printf '\n' >&2
}

GOPROXY=off go list "${flags[@]}" -deps "$package" >/dev/null 2>&1 || say "$title: fetching the sources"
# Go verifies downloaded modules against go.sum.
stale=$(go list "${flags[@]}" -deps -f '{{if .Stale}}x{{end}}' "$package" | grep -c x || true)
# The main package counts as stale if it was built in another folder.
if [ "$stale" -le 1 ]; then
  exec go build "${flags[@]}" -o "$output" "$package"
fi
say "$title: compiling $stale packages"
start=$SECONDS
code=0
go build "${flags[@]}" -v -o "$output" "$package" 2> >(show_progress "$stale") || code=$?
# Wait for the process that prints the progress.
wait
[ "$code" = 0 ] || { say "$title: go build failed"; exit "$code"; }
say "$title: built in $((SECONDS - start)) s"

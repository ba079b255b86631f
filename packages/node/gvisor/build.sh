#!/usr/bin/env bash
# Compiles gVisor's runsc into a folder: minutes of work the first time, nothing when nothing has changed. Debian's own is of
# 2022; its kernel lacks what ordinary programs use today.
#
#   packages/node/gvisor/build.sh dist
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"

case "${GOARCH:-$(uname -m)}" in
  arm64 | aarch64) export GOARCH=arm64 ;;
  *) export GOARCH=amd64 ;;
esac
version=$(sed -n 's|.*gvisor.dev/gvisor v0.0.0-\([0-9]\{8\}\).*|\1|p' go.mod)
CGO_ENABLED=0 ../../../scripts/go-build.sh gVisor . "$target/runsc-linux-$GOARCH" \
  -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=release-$version"

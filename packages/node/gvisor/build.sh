#!/usr/bin/env bash
# Compiles gVisor's runsc into a folder: minutes of work the first time, nothing when nothing has changed. Debian's own is of
# 2022; its kernel lacks what ordinary programs use today. The sources are those of go.mod with our patches (*.patch).
#
#   packages/node/gvisor/build.sh dist
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
sources=$root/.cache/gvisor

# Go checks the sources against go.sum before they are patched.
patch_sources() (
  wanted=$(cat go.mod go.sum ./*.patch | sha256sum)
  [ "$(cat "$sources/patched" 2>/dev/null)" != "$wanted" ] || return 0
  patches=$PWD draft=$sources.$$
  trap 'rm -rf "$draft"' EXIT
  mkdir -p "$draft"
  cp go.mod go.sum ./*.go "$draft"
  cd "$draft"
  GOFLAGS=-mod=mod PATH=$root/.cache/toolchain/go/bin:$PATH go mod vendor
  cd vendor/gvisor.dev/gvisor
  # The folder is inside of this repository, but is not a part of it. The patches hold only our lines: go.sum fixes the rest.
  GIT_CEILING_DIRECTORIES=$draft git apply --unidiff-zero "$patches"/*.patch
  echo "$wanted" >"$draft/patched"
  rm -rf "$sources"
  mv -T "$draft" "$sources"
)

case "${GOARCH:-$(uname -m)}" in
  arm64 | aarch64) export GOARCH=arm64 ;;
  *) export GOARCH=amd64 ;;
esac
version=$(sed -n 's|.*gvisor.dev/gvisor v0.0.0-\([0-9]\{8\}\).*|\1|p' go.mod)
patch_sources
cp ./*.go "$sources"
cd "$sources"
CGO_ENABLED=0 "$root/scripts/go-build.sh" gVisor . "$target/runsc-linux-$GOARCH" -mod=vendor \
  -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=release-$version"

#!/usr/bin/env bash
# Compiles runc into a folder: one minute the first time, nothing when nothing has changed. Debian 12's runc 1.1.5 has known
# container escapes. The file is static, so it runs on machines without libseccomp. The build needs gcc and libseccomp's headers;
# for another architecture than this machine's (GOARCH), `scripts/setup.sh release` installs them.
#
#   packages/node/runc/build.sh dist
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"

go_architecture() {
  case "$1" in
    arm64 | aarch64) echo arm64 ;;
    *) echo amd64 ;;
  esac
}
GOARCH=$(go_architecture "${GOARCH:-$(uname -m)}")
export GOARCH
if [ "$GOARCH" != "$(go_architecture "$(uname -m)")" ]; then
  case "$GOARCH" in
    arm64) triplet=aarch64-linux-gnu ;;
    amd64) triplet=x86_64-linux-gnu ;;
  esac
  sysroot=$(cd ../../.. && pwd)/.cache/sysroot-$GOARCH
  export CC=$triplet-gcc PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$triplet/pkgconfig
fi
# The tag libpathrs stays off: it needs a Rust library that Debian does not have. runc then uses the same checks written in Go.
CGO_ENABLED=1 ../../../scripts/go-build.sh runc github.com/opencontainers/runc "$target/runc-linux-$GOARCH" \
  -buildmode=pie -tags "seccomp,urfave_cli_no_docs,netgo,osusergo" \
  -ldflags "-s -w -linkmode external -extldflags -static-pie"

#!/usr/bin/env bash
# Compiles runc into a folder: one minute the first time, nothing when nothing has changed. Debian 12's runc 1.1.5 has known
# container escapes. The file is static, so it runs on machines without libseccomp. The build needs gcc and libseccomp's headers.
#
#   packages/node/runc/build.sh dist
set -euo pipefail
target=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"

case "$(uname -m)" in
  aarch64) architecture=arm64 ;;
  *) architecture=amd64 ;;
esac
# The tag libpathrs stays off: it needs a Rust library that Debian does not have. runc then uses the same checks written in Go.
CGO_ENABLED=1 ../../../scripts/go-build.sh runc github.com/opencontainers/runc "$target/runc-linux-$architecture" \
  -buildmode=pie -tags "seccomp,urfave_cli_no_docs,netgo,osusergo" \
  -ldflags "-s -w -linkmode external -extldflags -static-pie"

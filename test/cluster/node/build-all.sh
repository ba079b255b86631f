#!/usr/bin/env bash
# Builds the programs of the test cluster that are missing. Exits with status 77 on a machine where its node cannot run anyway.
set -euo pipefail
cd "$(dirname "$0")"
node --conditions=source main.ts can-run || exit 77
../../kube-apiserver/build.sh
for part in kubernetes containerd coredns metrics-server gvisor-shim pause; do ./build.sh "$part"; done

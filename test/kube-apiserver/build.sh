#!/usr/bin/env bash
# Makes sure that the Kubernetes binaries of go.mod exist, and prints the folder that holds them: etcd, kube-apiserver,
# kube-controller-manager, kubectl. The first run compiles for minutes and says so on stderr; later runs only look.
set -euo pipefail
cd "$(dirname "$0")"

fail() { printf 'Cannot build Kubernetes: %s\n' "$*" >&2; exit 1; }
command -v go >/dev/null || fail "the go command is missing (https://go.dev/dl, or your system's package manager)"

# Our flags alone decide what comes out, whatever the caller's environment says.
export GOFLAGS='-mod=readonly -buildvcs=false' GOWORK=off CGO_ENABLED=0
unset GOOS GOARCH

version=$(awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2 }' go.mod)
[ -n "$version" ] || fail "go.mod does not require k8s.io/kubernetes"
recipe=$(cat build.sh go.mod go.sum | sha256sum | cut -c1-8)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/kubernetes-$version-$(go env GOVERSION)-$(go env GOARCH)-$recipe

finish() {
  touch "$target"
  printf '%s\n' "$target"
  exit 0
}
[ -d "$target" ] && finish

# The kernel drops the lock when its last holder dies, so a killed build blocks nobody.
mkdir -p "$cache"
exec 9>"$cache/kubernetes.lock"
if ! flock --nonblock 9; then
  echo "Waiting for another build of Kubernetes to end" >&2
  flock 9
fi
[ -d "$target" ] && finish

stamps() {
  local minor=${version#v1.} package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s ' \
      "$package" "$version" "$package" "$package" "${minor%%.*}"
  done
}

# Of go's one line per package, one in two hundred is shown; anything else go says is shown in full.
progress() {
  awk '/^[^ :#]+$/ { if (++n % 200 == 0) { print "  " n " packages compiled"; fflush() } next } { print; fflush() }' >&2
}

# Two at a time and with low priority, so that other work on the machine goes on; not without this script.
compile() {
  nice -n 10 setpriv --pdeathsig TERM -- go build -p 2 -v -trimpath -tags grpcnotrace,notest -ldflags "-s -w $(stamps)" "$@" 2> >(progress)
}

echo "Building Kubernetes $version from source into $target: about ten minutes on two cores, once" >&2
partial=$cache/kubernetes.partial
rm -rf "$partial"
mkdir "$partial"
compile -o "$partial/" k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl}
compile -o "$partial/etcd" go.etcd.io/etcd/server/v3
mv -T "$partial" "$target"
# What no test has used for a month is of an older version.
find "$cache" -maxdepth 1 -name 'kubernetes-v*' -mtime +30 -exec rm -rf {} +
echo "Built Kubernetes $version in $SECONDS s" >&2
finish

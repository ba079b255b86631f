#!/usr/bin/env bash
# Makes sure that a program of the test cluster exists, and prints the folder that holds it. The first run compiles for minutes and
# shows its progress; later runs only look.
#
#   test/cluster/node/build.sh kubernetes|containerd|coredns|metrics-server|gvisor-shim|pause
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../../.. && pwd)

fail() { printf 'Cannot build the test cluster: %s\n' "$*" >&2; exit 1; }

part=${1:-}
flags=(-ldflags '-s -w')
case $part in
  kubernetes) programs=(k8s.io/kubernetes/cmd/{kubelet,kube-proxy,kube-scheduler}) ;;
  containerd)
    programs=(github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr})
    # The snapshotters that need C libraries or kernel modules; the node uses overlayfs.
    flags+=(-tags no_btrfs,no_zfs,no_devmapper)
    ;;
  coredns) programs=(github.com/coredns/coredns) ;;
  metrics-server) programs=(sigs.k8s.io/metrics-server/cmd/metrics-server) ;;
  gvisor-shim) programs=(gvisor.dev/gvisor/shim) ;;
  pause) programs=(.) ;;
  *) fail "unknown part \"$part\": use kubernetes, containerd, coredns, metrics-server, gvisor-shim or pause" ;;
esac

export PATH="$repository/.cache/toolchain/go/bin:$PATH"
command -v go >/dev/null || fail "the go command is missing: run scripts/setup.sh cluster"
export GOFLAGS='-buildvcs=false' GOWORK=off CGO_ENABLED=0
unset GOOS GOARCH

recipe=$(cat build.sh "$part"/* | sha256sum | cut -c1-8)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/cluster-$part-$(go env GOVERSION)-$(go env GOARCH)-$recipe

finish() {
  touch "$target"
  printf '%s\n' "$target"
  exit 0
}
[ -d "$target" ] && finish

# The kernel drops the lock when its last holder dies, so a killed build blocks nobody. All parts share it: each fills the machine.
mkdir -p "$cache"
exec 9>"$cache/cluster.lock"
if ! flock --nonblock 9; then
  echo "Waiting for another build of the test cluster to end" >&2
  flock 9
fi
[ -d "$target" ] && finish
partial=$cache/cluster-$part.partial
rm -rf "$partial"
mkdir "$partial"
cd "$part"

# kubelet compares its version with that of the API server.
stamp_version() {
  local version package
  version=$(awk '$1 == "k8s.io/kubernetes" && $2 ~ /^v/ { print $2 }' go.mod)
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.gitVersion=%s ' "$package" "$version"
  done
}
[ "$part" != kubernetes ] || flags=(-tags grpcnotrace,notest -ldflags "-s -w $(stamp_version)")

# gVisor's shim lowers its OOM score, for which CAP_SYS_RESOURCE may be missing. It is built from a copy with one line changed: go
# replaces no single file of a module.
tolerate_oom_score() {
  local copy=$partial/source
  cp -r "$(go list -mod=readonly -m -f '{{.Dir}}' gvisor.dev/gvisor)" "$copy"
  chmod -R u+w "$copy"
  sed -i 's|\(sys.SetOOMScore(cmd.Process.Pid, oomScoreMax); err != nil\) {|\1 \&\& !os.IsPermission(err) {|' "$copy/pkg/shim/v1/manager.go"
  grep -qF '!os.IsPermission(err)' "$copy/pkg/shim/v1/manager.go" ||
    fail "the line of gVisor's shim that sets its OOM score has changed: correct build.sh"
  cp go.mod go.sum "$partial/"
  go mod edit -replace "gvisor.dev/gvisor=$copy" "$partial/go.mod"
}
if [ "$part" = gvisor-shim ]; then
  tolerate_oom_score
  flags+=(-modfile "$partial/go.mod")
fi

for program in "${programs[@]}"; do
  name=$(basename "$program")
  case $part in
    gvisor-shim) name=containerd-shim-runsc-v1 ;;
    pause) name=pause ;;
  esac
  nice -n 10 setpriv --pdeathsig TERM -- "$repository/scripts/go-build.sh" "$name" "$program" "$partial/$name" -p 2 "${flags[@]}"
done
rm -rf "$partial"/{source,go.mod,go.sum}
mv -T "$partial" "$target"
# What no test has used for a month is of an older version.
find "$cache" -maxdepth 1 -name "cluster-$part-*" -mtime +30 -exec rm -rf {} +
finish

#!/usr/bin/env bash
# `make up` on a new Debian 12: its own nodejs and npm, no Go, no gVisor, no runc. Succeeds when the first sandbox prints the
# kernel of the wanted runtime, and says how long the first, the second and a restarted `make up` take.
#
#   test/fresh/debian.sh [gvisor|runc]
#
# The new system has a root filesystem, mounts, processes, host name and network of its own, on the kernel, the disk and the control
# groups of this machine. It reaches package registries as this machine does: apt's sources, certificates and the settings of
# npm, pip and Go are copied. The unpacked base system is kept in .cache/debian-12.tar for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."

runtime=${1:-gvisor}
name=fresh-$$
scratch=$(mktemp -d "/var/tmp/$name-XXXX")
root=$scratch/root
# Of the range for tests of networks: no Pod has an address there.
address=198.19.255
base=.cache/debian-12.tar

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'test-fresh: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "needs root"

clean_up() {
  set +e
  [ -z "${init:-}" ] || { kill -KILL "$init"; wait "$init"; } 2>/dev/null
  ip netns delete "$name" 2>/dev/null
  nft delete table ip "$name" 2>/dev/null
  [ -z "${forwarding:-}" ] || echo "$forwarding" >/proc/sys/net/ipv4/ip_forward
  find /sys/fs/cgroup -depth -type d -path "*agent-sandbox*$name*" -exec rmdir {} + 2>/dev/null
  rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT

make_root() {
  mkdir -p "$root" .cache
  if [ ! -e "$base" ]; then
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 2>/dev/null | head -1)
    debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$scratch/debootstrap.log" || fail "$(tail -5 "$scratch/debootstrap.log")"
    tar --create --file "$base.new" --directory "$root" . && mv "$base.new" "$base"
  else
    tar --extract --file "$base" --directory "$root"
  fi
}

# How this machine reaches registries, without naming any.
copy_settings() {
  rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
  local path
  for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/trusted.gpg.d /etc/apt/keyrings /etc/apt/auth.conf.d \
    /usr/share/keyrings /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf /root/.npmrc; do
    [ ! -e "$path" ] || { mkdir -p "$root$(dirname "$path")" && cp --recursive --dereference --no-target-directory "$path" "$root$path"; }
  done
  grep --no-filename Acquire:: /etc/apt/apt.conf.d/* >"$root/etc/apt/apt.conf.d/99machine" || true
  registry_settings >"$root/settings"
}

registry_settings() {
  env | grep -iE '^(https?_proxy|no_proxy|all_proxy|NODE_EXTRA_CA_CERTS|PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|TRUSTED_HOST))=' || true
  local key
  for key in registry cafile proxy https-proxy; do
    printf 'npm_config_%s=%s\n' "${key/-/_}" "$(npm config get "$key" 2>/dev/null)" | grep -vE '=(null|undefined)?$' || true
  done
  for key in GOPROXY GOSUMDB GONOSUMDB GOPRIVATE GOINSECURE; do
    printf '%s=%s\n' "$key" "$(go env "$key" 2>/dev/null)" | grep -v '=$' || true
  done
}

make_network() {
  ip netns add "$name"
  ip link add "fr$$" type veth peer name eth0 netns "$name"
  ip address add "$address.1/30" dev "fr$$"
  ip link set "fr$$" up
  ip -n "$name" address add "$address.2/30" dev eth0
  ip -n "$name" link set lo up
  ip -n "$name" link set eth0 up
  ip -n "$name" route add default via "$address.1"
  nft -f - <<END
table ip $name {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    ip saddr $address.2 masquerade
  }
}
END
  if [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ]; then
    forwarding=0
    echo 1 >/proc/sys/net/ipv4/ip_forward
  fi
}

# A system of its own: its first process stays, and commands are run beside it.
start_system() {
  # Not `ip netns exec`: it hides the control groups below /sys.
  nsenter --net="/run/netns/$name" unshare --mount --propagation private --uts --ipc --pid --fork --kill-child \
    bash -c "$(declare -f enter_root); enter_root '$root' '$name'" &
  init=$!
  until [ -e "$root/started" ]; do
    kill -0 "$init" 2>/dev/null || fail "the new system does not start"
    sleep 0.1
  done
  inner=$(pgrep --parent "$init" | head -1)
}

# In the new namespaces: the root becomes the root of the mounts. A chroot would not do, because the kernel lets no process
# in one make user namespaces, which gVisor needs.
enter_root() {
  set -e
  hostname debian
  mount --bind "$1" "$1"
  cd "$1"
  mount -t proc proc proc
  mount -t sysfs sysfs sys
  mount --rbind /sys/fs/cgroup sys/fs/cgroup
  mount -t tmpfs tmpfs run
  mount -t tmpfs -o mode=755 tmpfs dev
  for device in null zero full random urandom tty; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
  mkdir -p dev/pts dev/shm .old
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
  mount -t tmpfs tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  pivot_root . .old
  umount --lazy /.old
  touch /started
  exec sleep infinity
}

# Runs a shell script in the new system, with a clean environment.
inside() {
  local settings
  mapfile -t settings <"$root/settings"
  nsenter --target "$inner" --mount --uts --ipc --net --pid --root --wd -- env --ignore-environment \
    HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    AGENT_SANDBOX_DATA_DIR="/var/lib/agent-sandbox-$name" "${settings[@]}" bash -euc "$1"
}

timed() {
  local start=$SECONDS
  say "$1"
  inside "$2" 2>&1 | tee "$scratch/output"
  times+=("$(printf '%4d s  %s' "$((SECONDS - start))" "$1")")
}

say "a new Debian 12"
make_root
copy_settings
make_network
start_system
inside 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nodejs npm make >/dev/null'
git clone --quiet . "$root/root/agent-sandbox"
inside 'node --version; npm --version; for program in go runsc runc; do ! command -v "$program" || exit 1; done'

times=()
make_up="cd /root/agent-sandbox && make up RUNTIME=$runtime"
timed "the first make up" "$make_up"
case $runtime in
  gvisor) grep -E 'Hello from my-sandbox: Linux .*gvisor' "$scratch/output" >/dev/null || fail "the sandbox does not run under gVisor" ;;
  runc) grep -F "Hello from my-sandbox: Linux $(uname -r)," "$scratch/output" >/dev/null || fail "the sandbox does not run with runc" ;;
esac
timed "make up again, while the box runs" "$make_up"
timed "make down and make up" "cd /root/agent-sandbox && make down && make up RUNTIME=$runtime"
timed "doctor" "cd /root/agent-sandbox && dist/agent-sandbox doctor"
inside 'cd /root/agent-sandbox && dist/agent-sandbox down --purge'
say "times with RUNTIME=$runtime"
printf '%s\n' "${times[@]}"

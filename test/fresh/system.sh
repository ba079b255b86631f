# Functions that start a new Debian 12 on this machine's kernel, for tests that install the product. Source this file.
#
# The new system has a root filesystem, mounts, processes, host name and network of its own; it shares the kernel, the disk and the
# control groups.
#
#   start_debian <name> [package]...   start it with these packages
#   connect_debian                     let it reach package registries as this machine does
#   inside <shell script>              run a script in it with a clean environment
#
# The root filesystem is built once per machine and kept for a month, in a tar file for each list of packages.
#
# Everything is removed when the shell exits.

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$name" "$*" >&2; exit 1; }

start_debian() {
  name=$1
  shift
  [ "$(id -u)" = 0 ] || fail "needs root"
  scratch=$(mktemp -d "/var/tmp/$name-XXXX")
  root=$scratch/root
  trap clean_up EXIT
  make_root "$@"
  ip netns add "$name"
  ip -n "$name" link set lo up
  touch "$root/settings"
  start_system
}

clean_up() {
  set +e
  [ -z "${init:-}" ] || { kill -KILL "$init"; wait "$init"; } 2>/dev/null
  ip netns delete "$name" 2>/dev/null
  nft delete table ip "$name" 2>/dev/null
  [ -z "${forwarding:-}" ] || echo "$forwarding" >/proc/sys/net/ipv4/ip_forward
  find /sys/fs/cgroup -depth -type d -path "*agent-sandbox*$name*" -exec rmdir {} + 2>/dev/null
  rm -rf --one-file-system "$scratch"
}

make_root() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox base mirror
  mkdir -p "$root" "$cache"
  base=$cache/debian-12-$(printf '%s\n' "$@" | sha256sum | cut -c1-8).tar
  find "$cache" -maxdepth 1 -name 'debian-12-*.tar' -mtime +30 -delete
  if [ ! -e "$base" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 2>/dev/null | head -1)
    debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$scratch/debootstrap.log" || fail "$(tail -5 "$scratch/debootstrap.log")"
    [ "$#" = 0 ] || install_packages "$@"
    # Private, because it contains this machine's package settings.
    (umask 077 && tar --create --file "$base.$$" --directory "$root" . && mv "$base.$$" "$base")
  else
    tar --extract --file "$base" --directory "$root"
  fi
}

# Before the new system starts, on this machine's network.
install_packages() {
  copy_settings
  local settings
  mapfile -t settings <"$root/settings"
  chroot "$root" env "${settings[@]}" DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends "$@" && apt-get clean' sh "$@" \
    >"$scratch/apt.log" 2>&1 || fail "$(tail -5 "$scratch/apt.log")"
}

connect_debian() {
  copy_settings
  make_network
}

# apt's sources, certificates, and the settings of npm, pip and Go.
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

# The addresses are of the range for network tests (RFC 2544), which no Pod has.
make_network() {
  local address=198.19.255
  ip link add "fr$$" type veth peer name eth0 netns "$name"
  ip address add "$address.1/30" dev "fr$$"
  ip link set "fr$$" up
  ip -n "$name" address add "$address.2/30" dev eth0
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

# The first process of the new system does nothing; `inside` enters its namespaces.
start_system() {
  # `ip netns exec` would mount a new /sys, without the control groups.
  nsenter --net="/run/netns/$name" unshare --mount --propagation private --uts --ipc --pid --fork --kill-child \
    bash -c "$(declare -f enter_root); enter_root '$root' '$name'" &
  init=$!
  until [ -e "$root/started" ]; do
    kill -0 "$init" 2>/dev/null || fail "the new system does not start"
    sleep 0.1
  done
  inner=$(pgrep --parent "$init" | head -1)
}

# Runs in the new namespaces. It uses pivot_root because the kernel does not let processes in a chroot create user namespaces,
# which gVisor needs.
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

inside() {
  local settings
  mapfile -t settings <"$root/settings"
  nsenter --target "$inner" --mount --uts --ipc --net --pid --root --wd -- env --ignore-environment \
    HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    AGENT_SANDBOX_DATA_DIR="/var/lib/agent-sandbox-$name" "${settings[@]}" bash -euc "$1"
}

#!/usr/bin/env bash
# The first process of the node, in namespaces of its own: when it ends, the kernel ends all that runs on the node and removes the
# node's mounts and links. It prepares the mounts and runs the services, which are the executable files in <folder>/services; one that
# ends is started again, as a service manager does.
#
#   node.sh <folder> <node address>/<prefix> <host address> <node link> <cgroup name>
set -euo pipefail
folder=$1 address=$2 host=$3 link=$4 cgroup=$5

# Services and their children are members of a cgroup beside the one that the kubelet gives its Pods.
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
  [ ! -e "$hierarchy/$cgroup/node/cgroup.procs" ] || echo $$ >"$hierarchy/$cgroup/node/cgroup.procs"
done

# Volumes that containers mount must reach the kubelet, and nothing must reach the machine.
mount --make-rprivate /
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
# The kubelet writes here whatever its configuration says, and the provisioner of volumes below /tmp.
mount -t tmpfs -o mode=755 tmpfs /var/log
mkdir -p "$folder/tmp" && chmod 1777 "$folder/tmp"
mount --bind "$folder/tmp" /tmp
# The node asks no name server of the machine: images are loaded from archives.
mount --bind "$folder/config/resolv.conf" /etc/resolv.conf

# The kubelet requires these values. They belong to the machine, so it is shown files in their place.
while read -r name value; do
  file=$folder/sysctl/$name
  mkdir -p "$folder/sysctl"
  printf '%s\n' "$value" >"$file"
  mount --bind "$file" "/proc/sys/${name//.//}"
done <<'SYSCTLS'
vm.overcommit_memory 1
vm.panic_on_oom 0
kernel.panic 10
kernel.panic_on_oops 1
kernel.keys.root_maxkeys 1000000
kernel.keys.root_maxbytes 25000000
SYSCTLS

ip link set lo up
# The other end is in the machine, which creates the pair when this process exists.
until ip link show "$link" >/dev/null 2>&1; do sleep 0.02; done
ip addr add "$address" dev "$link"
ip link set "$link" up
ip route add default via "$host"
echo 1 >/proc/sys/net/ipv4/ip_forward
# Pods on one bridge reach each other through Services only if the bridge's packets pass kube-proxy's rules.
[ ! -e /proc/sys/net/bridge ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

declare -A services=()
run() {
  local name=$1 delay=$2
  { sleep "$delay"; exec "$folder/services/$name"; } >>"$folder/logs/$name.log" 2>&1 </dev/null &
  services[$!]=$name
  echo $! >"$folder/pids/$name"
}
for service in "$folder"/services/*; do run "$(basename "$service")" 0; done
while true; do
  ended=
  wait -n -p ended || true
  [ -n "$ended" ] || continue
  name=${services[$ended]}
  unset "services[$ended]"
  echo "$(date -u +%FT%TZ) $name ended" >>"$folder/logs/node.log"
  run "$name" 0.5
done

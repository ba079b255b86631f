#!/usr/bin/env bash
# Runs a script on a machine that looks as the documentation says: a box with its default addresses, its data in
# /var/lib/agent-sandbox, and nothing else. The machine has its own network, mounts and processes, so several can run side by side.
# Everything ends with the script.
#
#   test/docs/world.sh <scratch folder> <script>
set -euo pipefail
[ "${inside:-}" = yes ] || {
  mkdir -p "$1/data" /var/lib/agent-sandbox /opt /srv
  inside=yes exec unshare --net --mount --propagation private --uts --pid --fork --kill-child "$0" "$@"
}
unset inside

ip link set lo up
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
# /sys shows the interfaces of the network that mounts it.
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount --lazy /run/cgroup
# Pages may change the machine's files. Nothing of that reaches the machine.
mkdir /run/changes
for folder in /etc /opt /root /srv; do
  mkdir -p "/run/changes$folder/upper" "/run/changes$folder/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=/run/changes$folder/upper,workdir=/run/changes$folder/work" overlay "$folder"
done
mount --bind /tmp /tmp
mount -o remount,bind,ro /
# The present folder is still in the mount that is now read-only.
cd "$PWD"
# The node names its cgroups after its data folder, and they are the machine's. So each box has its own folder, which the default
# path shows.
mount --bind "$1/data" /var/lib/agent-sandbox
export AGENT_SANDBOX_DATA_DIR="$1/data"

agent-sandbox up >"$1/up.log" 2>&1 || { cat "$1/up.log" >&2; exit 1; }
status=0
timeout --signal=KILL "${PAGE_SECONDS:-240}" bash "$2" </dev/null || status=$?
agent-sandbox down --purge >"$1/down.log" 2>&1 </dev/null || [ ! -e "$1/data/box.json" ] || cat "$1/down.log" >&2
exit "$status"

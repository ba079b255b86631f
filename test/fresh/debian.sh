#!/usr/bin/env bash
# Runs `make up` on a new Debian 12 that has its own nodejs and npm, but no Go, gVisor or runc. Succeeds if the first sandbox prints
# the kernel of the wanted runtime; prints how long the first, the second and a restarted `make up` take.
#
#   test/fresh/debian.sh [gvisor|runc]
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/fresh/system.sh

runtime=${1:-gvisor}

timed() {
  local start=$SECONDS
  say "$1"
  inside "$2" 2>&1 | tee "$scratch/output"
  times+=("$(printf '%4d s  %s' "$((SECONDS - start))" "$1")")
}

say "a new Debian 12"
start_debian "fresh-$$"
connect_debian
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

#!/usr/bin/env bash
# Follows the README in a new Debian 12 that has nothing but what the README names: its requirements, `make up`, every block of
# commands, and every example. Succeeds if all of them do, and if the first sandbox has the kernel of the wanted runtime. Prints how long
# each block took.
#
#   test/fresh/debian.sh [gvisor|runc]
#
# PAGES names the pages that follow the README. Default: those of all examples.
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/fresh/system.sh

runtime=${1:-gvisor}
times=()

record() { times+=("$(printf '%8.1f s  %s' "$(($1))e-3" "$2")"); }

timed() {
  local began
  began=$(date +%s%3N)
  say "$1"
  inside "$2" 2>&1 | tee "$scratch/output"
  record $(($(date +%s%3N) - began)) "$1"
}

# Runs the blocks of a page as a reader would, in one shell. Its PATH is the second argument.
follow() {
  local time place status=0
  say "$1"
  node --conditions=source --disable-warning=ExperimentalWarning test/fresh/page.ts "$root/root/agent-sandbox" "$1" \
    >"$root/root/page.sh" || return
  inside "cd /root/agent-sandbox && PATH=$2 RUNTIME=$runtime bash /root/page.sh" 2>&1 | tee "$scratch/output" || status=$?
  while read -r _ time place; do record "$time" "$place"; done < <(grep '^times [0-9]* ' "$scratch/output")
  return "$status"
}

say "a new Debian 12"
start_debian "fresh-$$"
connect_debian
# Pages name the default data folder.
ln -s "agent-sandbox-$name" "$root/var/lib/agent-sandbox"
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99yes"
inside 'apt-get update -qq; for program in node npm make git curl go runsc runc; do ! command -v "$program" || exit 1; done'
git clone --quiet . "$root/root/agent-sandbox"

follow README.md '$PATH'
inside 'printf "node %s, npm %s\n" "$(node --version)" "$(npm --version)"; for program in go runc; do ! command -v "$program" || exit 1; done'
case $runtime in
  gvisor) grep -E 'Hello from my-sandbox: Linux .*gvisor' "$scratch/output" >/dev/null || fail "the sandbox does not run under gVisor" ;;
  runc) grep -F "Hello from my-sandbox: Linux $(uname -r)," "$scratch/output" >/dev/null || fail "the sandbox does not run with runc" ;;
esac
make_up="cd /root/agent-sandbox && make up RUNTIME=$runtime"
timed "make up again, while the box runs" "$make_up"
timed "make down and make up" "cd /root/agent-sandbox && make down && make up RUNTIME=$runtime"
timed "doctor" "cd /root/agent-sandbox && dist/agent-sandbox doctor"

pages=${PAGES-$(git -C "$root/root/agent-sandbox" ls-files examples/README.md 'examples/*/README.md')}
failed=()
for page in $pages; do
  # As the README says.
  follow "$page" '$PWD/dist:$PATH' || failed+=("$page")
done

inside 'cd /root/agent-sandbox && dist/agent-sandbox down --purge'
say "times with RUNTIME=$runtime"
printf '%s\n' "${times[@]}"
[ "${#failed[@]}" = 0 ] || fail "these pages failed: ${failed[*]}"

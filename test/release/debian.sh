#!/usr/bin/env bash
# Builds the release for this machine's architecture and installs it, as docs/install.md says, in a new Debian 12 that has neither
# Node nor Go, npm, gVisor, runc or a network. Succeeds if the first sandbox runs there under gVisor.
#
#   test/release/debian.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
. test/fresh/system.sh
export PATH="$PWD/node_modules/.bin:$PATH"

# make test counts this status as a skipped test.
[ "$(id -u)" = 0 ] || { echo 'skipped: needs root, to start a new Debian'; exit 77; }

architecture=$(uname -m | sed s/aarch64/arm64/)
node --conditions=source --disable-warning=ExperimentalWarning scripts/release.ts --architecture "$architecture"

# The packages that docs/install.md names.
start_debian "release-$$" conmon iproute2 nftables skopeo ca-certificates libatomic1
inside 'for program in node npm go runsc runc; do ! command -v "$program" || exit 1; done'
mkdir "$root/root/download"
cp dist/release/* "$root/root/download/"

say "install"
inside 'cd /root/download
sha256sum --check --ignore-missing SHA256SUMS
tar --extract --file agent-sandbox-*-linux-*.tar.gz --directory /opt
ln -s /opt/agent-sandbox-*/agent-sandbox /usr/local/bin/agent-sandbox'

say "versions"
version=$(node --print 'require("./package.json").version')
inside 'agent-sandbox --version
/opt/agent-sandbox-*/sandboxd-linux-* --version
/opt/agent-sandbox-*/runsc-linux-* --version
/opt/agent-sandbox-*/runc-linux-* --version' | tee "$scratch/versions"
grep -Fx "$version" "$scratch/versions" >/dev/null || fail "agent-sandbox does not have version $version"
grep -Fx "sandboxd $version" "$scratch/versions" >/dev/null || fail "sandboxd does not have version $version"

say "first sandbox"
inside 'cd /opt/agent-sandbox-*
agent-sandbox doctor
agent-sandbox up
agent-sandbox apply -f examples/first-sandbox.yaml
agent-sandbox wait sandbox/my-sandbox --for=condition=Ready --timeout=60s
agent-sandbox exec my-sandbox -- uname -a' | tee "$scratch/output"
grep -E '^Linux my-sandbox .*gvisor' "$scratch/output" >/dev/null || fail "the sandbox does not run under gVisor"

say "upgrade and uninstall"
inside 'ln --symbolic --force --no-dereference /opt/agent-sandbox-*/agent-sandbox /usr/local/bin/agent-sandbox
agent-sandbox down
agent-sandbox up
agent-sandbox exec my-sandbox -- true
agent-sandbox down --purge
rm -rf /usr/local/bin/agent-sandbox /opt/agent-sandbox-*
[ ! -e /usr/local/bin/agent-sandbox ]'

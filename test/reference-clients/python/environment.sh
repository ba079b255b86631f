#!/usr/bin/env bash
# Makes sure that a virtual environment with a version of k8s-agent-sandbox exists, and prints the path of its Python:
#   environment.sh 1.0.8    the pinned packages of requirements-1.0.8.txt
#   environment.sh newest   what the package index has today
# The first run installs and says so on stderr; later runs only look.
set -euo pipefail
cd "$(dirname "$0")"
wanted=$1

python=$(command -v python3) || { echo "python3 is not installed" >&2; exit 127; }
"$python" -c 'import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "Python 3.11 with the venv module is not installed (Debian: python3-venv)" >&2
  exit 127
}
command -v kubectl >/dev/null || { echo "kubectl is not installed" >&2; exit 127; }

if [ "$wanted" = newest ]; then
  recipe=$(date +%F)
  install=("k8s-agent-sandbox[async]" pytest)
else
  recipe=$(cat environment.sh "requirements-$wanted.txt" | sha256sum | cut -c1-8)
  install=(--no-deps --requirement "requirements-$wanted.txt")
fi
version=$("$python" -c 'import platform; print(platform.python_version())')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/venv-reference-$wanted-$version-$(uname -m)-$recipe

# The last thing that is written: what lacks it was interrupted.
stamp=$target/complete
finish() {
  touch "$target"
  printf '%s\n' "$target/bin/python"
  exit 0
}
[ -e "$stamp" ] && finish

# The kernel drops the lock when its last holder dies, so a killed install blocks nobody.
mkdir -p "$cache"
exec 9>"$cache/venv-reference-$wanted.lock"
flock --nonblock 9 || { echo "Waiting for another install to end" >&2; flock 9; }
[ -e "$stamp" ] && finish

echo "Installing k8s-agent-sandbox $wanted into $target" >&2
rm -rf "$target"
"$python" -m venv "$target" >&2
nice -n 10 "$target/bin/python" -m pip install --quiet "${install[@]}" >&2
touch "$stamp"
# What no test has used for a month is of an older version.
find "$cache" -maxdepth 1 -name 'venv-reference-*' -mtime +30 -exec rm -rf {} +
finish

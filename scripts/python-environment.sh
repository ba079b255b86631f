#!/usr/bin/env bash
# Makes sure that a virtual environment with some packages exists, and prints the path of its Python:
#   python-environment.sh <name> <requirements file> [python]
# Pinned packages (name==version) are installed without their dependencies. A file without versions gets what is newest today.
# The first run installs and says so on stderr; later runs only look. Exits with 127 if this Python cannot be used.
set -euo pipefail
name=$1 requirements=$2 wanted=${3:-python3}

python=$(command -v "$wanted") || { echo "$wanted is not installed" >&2; exit 127; }
version=$("$python" -c 'import platform, sys, venv, ensurepip; print(platform.python_version()); sys.exit(sys.version_info < (3, 11))' 2>/dev/null) || {
  echo "$wanted is older than Python 3.11 or lacks the venv module (Debian: python3-venv)" >&2
  exit 127
}
pinned=--no-deps today=
grep -q == "$requirements" || pinned= today=$(date +%F)
recipe=$( (cat "$0" "$requirements"; echo "$today") | sha256sum | cut -c1-8)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/venv-$name-$version-$(uname -m)-$recipe

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
exec 9>"$cache/venv-$name-$version.lock"
flock --nonblock 9 || { echo "Waiting for another install to end" >&2; flock 9; }
[ -e "$stamp" ] && finish

echo "Installing the packages of $requirements into $target" >&2
rm -rf "$target"
"$python" -m venv "$target" >&2
nice -n 10 "$target/bin/python" -m pip install --quiet $pinned --requirement "$requirements" >&2
touch "$stamp"
# What no test has used for a month is of an older version.
find "$cache" -maxdepth 1 -name "venv-$name-*" -mtime +30 -exec rm -rf {} +
finish

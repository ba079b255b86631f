#!/usr/bin/env bash
# Makes sure that a virtual environment with requirements.txt exists, and prints the path of its Python. The first run
# installs and says so on stderr; later runs only look.
set -euo pipefail
cd "$(dirname "$0")"

python=$(command -v python3) || { echo "python3 is not installed" >&2; exit 127; }
"$python" -c 'import venv, ensurepip' 2>/dev/null || {
  echo "Python's venv module is not installed (Debian: python3-venv)" >&2
  exit 127
}

version=$("$python" -c 'import platform; print(platform.python_version())')
recipe=$(cat environment.sh requirements.txt | sha256sum | cut -c1-8)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-sandbox
target=$cache/venv-clients-$version-$(uname -m)-$recipe

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
exec 9>"$cache/venv-clients.lock"
flock --nonblock 9 || { echo "Waiting for another install to end" >&2; flock 9; }
[ -e "$stamp" ] && finish

echo "Installing the Python client into $target" >&2
rm -rf "$target"
"$python" -m venv "$target" >&2
nice -n 10 "$target/bin/python" -m pip install --quiet --no-deps --requirement requirements.txt >&2
touch "$stamp"
# What no test has used for a month is of an older version.
find "$cache" -maxdepth 1 -name 'venv-clients-*' -mtime +30 -exec rm -rf {} +
finish

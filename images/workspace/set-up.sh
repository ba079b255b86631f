#!/bin/sh
# Runs as root in the new system, after its packages have been installed.
set -eu

groupadd --gid 1000 user
useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash user
# The folder of the runtime API. Root can write to it too.
install --directory --owner=user --group=user /workspace
# A mounted project may belong to another user.
git config --system safe.directory '*'
# Debian's own mirror instead of that of the machine which built the image.
rm -rf /etc/apt/sources.list.d/*
sed -n 's/^deb /deb /p' /usr/share/doc/apt/examples/sources.list >/etc/apt/sources.list
# The day of the last change of a password would be the day of the build.
sed -i 's/^\([^:]*:[^:]*:\)[0-9]*:/\1:/' /etc/shadow

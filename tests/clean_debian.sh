#!/usr/bin/env bash
# clean_debian.sh RELEASE FOLDER: makes a bare Debian of that release in FOLDER, and in it, on a clean clone and without any of
# the packages, runs README's two commands: deploy/demo.sh --once, then the suites of that release's own compiler and libraries.
# What podman's part is, the demo shows; the rest of the suites are the core lane's, and would take as long again.
# The folder becomes the root of a mount namespace, not of a chroot: from a chroot nobody may make user namespaces.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/host.sh
. "$HERE/../deploy/host.sh"

RELEASE=${1:?release} ROOT=${2:?folder}

# The way to the package sources is this machine's own, as in a sandbox image.
make_debian() {
  local packages=$SK_ROOT/deploy/image/host_packages.py mirrors lines=()
  mapfile -t mirrors < <(python3 "$packages" "$RELEASE" --mirrors)
  ((${#mirrors[@]} == 0)) || lines=("deb ${mirrors[0]} $RELEASE main" "deb ${mirrors[0]} $RELEASE-updates main"
    "deb ${mirrors[1]} $RELEASE-security main")
  mmdebstrap --quiet --variant=minbase --include=ca-certificates,git --format=directory "$RELEASE" "$ROOT" "${lines[@]}"
  python3 "$packages" "$RELEASE" "$ROOT"
}

clone() {
  git clone -q "$SK_ROOT" "$ROOT/srv/sandkeep"
  # What is tested is what stands here, committed or not.
  git -C "$SK_ROOT" ls-files -co --exclude-standard -z |
    tar -C "$SK_ROOT" --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -C "$ROOT/srv/sandkeep" -xf -
}

# Runs in the namespace's own mounts; $1 is the new root, $2 the caches, which know what they hold by a hash of what it was made from.
# shellcheck disable=SC2016 # expanded inside
inside='set -eu
  mount --bind "$1" "$1"
  cd "$1"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs -o mode=0755 tmpfs run
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mkdir -p run/old root/.cache/sandkeep
  mount --bind "$2" root/.cache/sandkeep
  pivot_root . run/old
  umount -l /run/old
  cd /srv/sandkeep
  export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  deploy/demo.sh --once
  exec tests/run.sh unit integration'

make_debian
clone
exec unshare --mount --pid --fork --propagation private bash -c "$inside" _ "$ROOT" "$SK_CACHE"

# shellcheck shell=bash
# A Debian in a folder: how one is made, and how something runs in it as on a machine of its own. Sourced by clean_debian.sh and
# vm/build_disk.sh, after deploy/host.sh.

# make_debian RELEASE TARGET FORMAT VARIANT PACKAGES [OPTION…]: PACKAGES are separated by commas, the options are mmdebstrap's.
# The way to the package sources is this machine's own, as in a sandbox image.
make_debian() {
  local release=$1 target=$2 format=$3 variant=$4 packages=$5 mirrors lines=()
  shift 5
  mapfile -t mirrors < <(python3 "$SK_ROOT/deploy/image/host_packages.py" "$release" --mirrors)
  ((${#mirrors[@]} == 0)) || lines=("deb ${mirrors[0]} $release main" "deb ${mirrors[0]} $release-updates main"
    "deb ${mirrors[1]} $release-security main")
  mmdebstrap --quiet --variant="$variant" --include="$packages" --format="$format" "$@" "$release" "$target" "${lines[@]}"
}

# in_debian ROOT FOLDER PLACE COMMAND [ARG…]: runs a bash command in that Debian, with a folder of this machine mounted at a place in
# it. ROOT becomes the root of a mount namespace, not of a chroot: from a chroot nobody may make user namespaces.
in_debian() { unshare --mount --pid --fork --propagation private bash -c "$ENTER_DEBIAN" _ "$@"; }

# shellcheck disable=SC2016 # expanded inside
ENTER_DEBIAN='set -eu
  mount --bind "$1" "$1"
  cd "$1"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs -o mode=0755 tmpfs run
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mkdir -p run/old "./$3"
  mount --bind "$2" "./$3"
  pivot_root . run/old
  umount -l /run/old
  export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  exec bash -c "set -eu; $4" _ "${@:5}"'

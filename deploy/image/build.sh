#!/usr/bin/env bash
# Builds the image that sandboxes run in, in the storage of the engine's user. Ends at once when
# what it is built from has not changed. --fresh: with a new base and today's packages.
set -euo pipefail

# shellcheck source=deploy/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../host.sh"

IMAGE=localhost/sandkeep-sandbox
BASE_IMAGE=localhost/sandkeep-base
REGISTRY_IMAGE=debian:trixie-slim
SUITE=trixie
LABEL=sandkeep.input
HERE=$SK_ROOT/deploy/image
PULL_SECONDS=300

# Runs a command, and shows what it printed only when it fails.
quietly() {
  local log=$CONTEXT.log
  "$@" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    sk_die "failed: ${*:1:3} …"
  }
}

# The build's context, readable for the engine's user: the Dockerfile as far as it makes a sandbox,
# and what is laid over the base: our own files and this machine's way to its package sources.
lay_out_context() {
  mkdir -p "$CONTEXT/deploy/image"
  sed '/^FROM .* AS build$/,$d' "$SK_ROOT/Dockerfile" >"$CONTEXT/Dockerfile"
  cp -R "$HERE/rootfs" "$CONTEXT/deploy/image/"
  python3 "$HERE/host_packages.py" "$SUITE" "$CONTEXT/deploy/image/rootfs"
  chmod -R u=rwX,go=rX "$CONTEXT"
}

# One hash over every file's path, mode and content, and over the names above.
hash_input() {
  (
    cd "$CONTEXT"
    printf '%s\n' "$IMAGE" "$SUITE" "$REGISTRY_IMAGE"
    find . -printf '%m %P %l\n' | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  ) | sha256sum | cut -d' ' -f1
}

label_of_image() {
  sk_podman image inspect --format "{{index .Labels \"$LABEL\"}}" "$IMAGE" 2>/dev/null || true
}

# Leaves the base's name in BASE.
find_base() {
  if sk_podman image exists "$REGISTRY_IMAGE" && [[ -z $FRESH ]]; then
    BASE=$REGISTRY_IMAGE
  elif sk_as_agent timeout "$PULL_SECONDS" podman pull -q "$REGISTRY_IMAGE" >/dev/null 2>&1; then
    BASE=$REGISTRY_IMAGE
  else
    sk_say "no registry can be reached: making a base from Debian's packages"
    sk_install_packages image
    import_base
    BASE=$BASE_IMAGE
  fi
}

import_base() {
  local mirrors tarball input
  mapfile -t mirrors < <(python3 "$HERE/host_packages.py" "$SUITE" --mirrors)
  input=$(cat "$HERE/rootfs/etc/dpkg/dpkg.cfg.d/90sandkeep" \
    <(declare -f make_base) <(printf '%s\n' "${mirrors[@]}") | sha256sum | cut -c1-16)
  tarball=$SK_CACHE/base-$input.tar
  [[ -f $tarball && -z $FRESH ]] || make_base "$tarball" "${mirrors[@]}"
  sk_podman import -q - "$BASE_IMAGE" <"$tarball" >/dev/null
}

# make_base TARBALL [ARCHIVE SECURITY]: without the two, mmdebstrap takes Debian's own.
make_base() {
  local tarball=$1 lines=()
  (($# == 1)) || lines=("deb $2 $SUITE main" "deb $2 $SUITE-updates main" "deb $3 $SUITE-security main")
  mkdir -p "$SK_CACHE"
  rm -f "$SK_CACHE"/base-*.tar "$SK_CACHE"/base-*.tar.new
  quietly mmdebstrap --quiet --variant=minbase --include=ca-certificates \
    --dpkgopt="$HERE/rootfs/etc/dpkg/dpkg.cfg.d/90sandkeep" --format=tar \
    "$SUITE" "$tarball.new" "${lines[@]}"
  mv "$tarball.new" "$tarball"
}

build_image() {
  quietly sk_podman build -q --target sandbox --tag "$IMAGE" --label "$LABEL=$1" \
    --build-arg "BASE=$BASE" --pull-never --isolation=chroot --network=host --layers=false \
    "$CONTEXT"
}

# Removes the images that this one replaces, but for those that a container still uses.
remove_old_images() {
  local old
  for old in $(sk_podman images -q --filter dangling=true --filter "label=$LABEL"); do
    sk_podman image rm "$old" >/dev/null 2>&1 || true
  done
}

# The first container of an image waits until every file of it has been given to the ids that
# sandboxes use. Better now than in someone's first command.
map_ids() {
  local container
  container=$(sk_podman create --userns=nomap --network none --pull=never "$IMAGE" true)
  sk_podman container init "$container" >/dev/null
  sk_podman rm -f -t 0 "$container" >/dev/null
}

FRESH=
case ${1:-} in
  '') ;;
  --fresh) FRESH=yes ;;
  *) sk_die "usage: build.sh [--fresh]" ;;
esac
sk_install_packages run
sk_create_users
sk_prepare_host

CONTEXT=$(mktemp -d)
trap 'rm -rf "$CONTEXT" "$CONTEXT.log"' EXIT
chmod 0755 "$CONTEXT"
lay_out_context
INPUT=$(hash_input)
if [[ -n $FRESH || $(label_of_image) != "$INPUT" ]]; then
  sk_say "building the image $IMAGE; this takes a minute or two"
  find_base
  build_image "$INPUT"
  map_ids
  remove_old_images
fi

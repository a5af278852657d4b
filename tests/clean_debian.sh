#!/usr/bin/env bash
# clean_debian.sh RELEASE FOLDER [SUITE…]: makes a bare Debian of that release in FOLDER, and in it, on a clean clone and without any of
# the packages, runs README's two commands: deploy/demo.sh --once, then tests/run.sh, with those suites or with all.
# The last line is the suites' `N passed, N failed, N skipped`.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/host.sh
. "$HERE/../deploy/host.sh"
# shellcheck source=tests/debian_root.sh
. "$HERE/debian_root.sh"

RELEASE=${1:?release} ROOT=${2:?folder}
shift 2

clone() {
  git clone -q "$SK_ROOT" "$ROOT/srv/sandkeep"
  # What is tested is what stands here, committed or not.
  git -C "$SK_ROOT" ls-files -co --exclude-standard -z |
    tar -C "$SK_ROOT" --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -C "$ROOT/srv/sandkeep" -xf -
}

make_debian "$RELEASE" "$ROOT" directory minbase ca-certificates,git
python3 "$SK_ROOT/deploy/image/host_packages.py" "$RELEASE" "$ROOT"
clone
# The caches know what they hold by a hash of what it was made from.
in_debian "$ROOT" "$SK_CACHE" root/.cache/sandkeep 'cd /srv/sandkeep
  deploy/demo.sh --once
  exec tests/run.sh "$@"' "$@"

#!/usr/bin/env bash
# Measures what Sandkeep promises of speed and memory, as ratios taken in one run.
#   tests/bench/run.sh [--json FILE] [ROW…]
# What two processes that do nothing need for such calls here: build/release/tests/bench/floor AT_ONCE SECONDS, and for
# a command's: stream_floor AT_ONCE SECONDS.
# Exit 0: every row that ran is ok; 1: one falls short; 3: a row could not run (its reason is in the table).
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/host.sh
. "$HERE/../../deploy/host.sh"

sk_install_packages build run test image
sk_create_users
sk_prepare_host
sk_build release "${SK_EXECUTABLES[@]}" job_overhead floor stream_floor
"$SK_ROOT/deploy/image/build.sh"
SANDKEEP_BUILD=$SK_ROOT/build/release PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SK_ROOT/tests/e2e \
  exec python3 "$HERE/bench.py" "$@"

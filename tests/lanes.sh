# shellcheck shell=bash
# The lanes of CI: which suites run over which build. Sourced by run.sh.

LANES=(core asan tsan clang debian12 debian13 fuzz vm)

run_lanes() {
  local lane started
  for lane in "$@"; do
    declare -F "lane_$lane" >/dev/null || sk_die "no lane named '$lane': ${LANES[*]}"
  done
  for lane in "$@"; do
    started=$SECONDS
    printf '\n==== lane %s\n' "$lane"
    "lane_$lane"
    printf '==== lane %s took %d s\n' "$lane" $((SECONDS - started))
  done
}

lane_core() { PRESET=ci run_suites format rules tidy unit corpora integration contract e2e faults conformance interop demo; }

# What a sanitizer can see: our own code, on the real init and real sockets.
lane_asan() {
  ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 \
    PRESET=asan run_suites unit integration contract
}

lane_tsan() {
  TSAN_OPTIONS="suppressions=$HERE/tsan.supp:second_deadlock_stack=1" PRESET=tsan run_suites unit integration
}

lane_clang() {
  PRESET=clang run_suites unit integration
}

lane_debian12() { clean_debian bookworm; }
lane_debian13() { clean_debian trixie; }

# What anybody can send, looked for by libFuzzer for a minute each.
lane_fuzz() {
  ASAN_OPTIONS=detect_stack_use_after_return=1 PRESET=fuzz run_suites fuzz
}

# The emulated host runs what was built here, so it is of this machine's release.
lane_vm() { PRESET=ci run_suites vm; }

# A fresh Debian in a folder: a copy of the clone builds there with that release's compiler and libraries, and its demo and its unit
# and integration tests pass. The demo shows podman's part; the other suites are the core lane's, and would take as long again.
clean_debian() { PRESET=$1 run_suite clean_debian; }

suite_clean_debian() {
  local release=$PRESET root log status=0 counts
  sk_install_packages image
  root=$(mktemp -d /var/tmp/sandkeep-clean.XXXXXXXX) log=$(mktemp)
  "$HERE/clean_debian.sh" "$release" "$root" unit integration 2>&1 | tee "$log" || status=1
  rm -rf --one-file-system "$root"
  # What ran in there is counted here; the demo is one more.
  read -r -a counts < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log" | tail -n 1) || true
  rm -f "$log"
  ((${#counts[@]} == 0)) || count "${counts[@]}"
  check "a clean clone on $release" test "$status" = 0
}

#!/usr/bin/env bash
# Runs the tests, and installs what they need first.
#   tests/run.sh                  every suite but docker, fuzz and vm
#   tests/run.sh SUITE…           some: format rules tidy unit corpora integration contract e2e faults conformance interop demo
#                                 docker fuzz vm
#   tests/run.sh --lane LANE      one lane of CI: core asan tsan clang debian12 debian13 fuzz vm
#   tests/run.sh --all            every lane
# Each suite, and the whole run, ends with a line `N passed, N failed, N skipped`.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/host.sh
. "$HERE/../deploy/host.sh"
# shellcheck source=tests/suites.sh
. "$HERE/suites.sh"
# shellcheck source=tests/lanes.sh
. "$HERE/lanes.sh"

main() {
  cd "$SK_ROOT"
  trap end_of_run EXIT
  case ${1:-} in
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      return
      ;;
    --all)
      # Of either process, under load; CI has twenty.
      export SANDKEEP_DEATHS=100
      run_lanes "${LANES[@]}"
      ;;
    --lane) run_lanes "${2:?--lane needs a name: ${LANES[*]}}" ;;
    '') run_suites "${SUITES[@]}" ;;
    *) run_suites "$@" ;;
  esac
  print_total
  all_passed
}

main "$@"

# shellcheck shell=bash
# The suites: each a function suite_NAME that adds to the counts. Sourced by run.sh.

SUITES=(format rules tidy unit corpora integration contract e2e faults conformance interop demo)
# Those that run when they are named: they take long, or need what not every machine has.
NAMED_SUITES=(docker fuzz vm)
# The build that suites test; lanes set another.
PRESET=${PRESET:-ci}
# A line `passed failed skipped` for each thing counted.
COUNTS=$(mktemp)
# Until the total is printed.
RUNNING=

run_suites() {
  local suite
  for suite in "$@"; do
    declare -F "suite_$suite" >/dev/null || sk_die "no suite named '$suite': ${SUITES[*]} ${NAMED_SUITES[*]}"
  done
  RUNNING=yes
  sk_install_packages build run test
  for suite in "$@"; do run_suite "$suite"; done
}

# In a subshell, so that a suite that can't go on (its build failed, say) ends itself alone, as failed.
run_suite() {
  local suite=$1 started=$SECONDS lines status=0
  printf '\n== %s (%s)\n' "$suite" "$PRESET"
  lines=$(wc -l <"$COUNTS")
  set +e
  (
    set -e
    "suite_$suite"
  )
  status=$?
  set -e
  if ((status != 0)); then
    printf 'FAILED: the suite %s ended early\n' "$suite"
    count 0 1 0
  elif (($(wc -l <"$COUNTS") == lines)); then
    printf 'FAILED: the suite %s has nothing to run\n' "$suite"
    count 0 1 0
  fi
  printf '%s: %s (%d s)\n' "$suite" "$(sum_counts "$lines")" $((SECONDS - started))
}

# sum_counts SKIP: of the lines after the first SKIP.
sum_counts() {
  awk -v skip="$1" 'NR > skip { p += $1; f += $2; s += $3 }
    END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$COUNTS"
}

print_total() {
  RUNNING=
  printf '\n%s\n' "$(sum_counts 0)"
}

# Whatever ends the run, it ends with the line that whoever started it waits for.
end_of_run() {
  if [[ -n $RUNNING ]]; then
    printf 'FAILED: the run ended early\n'
    count 0 1 0
    print_total
  fi
  rm -f "$COUNTS"
}

all_passed() { awk '{ p += $1; f += $2 } END { exit !(p > 0 && f == 0) }' "$COUNTS"; }

count() { printf '%d %d %d\n' "$1" "$2" "$3" >>"$COUNTS"; }

# check NAME COMMAND…: one test that is a command.
check() {
  local name=$1
  shift
  if "$@"; then
    count 1 0 0
  else
    printf 'FAILED: %s\n' "$name"
    count 0 1 0
  fi
}

# --- what needs no build -------------------------------------------------------------------------

our_sources() { git ls-files -co --exclude-standard '*.cc' '*.h'; }

suite_format() {
  # shellcheck disable=SC2046 # our file names have no spaces
  check 'clang-format' clang-format-19 --dry-run --Werror $(our_sources)
  # shellcheck disable=SC2046
  check 'shellcheck' shellcheck -x $(git ls-files -co --exclude-standard '*.sh' .ci/run)
}

suite_rules() {
  build_executables
  local rule
  for rule in "$HERE"/rules/*.py; do
    check "rules/${rule##*/}" python3 "$rule" "$SK_ROOT" "$SK_ROOT/build/$PRESET"
  done
}

# clang-tidy on what changed: since the merge base in CI, else what is not committed and the last commit.
suite_tidy() {
  local base files
  build_executables
  base=$(git merge-base HEAD "${TIDY_BASE:-HEAD~1}" 2>/dev/null || git rev-list --max-parents=0 HEAD | tail -n 1)
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- '*.cc'; git ls-files -o --exclude-standard '*.cc'; } | sort -u)
  ((${#files[@]})) || { check 'no changed files' true; return; }
  check "clang-tidy on ${#files[@]} files" tidy_files "${files[@]}"
}

# Two at a time; g++-only warning flags mean nothing to clang.
tidy_files() {
  printf '%s\0' "$@" | xargs -0 -n 1 -P "$(sk_jobs)" \
    clang-tidy-19 --quiet -p "build/$PRESET" --extra-arg=-Wno-unknown-warning-option 2>/dev/null
}

# --- GoogleTest ----------------------------------------------------------------------------------

build_executables() { sk_build "$PRESET"; }
build_tests() { sk_build "$PRESET" all; }

# gtest_folder FOLDER [RUNNER…]: every test program below build/PRESET/tests/FOLDER.
gtest_folder() {
  local folder=$SK_ROOT/build/$PRESET/tests/$1 program
  shift
  while read -r program; do gtest_program "$program" "$@"; done < <(
    find "$folder" -type f -executable -name '*_test' | sort)
}

# A sanitizer reports a leak, and a race that broke no test, after the report is written: by the exit status alone.
gtest_program() {
  local program=$1 report log status=0
  shift
  report=$(mktemp --suffix=.json) log=$(mktemp)
  chmod 0666 "$report"
  "$@" timeout 600 "$program" --gtest_output="json:$report" --gtest_brief=1 >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    printf 'FAILED: %s (exit status %d)\n' "${program##*/}" "$status"
    # What failed, and not what was logged meanwhile.
    grep -vE "^(debug|info|warning) " "$log" | tail -n 60 || true
  fi
  # Where, and why.
  grep -h ': Skipped$' -A1 "$log" | head -n 20 || true
  local counts
  # shellcheck disable=SC2207 # three numbers
  counts=($(python3 "$HERE/gtest_counts.py" "$report"))
  ((status == 0 || counts[1] > 0)) || counts[1]=1
  count "${counts[@]}"
  rm -f "$report" "$log"
}

suite_unit() {
  build_tests
  prepare_live_host
  gtest_folder unit
}

suite_integration() {
  build_tests
  gtest_folder integration
}

# The contract of the container runtime holds for the fake and for real podman, which only its own user can run. That user can't
# look into every clone, so it runs a copy.
suite_contract() {
  local copy
  build_tests
  prepare_live_host
  copy=$(mktemp -d /tmp/sandkeep-contract.XXXXXXXX)
  chmod 0755 "$copy"
  cp build/"$PRESET"/tests/contract/*_test build/"$PRESET"/agent/init/sandkeep-init \
    build/"$PRESET"/agent/file_process/sandkeep-files "$copy"
  local program
  for program in "$copy"/*_test; do gtest_program "$program" run_as_agent "$copy"; done
  rm -rf "$copy"
}

run_as_agent() {
  local dir=$1 sanitizers
  shift
  mapfile -t sanitizers < <(env | grep -E '^(ASAN|UBSAN|TSAN)_OPTIONS=')
  sk_as_agent "SANDKEEP_TEST_INIT=$dir/sandkeep-init" "SANDKEEP_TEST_FILES=$dir/sandkeep-files" \
    "${sanitizers[@]}" "$@"
}

# --- what anybody can send ------------------------------------------------------------------------

# One target a folder of tests/fuzz/corpus.
fuzz_targets() { (cd "$HERE/fuzz/corpus" && printf '%s\n' *); }

# What fuzzing has found worth keeping, in the build that is tested.
suite_corpora() {
  local target targets
  mapfile -t targets < <(fuzz_targets)
  sk_build "$PRESET" "${targets[@]/%/_replay}"
  for target in "${targets[@]}"; do
    check "the corpus of $target" quietly "build/$PRESET/tests/fuzz/${target}_replay" "$HERE/fuzz/corpus/$target"
  done
}

# Shows what a command said only if it failed.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  ((status == 0)) || tail -n 60 "$log"
  rm -f "$log"
  return "$status"
}

# A minute each. What is found lies in build/PRESET/artifacts/fuzz.
suite_fuzz() {
  local target targets
  mapfile -t targets < <(fuzz_targets)
  sk_build "$PRESET" "${targets[@]/%/_fuzz}"
  for target in "${targets[@]}"; do check "fuzzing $target" fuzz_for "${FUZZ_SECONDS:-60}" "$target"; done
}

fuzz_for() {
  local seconds=$1 target=$2 found=$SK_ROOT/build/$PRESET/artifacts/fuzz/$2
  mkdir -p "$found/new"
  quietly "build/$PRESET/tests/fuzz/${target}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$found/" "$found/new" "$HERE/fuzz/corpus/$target"
}

# --- live ----------------------------------------------------------------------------------------

prepare_live_host() {
  sk_install_packages image
  sk_create_users
  sk_prepare_host
  "$SK_ROOT/deploy/image/build.sh"
}

# pytest_folder FOLDER: its tests against a live agent and gateway.
pytest_folder() {
  local report counts
  report=$(mktemp --suffix=.xml)
  SANDKEEP_BUILD=$SK_ROOT/build/$PRESET PYTHONDONTWRITEBYTECODE=1 \
    timeout 1800 python3 -m pytest -c "$HERE/$1/pytest.ini" --junit-xml="$report" "$HERE/$1" </dev/null || true
  # shellcheck disable=SC2207 # three numbers
  counts=($(python3 "$HERE/junit_counts.py" "$report"))
  count "${counts[@]}"
  rm -f "$report"
}

need_pytest() { python3 -c 'import pytest' 2>/dev/null || sk_install_packages pytest; }

suite_e2e() {
  build_executables
  prepare_live_host
  need_pytest
  pytest_folder e2e
}

# Commands and programs that mean harm, deaths under load, full disks.
suite_faults() {
  sk_build "$PRESET" "${SK_EXECUTABLES[@]}" sandkeep_testcases
  prepare_live_host
  need_pytest
  pytest_folder faults
}

# The official conformance suite, against a gateway with its fixtures and against the shipped one.
suite_conformance() {
  sk_build "$PRESET" "${SK_EXECUTABLES[@]}" sandkeep-conformance-gateway
  prepare_live_host
  need_pytest
  need_node_modules "$HERE/conformance"
  pytest_folder conformance
}

suite_interop() {
  build_executables
  prepare_live_host
  need_pytest
  need_node_modules "$HERE/interop"
  pytest_folder interop
}

# An emulated host with cgroup v2, in which the agent and the gateway are system units: what no machine without them can show.
suite_vm() {
  sk_build "$PRESET" "${SK_EXECUTABLES[@]}" sandkeep_testcases
  sk_install_packages image vm
  need_pytest
  pytest_folder vm
}

# The two processes' own images, and the gateway's as deploy/container/compose.yaml runs it, beside an agent of this build. The images are
# built from nothing, which takes long, so no other suite waits for them.
suite_docker() {
  local target
  build_executables
  sk_install_packages docker
  prepare_live_host
  need_pytest
  for target in gateway agent; do
    check "the image target $target builds and its program runs" image_target_runs "$target"
  done
  # Root's own storage: the agent is to see the image's user as what it is.
  check "root's engine takes the gateway's image" load_for_root "$(test_image gateway)"
  SANDKEEP_GATEWAY_IMAGE=$(test_image gateway) pytest_folder docker
  for target in gateway agent; do sk_podman image rm -f "$(test_image "$target")" >/dev/null || true; done
  podman image rm -f "$(test_image gateway)" >/dev/null || true
  # What the two were built upon has no name.
  sk_podman image prune -f >/dev/null
}

test_image() { echo "localhost/sandkeep-test-$1"; }
load_for_root() { sk_podman save -q "$1" | podman load -q >/dev/null; }

# The second target takes over what the first one compiled.
image_target_runs() {
  local target=$1 base=debian:trixie-slim context image status=0
  # Where no registry can be reached, what build.sh made knows this machine's way to packages.
  sk_podman image exists "$base" || base=localhost/sandkeep-sandbox
  image=$(test_image "$target")
  context=$(mktemp -d)
  git ls-files -co --exclude-standard -z | tar --null --ignore-failed-read -T - -cf - | tar -C "$context" -xf -
  chmod -R u=rwX,go=rX "$context"
  sk_podman build -q -t "$image" --target "$target" --build-arg "BASE=$base" --pull-never --isolation=chroot --network=host --layers \
    "$context" >/dev/null || status=1
  ((status)) || sk_podman run --rm --network none --userns=nomap --pull=never "$image" --version || status=1
  ((status)) || [[ $target != gateway ]] || serves_confined "$image" || status=1
  rm -rf "$context"
  return "$status"
}

# serves_confined IMAGE: the gateway has no engine, and needs neither a root that it can write to nor a capability.
serves_confined() {
  local image=$1 name=sandkeep-test-gateway port status=0
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  sk_podman run --rm --network none --pull=never --entrypoint /bin/sh "$image" -c '! command -v podman crun runc' || return
  sk_podman run -d --name "$name" --read-only --cap-drop=ALL --security-opt=no-new-privileges --network host --pull=never \
    -e "SANDBOX_PORT=$port" -e SANDBOX_HOST=127.0.0.1 "$image" >/dev/null
  curl -fsS --noproxy '*' --retry 20 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$port/healthz" || status=1
  sk_podman rm -f -t 0 "$name" >/dev/null
  return "$status"
}

# The pinned clients, kept by a hash of their lock file.
need_node_modules() {
  local dir=$1 cache
  command -v npm >/dev/null || sk_install_packages node
  cache=$SK_CACHE/node_modules/$(sha256sum <"$dir/package-lock.json" | cut -c1-16)
  if [[ ! -f $cache/complete ]]; then
    rm -rf "$cache" && mkdir -p "$cache"
    cp "$dir/package.json" "$dir/package-lock.json" "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund >&2) || return
    touch "$cache/complete"
  fi
  ln -sfn "$cache/node_modules" "$dir/node_modules"
}

# --- README's first command ----------------------------------------------------------------------

# It installs, builds and makes the image by itself.
suite_demo() {
  need_pytest
  need_node_modules "$HERE/interop"
  pytest_folder demo
}

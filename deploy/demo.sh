#!/usr/bin/env bash
# Sets this machine up, builds Sandkeep, runs it without systemd, shows what it does, and leaves it
# running until Ctrl-C. Settings in the environment (SANDBOX_PORT=9000 deploy/demo.sh) reach the
# processes; the .env.example files beside this script name them all.
set -euo pipefail

# shellcheck source=deploy/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/host.sh"

USAGE="usage: demo.sh [--once] [--ready-file FILE]
  --once             stop after the demonstration
  --ready-file FILE  when both processes answer, write SANDKEEP_URL, SANDKEEP_KEY and
                     SANDKEEP_KEY2 (of a second principal) to FILE as shell assignments"

STATE=/var/lib/sandkeep-demo
RUN=/run/sandkeep-demo
BIN=$STATE/bin
AGENT_STATE=$STATE/agent
GATEWAY_STATE=$STATE/gateway
KEYS=$STATE/keys
LOGS=$STATE/log
SOCKET=$RUN/agent/agent.sock
NO_ENV_FILE=--env_file=/dev/null # else an installation's settings would be the demo's

START_SECONDS=30 # for a process to answer
STOP_SECONDS=10  # for a process to end before it is killed
RESTARTS=5       # of processes that live for less than that, before the demo gives up

ONCE=
READY_FILE=
declare -A PID=() # what runs: step, agent, gateway

# --- options -------------------------------------------------------------------------------------

parse_options() {
  while (($#)); do
    case $1 in
      --once) ONCE=yes ;;
      --ready-file)
        READY_FILE=${2:-}
        [[ -n $READY_FILE ]] || sk_die "--ready-file needs a file name"
        shift
        ;;
      -h | --help)
        printf '%s\n' "$USAGE"
        exit
        ;;
      *) sk_die "unknown option $1
$USAGE" ;;
    esac
    shift
  done
}

check_ready_file() {
  [[ -n $READY_FILE ]] || return 0
  [[ ! -L $READY_FILE ]] || sk_die "$READY_FILE is a symbolic link: not written through"
  [[ ! -e $READY_FILE || -f $READY_FILE ]] || sk_die "$READY_FILE is not a regular file"
  [[ -d $(dirname -- "$READY_FILE") ]] || sk_die "$READY_FILE: no such directory"
}

# Whoever waits for the file must not read yesterday's. Under the lock: until then it may be that of
# a demo that runs.
remove_old_ready_file() { [[ -z $READY_FILE ]] || rm -f -- "$READY_FILE"; }

write_ready_file() {
  local new
  [[ -n $READY_FILE ]] || return 0
  [[ ! -L $READY_FILE ]] || sk_die "$READY_FILE is a symbolic link: not written through"
  new=$(mktemp -- "$(dirname -- "$READY_FILE")/.ready.XXXXXXXX") # 0600
  printf 'SANDKEEP_URL=%q\nSANDKEEP_KEY=%q\nSANDKEEP_KEY2=%q\n' "$URL" "$KEY" "$KEY2" >"$new"
  mv -fT -- "$new" "$READY_FILE"
}

# --- processes -----------------------------------------------------------------------------------

# launch NAME COMMAND…: in the background and in a process group of its own, so that a Ctrl-C on
# the terminal reaches this script alone, which then ends everything in order.
launch() {
  local name=$1
  shift
  set -m
  { exec </dev/null 9>&- && "$@"; } &
  PID[$name]=$!
  set +m
}

# A part of the set-up that takes long: a signal ends it at once.
step() {
  local rc=0
  launch step "$@"
  wait "${PID[step]}" || rc=$?
  unset 'PID[step]'
  return "$rc"
}

# stop_process NAME: SIGTERM, and SIGKILL for what doesn't heed it.
stop_process() {
  local pid=${PID[$1]:-} tries=0
  [[ -n $pid ]] || return 0
  unset "PID[$1]"
  kill -TERM "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do
    if ((++tries > STOP_SECONDS * 20)); then kill -KILL "$pid" 2>/dev/null || true; fi
    sleep 0.05
  done
  wait "$pid" 2>/dev/null || true
}

# The settings of one process that stand in our environment, as NAME=value, each ended by a NUL.
settings_from_environment() {
  local example=$SK_ROOT/deploy/$1.env.example name
  sed -nE 's/^# ([A-Z][A-Z0-9_]*)=.*/\1/p; s/.*Alias: ([A-Z_]+).*/\1/p' "$example" |
    while read -r name; do
      [[ ! -v $name ]] || printf '%s=%s\0' "$name" "${!name}"
    done
}

run_agent() {
  local settings
  mapfile -d '' settings < <(settings_from_environment agent)
  exec >>"$LOGS/agent.log" 2>&1
  sk_exec_as "$SK_AGENT_USER" "$SK_AGENT_HOME" XDG_RUNTIME_DIR="$SK_ENGINE_RUN" \
    SANDBOX_NETWORK=full INIT_PATH="$BIN/sandkeep-init" FILES_PATH="$BIN/sandkeep-files" \
    IMAGER_PATH="$BIN/sandkeep-imager" "${settings[@]}" STATE_DIR="$AGENT_STATE" AGENT_SOCKET="$SOCKET" \
    "$BIN/sandkeep-agent" "$NO_ENV_FILE"
}

# gateway [ARGUMENT…]: becomes sandkeep-gateway with the demo's settings.
gateway() {
  local settings
  mapfile -d '' settings < <(settings_from_environment gateway)
  sk_exec_as "$SK_GATEWAY_USER" "$SK_GATEWAY_HOME" "${settings[@]}" \
    STATE_DIR="$GATEWAY_STATE" AGENT_SOCKET="$SOCKET" SANDBOX_PORT="$PORT" \
    "$BIN/sandkeep-gateway" "$NO_ENV_FILE" "$@"
}

run_gateway() {
  exec >>"$LOGS/gateway.log" 2>&1
  gateway
}

ctl() { "$BIN/sandkeepctl" --agent_socket="$SOCKET" "$@"; }

agent_answers() { ctl info >/dev/null 2>&1; }

gateway_answers() { curl -fsS --noproxy '*' -m 2 -o /dev/null "$BASE_URL/healthz" 2>/dev/null; }

# start NAME: launches run_NAME and waits until NAME_answers.
start() {
  local name=$1 deadline=$((SECONDS + START_SECONDS))
  : >"$LOGS/$name.log"
  launch "$name" "run_$name"
  until "${name}_answers"; do
    kill -0 "${PID[$name]}" 2>/dev/null || fail_with_log "$name" "ended at once"
    ((SECONDS < deadline)) || fail_with_log "$name" "does not answer"
    sleep 0.05
  done
}

fail_with_log() {
  tail -n 20 "$LOGS/$1.log" >&2
  sk_die "sandkeep-$1 $2; its log is $LOGS/$1.log"
}

# Starts a process that ended by itself again, as a service manager would.
keep_running() {
  local name ended since=$SECONDS left=$RESTARTS
  while :; do
    ended=
    wait -n -p ended "${PID[agent]}" "${PID[gateway]}" || true
    ((SECONDS - since <= START_SECONDS)) || left=$RESTARTS
    since=$SECONDS
    for name in agent gateway; do
      [[ ${PID[$name]} == "$ended" ]] || continue
      ((left-- > 0)) || fail_with_log "$name" "ends again and again"
      sk_say "sandkeep-$name has ended; starting it again"
      sleep 0.2
      launch "$name" "run_$name"
    done
  done
}

# --- the end -------------------------------------------------------------------------------------

finish() {
  local rc=$?
  trap '' TERM INT HUP
  if [[ -n ${PID[step]:-} ]]; then kill -TERM -- "-${PID[step]}" 2>/dev/null || true; fi
  if [[ -n ${PID[agent]:-} ]]; then
    sk_say "stopping"
    stop_process gateway
    stop_process agent
    remove_sandboxes
  fi
  exit "$rc"
}

# Removes the containers of this demo's agent; their files stay for the next start.
remove_sandboxes() {
  local instance containers
  instance=$(cat "$AGENT_STATE/instance" 2>/dev/null) || return 0
  mapfile -t containers < <(own_podman ps -aq --filter "label=sandkeep.instance=$instance")
  ((${#containers[@]} == 0)) || own_podman rm -f -t 0 "${containers[@]}" >/dev/null
}

# podman may leave a process behind, which must not keep the lock.
own_podman() { (exec 9>&- && sk_podman "$@"); }

# --- set-up --------------------------------------------------------------------------------------

# One demo at a time: a second one would take the first one's state.
take_lock() {
  install -d -m 0755 "$STATE"
  exec 9>"$STATE/lock"
  flock -n 9 || sk_die "a demo is running already; stop it first"
}

prepare() {
  sk_install_packages build run
  sk_create_users
  sk_prepare_host
  step sk_build release
  step "$SK_ROOT/deploy/image/build.sh"
}

# The clone may lie where the two users can't look, so they run copies.
lay_out() {
  local build=$SK_ROOT/build/release
  install -d -m 0755 "$BIN" "$RUN"
  install -d -m 0700 "$LOGS"
  install -d -m 0700 -o "$SK_AGENT_USER" -g "$SK_AGENT_USER" "$AGENT_STATE"
  install -d -m 0700 -o "$SK_GATEWAY_USER" -g "$SK_GATEWAY_USER" "$GATEWAY_STATE"
  install -d -m 2750 -o "$SK_AGENT_USER" -g "$SK_API_GROUP" "$RUN/agent"
  install -C -m 0755 "$build"/gateway/sandkeep-gateway "$build"/agent/sandkeep-agent \
    "$build"/agent/ctl/sandkeepctl "$build"/agent/init/sandkeep-init \
    "$build"/agent/file_process/sandkeep-files "$build"/agent/imager/sandkeep-imager "$BIN"
}

# Leaves the port in PORT: the one asked for, or a free one when that is taken.
choose_port() {
  local host=${SANDBOX_HOST:-127.0.0.1} port=${SANDBOX_PORT:-8000}
  PORT=$(python3 - "$host" "$port" 2>/dev/null <<'PY'
import socket, sys
host, wanted = sys.argv[1], int(sys.argv[2])
family = socket.getaddrinfo(host, wanted, type=socket.SOCK_STREAM)[0][0]
for port in (wanted, 0):
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            continue
        print(listener.getsockname()[1])
        break
PY
  ) || sk_die "SANDBOX_HOST=$host, SANDBOX_PORT=$port: not an address to listen on"
  [[ -n $PORT ]] || sk_die "SANDBOX_HOST=$host: cannot listen on this address"
  [[ $PORT == "$port" ]] || sk_say "port $port is taken: using $PORT"
  case $host in
    0.0.0.0 | ::) host=127.0.0.1 ;;
    *:*) host="[$host]" ;;
  esac
  BASE_URL=http://$host:$PORT
  URL=$BASE_URL/mcp
}

# Leaves an access key of each of two principals in KEY and KEY2: those of the last start, if the
# gateway still knows their names.
find_keys() {
  local names
  names=$(gateway_command keys list) || sk_die "sandkeep-gateway keys list failed"
  if [[ -f $KEYS ]] && grep -qw demo <<<"$names" && grep -qw demo2 <<<"$names"; then
    # shellcheck source=/dev/null
    . "$KEYS"
    return
  fi
  KEY=$(gateway_command keys add demo) || sk_die "sandkeep-gateway keys add failed"
  KEY2=$(gateway_command keys add demo2) || sk_die "sandkeep-gateway keys add failed"
  (umask 077 && printf 'KEY=%q\nKEY2=%q\n' "$KEY" "$KEY2" >"$KEYS")
}

gateway_command() { (exec 9>&- && gateway "$@"); }

# --- what it shows -------------------------------------------------------------------------------

demonstrate() {
  SANDKEEP_URL=$URL SANDKEEP_KEY=$KEY exec python3 "$SK_ROOT/deploy/demo_client.py"
}

show_how_to_connect() {
  cat <<TEXT

Sandkeep is running.

    URL         $URL
    access key  $KEY

A client that can sign in needs the URL alone: it opens a page that asks for the access key.

For a client that reads JSON:

    {"mcpServers": {"sandkeep": {"type": "http", "url": "$URL",
      "headers": {"Authorization": "Bearer $KEY"}}}}

For Claude Code:

    claude mcp add --transport http sandkeep $URL \\
      --header "Authorization: Bearer $KEY"

Its logs are in $LOGS. Press Ctrl-C to stop.
TEXT
}

say_network() {
  [[ ${SANDBOX_NETWORK:-full} == full ]] || return 0
  sk_say "note: this demo sets SANDBOX_NETWORK=full: commands reach this machine's network too"
}

main() {
  parse_options "$@"
  sk_need_root
  check_ready_file
  trap finish EXIT
  trap 'exit 143' TERM
  trap 'exit 130' INT
  trap 'exit 129' HUP
  take_lock
  remove_old_ready_file
  prepare
  lay_out
  say_network
  choose_port
  find_keys
  start agent
  start gateway
  write_ready_file
  step demonstrate
  [[ -z $ONCE ]] || return 0
  show_how_to_connect
  keep_running
}

main "$@"

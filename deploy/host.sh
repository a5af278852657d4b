# shellcheck shell=bash
# What a machine needs before Sandkeep can be built and run on it: packages, the two system users,
# the engine's directories and configuration. Sourced by demo.sh, image/build.sh and tests/run.sh;
# safe under `set -euo pipefail`. Every function can be called twice, and does nothing the second time.

SK_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
SK_CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sandkeep

SK_AGENT_USER=sandkeep
SK_GATEWAY_USER=sandkeep-gw
SK_API_GROUP=sandkeep-api
SK_AGENT_HOME=/var/lib/sandkeep
SK_GATEWAY_HOME=/var/lib/sandkeep-gateway

# The engine stores its run root in its database, so this path is the same for ever.
SK_RUN=/run/sandkeep
SK_ENGINE_RUN=$SK_RUN/engine
SK_ENGINE_RUN_SIZE=64m
SK_GRAPHROOT=$SK_AGENT_HOME/containers/storage

SK_ENGINE_MENDS=8
SK_SUBIDS=65536
SK_APT_WAIT=600 # seconds to wait for another package manager

sk_say() { printf '%s\n' "$*" >&2; }

sk_die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

sk_need_root() {
  ((EUID == 0)) || sk_die "root is needed for this: run it with sudo or as root"
}

# --- packages ------------------------------------------------------------------------------------

# The names of one set's packages. Debian 12's libboost-dev is too old, so it names a version.
sk_packages() {
  local set=$1 boost='' debian
  # shellcheck source=/dev/null
  debian=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  [[ $debian != 12 ]] || boost=1.81
  case $set in
    build)
      printf '%s\n' g++ cmake ninja-build ccache pkg-config git \
        protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libgrpc++-dev libabsl-dev \
        "libboost$boost-dev" "libboost-json$boost-dev" "libboost-url$boost-dev" \
        libssl-dev libsqlite3-dev libseccomp-dev zlib1g-dev \
        libpng-dev libturbojpeg0-dev libwebp-dev libgif-dev libutf8proc-dev
      ;;
    run)
      printf '%s\n' podman crun runc slirp4netns passt uidmap catatonit \
        ca-certificates curl python3 util-linux mount
      ;;
    image)
      printf '%s\n' mmdebstrap debian-archive-keyring python3
      ;;
    test)
      printf '%s\n' libgtest-dev libgmock-dev clang-19 clang-format-19 clang-tidy-19 \
        libclang-rt-19-dev shellcheck sqlite3 acl iproute2 procps curl jq python3 wrk \
        nginx-light chromium chromium-driver wget unzip e2fsprogs xfsprogs btrfs-progs \
        testssl.sh slowhttptest
      ;;
    pytest) echo python3-pytest ;;
    docker) echo podman-compose ;;
    vm) printf '%s\n' qemu-system-x86 e2fsprogs patchelf policycoreutils ;;
    node) printf '%s\n' nodejs npm ;;
    *) sk_die "no package set named '$set' (build, run, image, test, pytest, docker, vm, node)" ;;
  esac
}

# sk_install_packages SET…: installs what is missing of the sets, and asks apt only then.
sk_install_packages() {
  local set names wanted=() missing=()
  for set in "$@"; do
    names=$(sk_packages "$set") || return
    mapfile -t -O "${#wanted[@]}" wanted <<<"$names"
  done
  mapfile -t missing < <(sk_missing_packages "${wanted[@]}")
  ((${#missing[@]})) || return 0
  sk_need_root
  sk_say "installing ${#missing[@]} packages: ${missing[*]}"
  sk_apt update
  sk_apt install --no-install-recommends "${missing[@]}"
}

# Prints those of the named packages that are not installed.
sk_missing_packages() {
  local have
  have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  printf '%s\n' "$@" | sort -u |
    comm -23 - <(sed -n 's/ installed$//p' <<<"$have" | sort -u)
}

# apt-get, quiet when all is well, patient when another package manager is at work.
sk_apt() {
  local log tries=0 rc
  log=$(mktemp)
  while
    rc=0
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=$SK_APT_WAIT \
      -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 || rc=$?
    # The lock of the package lists is one that apt does not wait for.
    ((rc != 0 && ++tries < SK_APT_WAIT / 2)) && grep -q '/lists/lock' "$log"
  do
    sleep 2
  done
  ((rc == 0)) || {
    tail -n 30 "$log" >&2
    rm -f "$log"
    sk_die "apt-get $1 failed"
  }
  rm -f "$log"
}

# --- users ---------------------------------------------------------------------------------------

sk_create_users() {
  sk_need_root
  sk_create_group "$SK_API_GROUP"
  sk_create_user "$SK_AGENT_USER" "$SK_AGENT_HOME"
  sk_create_user "$SK_GATEWAY_USER" "$SK_GATEWAY_HOME"
  sk_give_subids "$SK_AGENT_USER" uid
  sk_give_subids "$SK_AGENT_USER" gid
}

sk_create_group() {
  getent group "$1" >/dev/null || groupadd --system "$1"
}

sk_create_user() {
  local user=$1 home=$2
  getent passwd "$user" >/dev/null ||
    useradd --system --user-group --home-dir "$home" --no-create-home \
      --shell /usr/sbin/nologin "$user"
  [[ " $(id -nG "$user") " == *" $SK_API_GROUP "* ]] || usermod -aG "$SK_API_GROUP" "$user"
  # Its mode is set once: the engine makes it passable for its containers' ids, and needs that.
  [[ -d $home ]] || install -d -m 0700 -o "$user" -g "$user" "$home"
}

# Gives the user a range of subordinate ids above every range that is given out already.
sk_give_subids() {
  local user=$1 kind=$2 start
  if grep -q "^$user:" "/etc/sub$kind" 2>/dev/null; then return 0; fi
  touch "/etc/sub$kind"
  start=$(awk -F: -v next_id=100000 \
    '$2 + $3 > next_id { next_id = $2 + $3 } END { print next_id }' "/etc/sub$kind")
  usermod "--add-sub${kind}s" "$start-$((start + SK_SUBIDS - 1))" "$user"
}

# --- the engine's host ---------------------------------------------------------------------------

sk_prepare_host() {
  sk_need_root
  sk_check_kernel
  # Neither the engine nor a sandbox's init, which lists what listens there, may ask the kernel for modules everywhere.
  modprobe -q -a overlay tun tcp_diag 2>/dev/null || true
  # With the types of deploy/selinux, where that is loaded.
  install -d -Z -m 0755 -o root -g root "$SK_RUN"
  sk_mount_engine_run
  sk_open_tun
  sk_write_engine_config
  sk_mend_engine
}

# When all of the engine's processes were killed and the machine not booted since, it finds none of
# those that its records name and refuses every call. Its remedy stops containers: none runs then.
# Each run gives up at the first container that it can't stop, and has it out of the way then.
sk_mend_engine() {
  local tries
  for ((tries = 0; tries < SK_ENGINE_MENDS; ++tries)); do
    [[ $(sk_podman ps -q 2>&1 >/dev/null) == *'system migrate'* ]] || return 0
    sk_podman system migrate >/dev/null 2>&1 || true
  done
}

sk_check_kernel() {
  local limit
  limit=$(cat /proc/sys/user/max_user_namespaces 2>/dev/null || echo 1)
  ((limit > 0)) || sk_die "user namespaces are off: set sysctl user.max_user_namespaces above 0"
  limit=$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null || echo 1)
  ((limit > 0)) || sk_die "user namespaces are off: set sysctl kernel.unprivileged_userns_clone=1"
}

# The engine's run root holds files that a container could grow, so it is a small file system of
# its own. One that is mounted stays as it is: containers may be running on it.
sk_mount_engine_run() {
  if ! mountpoint -q "$SK_ENGINE_RUN"; then
    install -d -Z -m 0700 "$SK_ENGINE_RUN"
    mount -t tmpfs -o "size=$SK_ENGINE_RUN_SIZE,mode=0700,nosuid,nodev" sandkeep-engine \
      "$SK_ENGINE_RUN" || sk_die "cannot mount a tmpfs on $SK_ENGINE_RUN"
  fi
  chown "$SK_AGENT_USER:$SK_AGENT_USER" "$SK_ENGINE_RUN"
  if command -v selinuxenabled >/dev/null && selinuxenabled; then restorecon -F "$SK_ENGINE_RUN"; fi
}

# Networks in user space need the tun device, which distributions open to everyone.
sk_open_tun() {
  local tun=/dev/net/tun
  [[ -c $tun ]] || modprobe tun 2>/dev/null || true
  [[ -c $tun ]] || { mkdir -p /dev/net && mknod "$tun" c 10 200; } || sk_die "no $tun"
  [[ $(stat -c %a "$tun") == 666 ]] || chmod 0666 "$tun"
}

# crun refuses a host whose cgroups are version 1 or a mixture; runc does not.
sk_oci_runtime() {
  local cgroups
  cgroups=$(stat -fc %T /sys/fs/cgroup)
  if [[ -n ${SK_OCI_RUNTIME:-} ]]; then
    echo "$SK_OCI_RUNTIME"
  elif [[ $cgroups == cgroup2fs ]]; then
    echo crun
  else
    echo runc
  fi
}

sk_write_engine_config() {
  local dir=$SK_AGENT_HOME/.config/containers
  sk_as_agent mkdir -p "$dir"
  sk_as_agent mkdir -p -m 0711 "${SK_GRAPHROOT%/*}" "$SK_GRAPHROOT"
  sk_write_file "$dir/storage.conf" <<CONF
# Written by deploy/host.sh
[storage]
driver = "overlay"
graphroot = "$SK_GRAPHROOT"
runroot = "$SK_ENGINE_RUN/containers"
CONF
  sk_write_file "$dir/containers.conf" <<CONF
# Written by deploy/host.sh
[containers]
log_driver = "none"

[engine]
runtime = "$(sk_oci_runtime)"
cgroup_manager = "cgroupfs"
events_logger = "none"
exit_command_delay = 0
num_locks = 8192
pull_policy = "never"
CONF
}

# Standard input becomes the file, if it differs. Written as the file's user, so that nothing that
# the user put in the way can lead root elsewhere.
sk_write_file() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  sk_as_agent bash -c 'new=$(cat; echo .) && new=${new%.}
    [[ -f $1 && $(cat "$1"; echo .) == "$new." ]] && exit
    printf %s "$new" >"$1.new" && mv -fT "$1.new" "$1"' _ "$1"
}

# --- running as the engine's user ----------------------------------------------------------------

# sk_exec_as USER HOME [NAME=VALUE…] COMMAND…: becomes the command, as that user with its own groups
# and no environment but the named variables (and what no shell can name). They may be secrets, and
# arguments are there for everyone to read: so they are exported, never part of a command line. A
# parent that is killed takes the command with it.
sk_exec_as() {
  local sk_user=$1 sk_home=$2 sk_name
  shift 2
  cd / || exit
  for sk_name in $(compgen -e); do export -n "${sk_name?}"; done
  for sk_name in $(declare -Fx | cut -d' ' -f3); do export -nf "${sk_name?}"; done
  export HOME=$sk_home LC_ALL=C.UTF-8
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  while [[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
    export "${1?}"
    shift
  done
  exec setpriv --reuid "$sk_user" --regid "$sk_user" --init-groups --pdeathsig TERM "$@"
}

sk_as() { (sk_exec_as "$@"); }

sk_as_agent() { sk_as "$SK_AGENT_USER" "$SK_AGENT_HOME" "XDG_RUNTIME_DIR=$SK_ENGINE_RUN" "$@"; }

sk_podman() { sk_as_agent PODMAN_IGNORE_CGROUPSV1_WARNING=1 podman "$@"; }

# Prints the names of the packages whose shared libraries the executables load.
sk_library_packages() {
  local libraries
  libraries=$(for file in "$@"; do ldd "$file" 2>/dev/null || true; done |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u)
  # dpkg knows a library by the path of either side of /lib -> /usr/lib.
  xargs -r realpath <<<"$libraries" | while read -r file; do
    dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}"
  done | cut -d: -f1 | sort -u
}

# --- building ------------------------------------------------------------------------------------

SK_EXECUTABLES=(sandkeep-gateway sandkeep-agent sandkeepctl sandkeep-init sandkeep-files
  sandkeep-imager)

# sk_build PRESET [TARGET…]: builds into build/PRESET; the executables if no target is named.
sk_build() {
  local preset=$1 dir=$SK_ROOT/build/$1 targets=("${@:2}")
  ((${#targets[@]})) || targets=("${SK_EXECUTABLES[@]}")
  (
    export CCACHE_DIR=${CCACHE_DIR:-$SK_CACHE/ccache}
    cd "$SK_ROOT" || exit
    [[ -f $dir/build.ninja ]] || cmake --preset "$preset" >&2
    ninja -C "$dir" -j "$(sk_jobs)" "${targets[@]}" >&2
  )
}

# One compiler can take a gibibyte and a half: fewer at a time than cores where memory is short.
sk_jobs() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo)
  ((gib >= 1)) || gib=1
  echo $((gib < cores ? gib : cores))
}

#!/usr/bin/env bash
# Installs Sandkeep on a machine with systemd: users, programs, units, settings and, where SELinux is on, its module; then starts it.
# It may be run again, to install a newer build over an older one: settings stay as they are.
set -euo pipefail

# shellcheck source=deploy/host.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/host.sh"

USAGE="usage: install.sh [--from FOLDER] [--no-packages] [--no-image] [--no-start]
  --from FOLDER  the six executables, built before (else they are built here)
  --no-packages  what apt would bring is there
  --no-image     the sandboxes' image is there, or comes later by deploy/image/build.sh
  --no-start     install only"

DEPLOY=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
UNITS=/etc/systemd/system
SETTINGS=/etc/sandkeep
SHARED=/usr/share/sandkeep
LIBEXEC=/usr/libexec/sandkeep
SERVICES=(sandkeep-agent.service sandkeep-gateway.service sandkeep-gc.timer)
# The first systemd that may filter a unit's system calls without no_new_privs.
NEWER_SYSTEMD=255

FROM=
PACKAGES=yes
IMAGE=yes
START=yes

parse_options() {
  while (($#)); do
    case $1 in
      --from)
        FROM=${2:-}
        [[ -d $FROM ]] || sk_die "--from needs a folder"
        shift
        ;;
      --no-packages) PACKAGES= ;;
      --no-image) IMAGE= ;;
      --no-start) START= ;;
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

# Each thing that would be half-working is said now, with its remedy.
check_host() {
  [[ -d /run/systemd/system ]] || sk_die "this machine doesn't run systemd: deploy/demo.sh does without"
  [[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]] || sk_die "this machine's cgroups aren't version 2, so no limit and no network filter
would hold: boot it with systemd.unified_cgroup_hierarchy=1, or use deploy/demo.sh"
}

systemd_version() { systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p'; }

build_programs() {
  local build=$SK_ROOT/build/release
  [[ -z $FROM ]] || return 0
  sk_install_packages build
  sk_build release
  FROM=$(mktemp -d)
  cp "$build"/gateway/sandkeep-gateway "$build"/agent/sandkeep-agent "$build"/agent/ctl/sandkeepctl \
    "$build"/agent/init/sandkeep-init "$build"/agent/file_process/sandkeep-files \
    "$build"/agent/imager/sandkeep-imager "$FROM"
}

# A running program is replaced, not written over.
install_programs() {
  install -d -m 0755 "$LIBEXEC" "$SHARED"
  install -C -m 0755 "$FROM"/sandkeep-gateway "$FROM"/sandkeep-agent "$FROM"/sandkeepctl /usr/bin
  install -C -m 0755 "$FROM"/sandkeep-init "$FROM"/sandkeep-files "$FROM"/sandkeep-imager "$LIBEXEC"
  install -C -m 0644 "$DEPLOY"/host.sh "$DEPLOY"/netdeny.py "$DEPLOY"/quota.py "$SHARED"
}

install_units() {
  local drop_ins=$UNITS/sandkeep-agent.service.d
  install -C -m 0644 "$DEPLOY"/systemd/*.service "$DEPLOY"/systemd/*.slice "$DEPLOY"/systemd/*.timer "$UNITS"
  if (($(systemd_version) >= NEWER_SYSTEMD)); then
    install -D -C -m 0644 "$DEPLOY/systemd/newer-systemd.conf" "$drop_ins/newer-systemd.conf"
  else
    rm -f "$drop_ins/newer-systemd.conf"
  fi
}

# They may hold a secret.
install_settings() {
  local name
  install -d -m 0755 "$SETTINGS"
  for name in agent gateway; do
    [[ -e $SETTINGS/$name.env ]] || install -m 0600 "$DEPLOY/$name.env.example" "$SETTINGS/$name.env"
  done
}

install_selinux_module() {
  if command -v selinuxenabled >/dev/null && selinuxenabled; then
    "$DEPLOY/selinux/install.sh" || sk_say "going on without the SELinux module: both processes have the domain of any service"
  fi
}

start_services() {
  systemctl daemon-reload
  [[ -n $START ]] || return 0
  systemctl --quiet enable "${SERVICES[@]}"
  systemctl restart "${SERVICES[@]}"
}

main() {
  parse_options "$@"
  sk_need_root
  check_host
  [[ -z $PACKAGES ]] || sk_install_packages run
  sk_create_users
  build_programs
  install_programs
  install_units
  install_settings
  install_selinux_module
  systemctl daemon-reload
  systemctl start sandkeep-host.service
  [[ -z $IMAGE ]] || "$DEPLOY/image/build.sh"
  start_services
}

main "$@"

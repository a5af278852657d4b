#!/usr/bin/env bash
# Builds and loads the SELinux module on this machine, and labels what is Sandkeep's: its programs, folders and port. Root; a module
# that is loaded already stays, and so do categories.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
MAKEFILE=/usr/share/selinux/devel/Makefile
# One of the engine's, by which to tell the policies.
CONTAINER_IF=${MAKEFILE%/*}/include/services/container.if
OF_DEBIAN_13=container_read_all_container_engine_state
OF_FEDORA=container_runtime_domtrans
SETTINGS=/etc/sandkeep/gateway.env
USUAL_PORT=8000
LOADED=/usr/share/sandkeep/selinux-module
PROGRAMS=(/usr/bin/sandkeep-gateway /usr/bin/sandkeep-agent /usr/libexec/sandkeep)
PLACES=(/var/lib/sandkeep-gateway /var/lib/sandkeep /run/sandkeep)

load_module() {
  local work
  if [[ ! -f $MAKEFILE ]] || ! command -v semanage >/dev/null; then
    echo "the policy's headers or tools are missing: apt-get install selinux-policy-dev policycoreutils-python-utils" >&2
    exit 1
  fi
  work=$(mktemp -d)
  if grep -qs "$OF_DEBIAN_13" "$CONTAINER_IF"; then
    cp "$HERE"/sandkeep.te "$work"
  elif grep -qs "$OF_FEDORA" "$CONTAINER_IF"; then
    echo "this is Fedora's policy, for which the module was compiled and never run: look for denials (ausearch -m avc)" >&2
    cat "$HERE"/fedora.m4 "$HERE"/sandkeep.te >"$work/sandkeep.te"
  else
    rm -rf "$work"
    echo "this machine's policy is older than Debian 13's, which the module is for" >&2
    exit 1
  fi
  cp "$HERE"/sandkeep.fc "$work"
  make -s -C "$work" -f "$MAKEFILE" sandkeep.pp
  # Where SELinux doesn't run (an image of a machine is being made), it is there at the next boot.
  local options=()
  selinuxenabled || options=(-n)
  semodule "${options[@]}" -i "$work/sandkeep.pp"
  rm -rf "$work"
}

# The one that the gateway is set to.
label_port() {
  local port options=()
  port=$(sed -n 's/^SANDBOX_PORT=//p' "$SETTINGS" 2>/dev/null | tail -n 1 | tr -d "\"'") || true
  port=${port:-$USUAL_PORT}
  ! semanage port -l 2>/dev/null | grep -qE "^sandkeep_port_t +tcp +(.*, )?$port(,|\$)" || return 0
  selinuxenabled || options=(-N)
  semanage port "${options[@]}" -a -t sandkeep_port_t -p tcp "$port" 2>/dev/null ||
    semanage port "${options[@]}" -m -t sandkeep_port_t -p tcp "$port"
}

# Types only: without -F the levels of files stay, and so does what a container was given for itself.
relabel() {
  local place
  for place in "$@"; do
    [[ ! -e $place ]] || restorecon -R "$place"
  done
}

sum=$(cat "$HERE"/fedora.m4 "$HERE"/sandkeep.te "$HERE"/sandkeep.fc | sha256sum)
if [[ ! -f $LOADED || $(<"$LOADED") != "$sum" ]]; then
  load_module
  install -d -m 0755 "${LOADED%/*}"
  printf '%s\n' "$sum" >"$LOADED"
  relabel "${PLACES[@]}"
fi
relabel "${PROGRAMS[@]}"
label_port

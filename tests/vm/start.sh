#!/usr/bin/env bash
# Inside the emulated host, once after its boot: installs the units and settings that came on the second disk, adds the keys
# of two principals, and starts both processes. Prints one `NAME KEY` a line.
set -euo pipefail

cd /opt/sandkeep
cp units/*.service units/*.slice /etc/systemd/system/
install -d /etc/sandkeep
cp env/*.env /etc/sandkeep/
# A service manager older than DelegateSubgroup= can't restart a unit whose group has others below it: there the containers' group
# is kept by a unit of its own.
if (($(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') >= 254)); then
  install -D units/own-group.conf /etc/systemd/system/sandkeep-agent.service.d/own-group.conf
else
  install -D units/kept-group.conf /etc/systemd/system/sandkeep-agent.service.d/kept-group.conf
fi
systemctl daemon-reload
systemctl start sandkeep-host.service
install -d -m 0700 -o sandkeep-gw -g sandkeep-gw /var/lib/sandkeep-gateway
for name in alice bob; do
  printf '%s ' "$name"
  setpriv --reuid sandkeep-gw --regid sandkeep-gw --init-groups env -i HOME=/ PATH="$PATH" bin/sandkeep-gateway keys add "$name"
done
systemctl start sandkeep-agent.service sandkeep-gateway.service

#!/usr/bin/env bash
# Inside the emulated host, once after its boot: installs the units and settings that came on the second disk, adds the keys
# of two principals, and starts both processes. Prints one `NAME KEY` a line.
set -euo pipefail

cd /opt/sandkeep
ln -s "$PWD"/bin/* /usr/bin/
install -D -m 0644 deploy/host.sh /usr/share/sandkeep/host.sh
cp deploy/systemd/*.service deploy/systemd/*.slice deploy/systemd/*.timer /etc/systemd/system/
install -d /etc/sandkeep
install -m 0600 env/*.env /etc/sandkeep/
# What an older service manager can't do for the agent, a unit of its own does.
if (($(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') >= 255)); then
  install -D -m 0644 deploy/systemd/newer-systemd.conf /etc/systemd/system/sandkeep-agent.service.d/newer-systemd.conf
else
  install -D -m 0644 deploy/systemd/kept-group.conf /etc/systemd/system/sandkeep-agent.service.d/kept-group.conf
fi
systemctl daemon-reload
systemctl start sandkeep-host.service
install -d -m 0700 -o sandkeep-gw -g sandkeep-gw /var/lib/sandkeep-gateway
for name in alice bob; do
  printf '%s ' "$name"
  sandkeep-gateway keys add "$name"
done
systemctl start sandkeep-agent.service sandkeep-gateway.service

#!/usr/bin/env bash
# Inside the emulated host, once after its boot: installs what came on the second disk as an operator would, adds the keys of two
# principals, and starts both processes. Prints one `NAME KEY` a line.
set -euo pipefail

cd /opt/sandkeep
install -d /etc/sandkeep
install -m 0600 env/*.env /etc/sandkeep/
deploy/install.sh --from bin --no-packages --no-image --no-start
install -d -m 0700 -o sandkeep-gw -g sandkeep-gw /var/lib/sandkeep-gateway
for name in alice bob; do
  printf '%s ' "$name"
  sandkeep-gateway keys add "$name"
done
systemctl --quiet enable sandkeep-agent.service sandkeep-gateway.service
systemctl start sandkeep-agent.service sandkeep-gateway.service

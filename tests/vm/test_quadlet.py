"""deploy/container's quadlet, laid out by the engine's own generator: the gateway in a container, beside the agent's unit."""

import json

import pytest
from test_service import again

UNIT = "sandkeep-boxed"
FOLDER = "/etc/containers/systemd"
QUADLET = "/opt/sandkeep/deploy/container/sandkeep-gateway.container"
STORE = "--storage-opt=additionalimagestore=/var/lib/sandkeep/containers/storage"
# The image is the sandboxes' with the gateway laid into it, where nothing can be built; what confines it is the quadlet's own. The
# user is the one that the agent knows here.
DROP_IN = """[Container]
ContainerName={unit}
Image=localhost/sandkeep-sandbox
Pull=never
GlobalArgs={store}
Network=host
PublishPort=
SecurityLabelDisable=true
User={uid}
Group={gid}
GroupAdd={group}
Volume=/usr/bin/sandkeep-gateway:/usr/bin/sandkeep-gateway:ro
Volume=/opt/sandkeep/lib:/opt/sandkeep/lib:ro
Environment=STATE_DIR=/var/lib/sandkeep-gateway AGENT_SOCKET=/run/sandkeep/agent/agent.sock
Exec=/usr/bin/sandkeep-gateway
"""


@pytest.fixture(scope="module")
def boxed(stack):
    """The unit's gateway makes room for one in a container. Where SELinux enforces, the gateway is to run by its unit."""
    ids = {"unit": UNIT, "store": STORE, "uid": stack.run("id -u sandkeep-gw").strip(), "gid": stack.run("id -g sandkeep-gw").strip(),
           "group": stack.run("getent group sandkeep-api | cut -d: -f3").strip()}
    stack.run(f"mkdir -p {FOLDER}/{UNIT}.container.d && cp {QUADLET} {FOLDER}/{UNIT}.container && "
              f"cat >{FOLDER}/{UNIT}.container.d/test.conf <<'END'\n{DROP_IN.format(**ids)}END")
    try:
        stack.run(f"setenforce 0 && systemctl daemon-reload && systemctl stop sandkeep-gateway && systemctl start {UNIT}", 300)
        stack.run("for _ in $(seq 300); do curl -fsS --noproxy '*' http://127.0.0.1:8000/healthz && exit; sleep 0.5; done; exit 1", 300)
        yield stack
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{stack.journal(UNIT)}") from None
    finally:
        stack.run(f"systemctl stop {UNIT}; rm -r {FOLDER}/{UNIT}*; setenforce 1; systemctl daemon-reload; "
                  "systemctl start sandkeep-gateway", 300)


def test_the_gateway_serves_from_a_container(boxed, alice, label):
    key = boxed.run(f"podman {STORE} exec {UNIT} /usr/bin/sandkeep-gateway keys add boxed", 300).strip()
    with type(alice)(boxed.url, key, timeout=600) as client:
        assert again(client, label, "echo works").output == "works\n"


def test_the_container_has_no_right_to_anything(boxed):
    container = json.loads(boxed.run(f"podman {STORE} inspect {UNIT}"))[0]
    assert container["HostConfig"]["ReadonlyRootfs"]
    status = boxed.run(f"cat /proc/{container['State']['Pid']}/status")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert {name: int(fields[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == \
        dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)
    assert int(fields["NoNewPrivs"]) == 1
    code, _ = boxed.ask(f"podman {STORE} exec {UNIT} /bin/sh -c 'command -v podman crun runc || touch /usr/made'")
    assert code != 0

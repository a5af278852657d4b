"""What the service manager, the machine and a power cut do to sandboxes, files, keys and sign-ins."""

import http.client
import time

from sign_in import SignInClient
from test_jobs import field

AGENT, GATEWAY = "sandkeep-agent.service", "sandkeep-gateway.service"


def inits(host):
    return set(host.run("for monitor in $(pgrep -x conmon); do pgrep -x -P $monitor sandkeep-init; done; true").split())


def again(alice, *arguments, **named):
    """A call to a gateway or an agent that has just been started."""
    deadline = time.monotonic() + 120
    while True:
        try:
            result = alice.run(*arguments, **named)
            if not result.is_error:
                return result
            last = result
        except (OSError, http.client.HTTPException) as error:
            last = error
        assert time.monotonic() < deadline, last
        time.sleep(1)


def test_a_restart_of_either_leaves_sandboxes_and_their_commands_alone(host, alice, label):
    running = alice.run(label, "sleep 40; echo whole; exit 3", wait_seconds=1)
    assert "[running]" in running.first_line, running
    before = inits(host)
    host.run(f"systemctl restart {AGENT} {GATEWAY}", 300)
    assert inits(host) >= before
    again(alice, label, "true")
    ended = alice.call("wait_command", sandbox=label, job=field(running, "job"), wait_seconds=280, offset=0)
    assert ended.exit_code == 3 and ended.output == "whole\n", ended


def test_a_stop_keeps_output_files_and_packages_and_ends_all_processes(host, alice, label):
    alice.output(label, "echo kept >file; echo installed >/opt/tool")
    running = alice.run(label, "echo said; sleep 1000", wait_seconds=2)
    assert "[running]" in running.first_line, running
    host.run(f"systemctl stop {AGENT}", 300)
    assert not inits(host)
    host.run(f"systemctl start {AGENT} {GATEWAY}", 300)
    after = again(alice, label, "cat file /opt/tool")
    assert "[restarted]" in after.first_line and after.output == "kept\ninstalled\n", after
    ended = alice.call("wait_command", sandbox=label, job=field(running, "job"), offset=0)
    assert "said" in ended.output and "[cause host]" in ended.first_line, ended


def stays_signed_in(host, alice, person, tokens, label):
    """Its access token and its refresh token, for the principal whose sandbox it was."""
    with type(alice)(host.url, tokens["access_token"], timeout=600) as client:
        assert again(client, label, "cat file").output.startswith("kept\n")
    renewed = person.refresh(tokens["refresh_token"])
    assert renewed.status == 200, renewed.text
    with type(alice)(host.url, renewed.json["access_token"], timeout=600) as client:
        assert client.output(label, "cat file").startswith("kept\n")


def test_an_engine_that_began_within_the_unit_outlives_the_units_end(host, alice, label):
    # Its pause process keeps a mount namespace: the agent's unit's, if it is the agent that has the first call made.
    host.run(f"systemctl stop {AGENT}; pkill -KILL -u sandkeep -x catatonit; systemctl start {AGENT} {GATEWAY}", 300)
    assert again(alice, label, "true").exit_code == 0
    host.run(f"systemctl restart {AGENT}", 300)
    assert again(alice, f"{label}-next", "echo works").output == "works\n"


def test_a_reboot_keeps_files_keys_sign_ins_and_packages(host, alice, label):
    alice.output(label, "echo kept >file; echo installed >/opt/tool")
    person = SignInClient(host.url)
    tokens = person.sign_in(host.key)
    host.reboot()
    after = again(alice, label, "cat file /opt/tool")
    assert after.output == "kept\ninstalled\n", after
    stays_signed_in(host, alice, person, tokens, label)


def test_a_power_cut_loses_nothing_that_was_acknowledged(host, alice, label):
    written = alice.call("write_file", sandbox=label, path="file", content="kept\n")
    assert not written.is_error, written
    person = SignInClient(host.url)
    tokens = person.refresh(person.sign_in(host.key)["refresh_token"]).json
    key = host.run("sandkeep-gateway keys add carol").strip()
    host.cut_power()
    assert again(alice, label, "cat file").output == "kept\n"
    with type(alice)(host.url, key, timeout=600) as carol:
        assert again(carol, label, "ls").exit_code == 0
    stays_signed_in(host, alice, person, tokens, label)


def test_a_stranger_at_the_agents_socket_is_turned_away(host):
    code, said = host.ask("setpriv --reuid nobody --regid nogroup --groups $(getent group sandkeep-api | cut -d: -f3) sandkeepctl info")
    assert code != 0 and "version" not in said, said
    code, said = host.ask("setpriv --reuid nobody --regid nogroup --clear-groups sandkeepctl info")
    assert code != 0 and "version" not in said, said

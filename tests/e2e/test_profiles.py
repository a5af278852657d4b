"""What the two systems that Sandkeep replaces promise their users, kept: their env files start it, and what they had verified holds.

The env files are those of their READMEs, to the letter but for the two values that a person has to fill in.
"""

import re
import secrets
import time
import urllib.parse

import pytest
from mcp_client import MODERN, McpClient
from stack import Stack, podman, wait_for
from test_files import MAKE_WAYS_OUT, fetch, link_in
from test_life import becomes, listed
from test_sandboxes import hostname

CODE_SANDBOX_SETUP = """\
SANDBOX_API_KEY={key}
SANDBOX_PUBLIC_URL=https://sandbox.example.com
SANDBOX_HOST=127.0.0.1
SANDBOX_PORT=8891
"""

# Its table of settings, each with its default.
CODE_SANDBOX_SETTINGS = CODE_SANDBOX_SETUP + """\
SANDBOX_IMAGE=code-sandbox:latest
SANDBOX_CONTAINER=mcp-sandbox-persistent
SANDBOX_VOLUME=mcp-sandbox-data
SANDBOX_MEMORY=3g
SANDBOX_CPUS=3
EXEC_TIMEOUT=3600
MAX_OUTPUT_BYTES=200000
FILE_TTL=604800
CLEANUP_INTERVAL=3600
LINK_TTL=86400
OAUTH_STATE_FILE=oauth-state.json
"""

LINUX_SANDBOX_SETTINGS = """\
# mcp-sandbox.env
MCP_PUBLIC_BASE=https://your.host:8443
MCP_SIGN_KEY={key}
SANDBOX_IDLE=300
SANDBOX_MAX=2
SANDBOX_MAX_TIMEOUT=900
SANDBOX_MIN_FREE=2147483648
SANDBOX_LINK_TTL=3600
SANDBOX_IMAGE_MAX=1572864
SANDBOX_INLINE_MAX=49152
"""

LINK = re.compile(r"\]\((https://[^)\s]+)\)")


def filled_in(env_file):
    key = secrets.token_urlsafe(32)
    return env_file.format(key=key), key


# ---- the env files ----

def test_an_env_file_of_code_sandbox_mcp_starts_sandkeep_and_its_key_is_the_owners():
    env_file, key = filled_in(CODE_SANDBOX_SETUP)
    with Stack({"SANDBOX_PROFILE": "persistent"}, env_file=env_file) as stack, McpClient(stack.url, key, era=MODERN) as client:
        assert stack.port == 8891
        assert client.call("execute", command="echo hello; pwd").text.endswith("stdout:\nhello\n/sandbox\nexit code: 0")
        assert "owner" in stack.keys("list")
        (link,) = LINK.findall(shared(client).text)
        assert link.startswith("https://sandbox.example.com/dl/")
        assert fetch(client, urllib.parse.urlsplit(link).path).body == b"x\n"

        # Rotating the key ends it, its links, and nothing of the sandbox.
        stack.stop_gateway()
        stack.start_gateway(SANDBOX_API_KEY=(other := secrets.token_urlsafe(32)))
        with McpClient(stack.url, other, era=MODERN) as again:
            assert again.call("execute", command="cat out").text.endswith("stdout:\nx\nexit code: 0")
        assert client.post(b"{}").status == 401
        assert fetch(client, urllib.parse.urlsplit(link).path).status == 404


def shared(client):
    client.call("execute", command="echo x >out")
    return client.call("share_file", path="out")


def test_every_setting_of_code_sandbox_mcp_is_taken():
    env_file, key = filled_in(CODE_SANDBOX_SETTINGS)
    with Stack({"SANDBOX_PROFILE": "persistent"}, env_file=env_file) as stack, McpClient(stack.url, key, era=MODERN) as client:
        info = client.call("sandbox_info").text
        assert "3.2 GB of memory, 3 CPUs" in info and "ends after 3600 s at most" in info, info
        assert "What lies in /sandbox and hasn't changed for 7 days is deleted" in info, info
        log = stack.log("agent") + stack.log("gateway")
        for name in ("SANDBOX_CONTAINER", "SANDBOX_VOLUME", "OAUTH_STATE_FILE", "EXEC_TIMEOUT", "LINK_TTL", "SANDBOX_PUBLIC_URL"):
            assert name in log, name
        # Its image isn't there under that name: said with what to do.
        assert "code-sandbox:latest is missing" in client.call("execute", command="true").text


def test_an_env_file_of_mcp_linux_sandbox_starts_sandkeep():
    env_file, _ = filled_in(LINUX_SANDBOX_SETTINGS)
    with Stack(env_file=env_file) as stack, McpClient(stack.url, stack.key) as client:
        assert client.output("amber-otter", "echo hello") == "hello\n"
        info = client.call("sandbox_info").text
        assert "of 2 sandboxes" in info and "ends after 900 s at most" in info, info
        client.output("amber-otter", "echo x >out")
        (link,) = LINK.findall(client.call("present_file", sandbox="amber-otter", path="out").text)
        assert link.startswith("https://your.host:8443/dl/")
        assert fetch(client, urllib.parse.urlsplit(link).path).body == b"x\n"


def test_a_key_that_is_still_the_readmes_placeholder_starts_nothing():
    env_file = CODE_SANDBOX_SETUP.format(key='<random string, e.g. python3 -c "import secrets;print(secrets.token_urlsafe(32))">')
    with pytest.raises((RuntimeError, Exception), match="SANDBOX_API_KEY: must be 16 to 512 visible ASCII characters"):
        with Stack(env_file=env_file):
            pass


# ---- mcp-linux-sandbox: its table of verified behaviour, row by row ----

@pytest.fixture(scope="module")
def recycling():
    """Containers go when they are idle, as there, and two run at once."""
    with Stack({"SANDBOX_RECYCLE": "remove", "SANDBOX_IDLE": "2", "SANDBOX_MAX": "2"}) as running:
        yield running


@pytest.fixture
def dora(recycling):
    with McpClient(recycling.url, recycling.key) as client:
        yield client


def test_debian_userland_tools_present(alice, shared_label):
    output = alice.output(shared_label, ". /etc/os-release; echo $ID; command -v curl jq git rg fdfind ps less nano python3")
    assert output.split()[0] == "debian" and len(output.split()) == 10, output


def test_network_and_apt_install(alice, shared_label):
    result = alice.run(shared_label, "apt-get update -qq && apt install -y sqlite3 && sqlite3 :memory: 'select 6*7'",
                       timeout_seconds=300, wait_seconds=250)
    assert result.exit_code == 0 and result.output.endswith("42\n"), result


def test_same_label_reuses_container(alice, label):
    first = alice.run(label, "hostname")
    again = alice.run(label, "hostname")
    assert first.output == again.output and "[new]" in first.first_line and "[new]" not in again.first_line


def test_new_label_fresh_container(alice, label):
    alice.output(label, "echo x >file")
    fresh = alice.run(label + "-b", "ls -A /workspace")
    assert "[new]" in fresh.first_line and fresh.output == ""
    assert hostname(alice, label) != hostname(alice, label + "-b")


def test_files_survive_recycling_and_the_writable_layer_is_discarded(recycling, dora, label):
    dora.output(label, "hostname >marker; cp marker /tmp/marker")
    becomes(recycling, label, "ABSENT")
    rebuilt = dora.run(label, "hostname | cmp - marker && ls /tmp/marker")
    assert "[rebuilt]" in rebuilt.first_line and "No such file" in rebuilt.output and "differ" not in rebuilt.output, rebuilt


def test_what_was_installed_comes_back_by_the_command_of_the_note(recycling, dora, label):
    """The writable layer is discarded as there, but not the list of what was in it."""
    dora.run(label, "apt-get update -qq && apt-get install -y -qq bc >/dev/null && pip install -q humanize", timeout_seconds=300, wait_seconds=250)
    becomes(recycling, label, "ABSENT")
    rebuilt = dora.run(label, "command -v bc")
    note = re.search(r"what had been installed comes back by: (.*)", rebuilt.text)
    assert rebuilt.exit_code == 1 and note and "apt-get install -y bc" in note[1] and "pip install humanize==" in note[1], rebuilt
    again = dora.run(label, f"({note[1]}) >/dev/null && echo 6*7 | bc && python3 -c 'import humanize'", timeout_seconds=300, wait_seconds=250)
    assert again.exit_code == 0 and again.output.endswith("42\n"), again


def test_idle_reaper(recycling, dora, label):
    dora.output(label, "true")
    becomes(recycling, label, "ABSENT")
    wait_for("no container to be left", lambda: not recycling.containers())


def test_lru_eviction_at_max_sandboxes(recycling, dora, label):
    for name in ("a", "b", "c"):
        dora.output(f"{label}-{name}", f"echo {name} >/workspace/who")
        assert len([row for row in recycling.containers().values() if row["State"] == "running"]) <= 2
    states = listed(recycling)
    assert states[f"{label}-a"]["state"] == "ABSENT" and states[f"{label}-c"]["state"] == "RUNNING"
    assert dora.output(f"{label}-a", "cat /workspace/who") == "a\n"


@pytest.mark.parametrize("command, code", [("false", 1), ("exit 42", 42), ("no-such-command", 127)])
def test_exit_codes(alice, shared_label, command, code):
    assert alice.run(shared_label, command).exit_code == code


def test_container_side_timeout(alice, shared_label):
    assert alice.run(shared_label, "sleep 4321", timeout_seconds=1).exit_code == 124
    assert alice.run(shared_label, "pgrep -f 'sleep 432[1]'").exit_code == 1


def test_init_as_pid_1(alice, shared_label):
    alice.output(shared_label, "for i in $(seq 50); do (sleep 0 & ); done; true")
    end = time.monotonic() + 10
    while alice.output(shared_label, "ps -eo stat= | grep -c '^Z' || true").strip() != "0":
        assert time.monotonic() < end
    assert alice.output(shared_label, "ps -o comm= -p 1") == "sandkeep-init\n"


def test_cgroup_limits_applied(stack, alice, shared_label):
    """memory.max, cpu.max and pids.max where the host has cgroup v2; elsewhere the limit of processes alone, which is said."""
    v2 = "cgroup v2" not in alice.call("sandbox_info").text
    if v2:
        limits = alice.output(shared_label, "cd /sys/fs/cgroup; cat memory.max cpu.max pids.max").split()
        assert limits == [str(2**30), "200000", "100000", "256"], limits
    else:
        assert alice.output(shared_label, "ulimit -u") == "256\n"


def test_present_file_image(alice, label):
    alice.output(label, "base64 -d >dot.png <<<iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
    shown = alice.call("present_file", sandbox=label, path="dot.png")
    assert [part["mimeType"] for part in shown.content if part["type"] == "image"] == ["image/png"]


def test_present_file_text_and_link(alice, label):
    alice.output(label, "echo inlined >a.txt; head -c 100000 /dev/zero >b.bin")
    assert "inlined" in alice.call("present_file", sandbox=label, path="a.txt").text
    assert fetch(alice, link_in(alice.call("present_file", sandbox=label, path="b.bin"))).body == bytes(100000)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../x"])
def test_path_traversal(alice, shared_label, path):
    assert alice.call("present_file", sandbox=shared_label, path=path).is_error


@pytest.mark.parametrize("path", ["link", "dir-link/passwd", "proc-root/etc/passwd"])
def test_symlink_escape(alice, label, path):
    alice.output(label, MAKE_WAYS_OUT)
    result = alice.call("present_file", sandbox=label, path=path)
    assert result.is_error and "root:" not in result.text


def test_oversized_image(label):
    """It is linked whole; what is shown of it is made small enough, where that is allowed at all."""
    with Stack(gateway_settings={"SANDBOX_IMAGE_MAX": "100"}) as stack, McpClient(stack.url, stack.key) as client:
        client.output(label, "python3 -c 'import zlib,struct,os\n"
                             "def c(t,d): return struct.pack(\">I\",len(d))+t+d+struct.pack(\">I\",zlib.crc32(t+d))\n"
                             "w=300; raw=b\"\".join(b\"\\0\"+os.urandom(3*w) for _ in range(w))\n"
                             "open(\"noise.png\",\"wb\").write(b\"\\x89PNG\\r\\n\\x1a\\n\"+c(b\"IHDR\",struct.pack(\">IIBBBBB\",w,w,8,2,0,0,0))"
                             "+c(b\"IDAT\",zlib.compress(raw))+c(b\"IEND\",b\"\"))'")
        result = client.call("present_file", sandbox=label, path="noise.png")
        assert not [part for part in result.content if part["type"] == "image"], result
        assert fetch(client, link_in(result)).body[:4] == b"\x89PNG"


def test_link_expiry_and_signature_tampering(label):
    with Stack(gateway_settings={"SANDBOX_LINK_TTL": "1"}) as stack, McpClient(stack.url, stack.key) as client:
        client.output(label, "echo x >f.txt")
        path = link_in(client.call("present_file", sandbox=label, path="f.txt"))
        head, expiry, signature, rest = re.match(r"(/dl/)(\d+)/([^/]+)(/.*)", path).groups()
        for altered in (f"{head}{int(expiry) + 60}/{signature}{rest}", f"{head}{expiry}/{signature[::-1]}{rest}",
                        f"{head}{expiry}/{signature}{rest}x"):
            assert fetch(client, altered).status == 404, altered
        wait_for("the link to expire", lambda: fetch(client, path).status == 410, 10)


def test_credential_redaction_in_sandbox_info(alice):
    text = alice.call("sandbox_info").text
    assert "<redacted>" in text and alice.key not in text


# ---- code-sandbox-mcp: its behaviour, as its README has it ----

@pytest.fixture(scope="module")
def long_lived():
    with Stack({"SANDBOX_PROFILE": "persistent", "SANDBOX_IDLE": "1", "SANDBOX_STOP_AFTER": "2"}) as running:
        yield running


def test_packages_persist_and_a_stopped_container_is_restarted_not_recreated(long_lived):
    with McpClient(long_lived.url, long_lived.key, era=MODERN) as client:
        installed = client.call("execute", timeout=300, command=(
            "apt-get update -qq && apt-get install -y -qq bc nodejs npm >/dev/null && pip install -q humanize && npm install -g -s is-odd"))
        installed = finish(client, installed)
        assert installed.text.endswith("exit code: 0"), installed
        (before,) = long_lived.containers()
        becomes(long_lived, "main", "STOPPED")
        again = client.call("execute", command="echo 6*7 | bc; python3 -c 'import humanize'; npm ls -g | grep -c is-odd; exit 0")
        assert "[restarted]" in again.first_line and "stdout:\n42\n1\n" in again.text, again
        assert list(long_lived.containers()) == [before]


def finish(client, result):
    while "[running]" in result.first_line:
        result = client.call("wait_command")
    return result

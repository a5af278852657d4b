"""What SELinux's policy gives the two processes and sandboxes, asked of the kernel that enforces it."""

import re

import pytest

GATEWAY, AGENT = "sandkeep_gateway_t", "sandkeep_agent_t"

FORBIDDEN = [
    ("the gateway connects to 127.0.0.1:22", GATEWAY, "ssh_port_t", "tcp_socket", "name_connect"),
    ("the gateway connects to the web", GATEWAY, "http_port_t", "tcp_socket", "name_connect"),
    ("the gateway binds another port", GATEWAY, "ssh_port_t", "tcp_socket", "name_bind"),
    ("the gateway executes a shell", GATEWAY, "shell_exec_t", "file", "execute"),
    ("the gateway executes a program", GATEWAY, "bin_t", "file", "execute"),
    ("the gateway starts the engine", GATEWAY, "podman_exec_t", "file", "execute"),
    ("the gateway reads what the agent keeps", GATEWAY, "sandkeep_agent_var_lib_t", "file", "read"),
    ("the gateway reads a sandbox's file", GATEWAY, "container_file_t", "file", "read"),
    ("the gateway reads a home", GATEWAY, "user_home_t", "file", "read"),
    ("the gateway opens the engine's socket", GATEWAY, "container_runtime_t", "sock_file", "write"),
    ("the gateway traces the agent", GATEWAY, AGENT, "process", "ptrace"),
    ("the agent binds a port", AGENT, "unreserved_port_t", "tcp_socket", "name_bind"),
    ("the agent connects to a port", AGENT, "http_port_t", "tcp_socket", "name_connect"),
    ("the agent traces the gateway", AGENT, GATEWAY, "process", "ptrace"),
    ("the agent reads the gateway's keys", AGENT, "sandkeep_gateway_var_lib_t", "file", "read"),
    ("the gateway traces a sandbox", GATEWAY, "container_t", "process", "ptrace"),
    ("a sandbox reads what the agent keeps", "container_t", "sandkeep_agent_var_lib_t", "file", "read"),
    ("a sandbox connects to the agent", "container_t", AGENT, "unix_stream_socket", "connectto"),
]
ALLOWED = [
    ("the gateway connects to the agent", GATEWAY, AGENT, "unix_stream_socket", "connectto"),
    ("the agent takes descriptors from an init", AGENT, "container_t", "process", "ptrace"),
    ("the gateway binds its port", GATEWAY, "sandkeep_port_t", "tcp_socket", "name_bind"),
]


def allows(host, source, target, kind, permission):
    role = "object_r" if not re.search(r"sandkeep_(agent|gateway)_t$|container_t$", target) else "system_r"
    answer = host.run(f"compute_av system_u:system_r:{source}:s0 system_u:{role}:{target}:s0 {kind}")
    allowed = re.search(r"^allowed=(.*)", answer, re.MULTILINE)
    assert allowed, answer
    return permission in allowed[1].split()


def test_each_process_is_in_its_domain(host, alice, label):
    assert alice.run(label, "true").exit_code == 0
    found = host.run("ps -eo label,comm")
    for domain, name in ((GATEWAY, "sandkeep-gatewa"), (AGENT, "sandkeep-agent"), ("container_t", "sandkeep-init")):
        assert re.search(rf":{domain}:\S* +{name}", found), found
    levels = re.findall(r":container_t:(\S+) +sandkeep-init", found)
    assert levels and all(re.fullmatch(r"s0:c\d+,c\d+", level) for level in levels), found


def test_a_rebuilt_sandbox_has_the_categories_of_its_files_and_another_has_others(host, alice, label):
    level = "echo $(tr -d '\\0' </proc/self/attr/current)"
    first = alice.output(label, f"mkdir -p kept && echo text >kept/file; {level}")
    principal = host.run(f"sandkeepctl ls | awk '$1 == \"{label}\" {{ print $(NF - 1) }}'").strip()
    host.run(f"sandkeepctl rm {principal} {label}")
    after = alice.run(label, f"{level}; cat kept/file; echo more >>kept/file; rm kept/file")
    assert "[rebuilt]" in after.first_line and after.output == f"{first}text\n", (first, after)
    assert alice.output(f"{label}-other", level) != first


@pytest.mark.parametrize("what, source, target, kind, permission", FORBIDDEN, ids=[row[0] for row in FORBIDDEN])
def test_is_denied(host, what, source, target, kind, permission):
    assert not allows(host, source, target, kind, permission), what


@pytest.mark.parametrize("what, source, target, kind, permission", ALLOWED, ids=[row[0] for row in ALLOWED])
def test_is_allowed(host, what, source, target, kind, permission):
    assert allows(host, source, target, kind, permission), what

"""What SELinux's policy gives the two processes, the agent's two helpers and sandboxes, asked of the kernel that enforces it."""

import re

import pytest
from test_files import fetch, link_in
from test_images import noise, present, put

GATEWAY, AGENT = "sandkeep_gateway_t", "sandkeep_agent_t"
FILES, IMAGER = "sandkeep_files_t", "sandkeep_imager_t"

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
    ("the agent opens a sandbox's file", AGENT, "container_file_t", "file", "open"),
    ("the agent opens a sandbox's folder", AGENT, "container_file_t", "dir", "open"),
    ("the agent makes a user namespace", AGENT, AGENT, "user_namespace", "create"),
    ("sandkeep-files makes a socket", FILES, FILES, "tcp_socket", "create"),
    ("sandkeep-files asks a name server", FILES, FILES, "udp_socket", "create"),
    ("sandkeep-files reads what the agent keeps", FILES, "sandkeep_agent_var_lib_t", "file", "read"),
    ("sandkeep-files reads the gateway's keys", FILES, "sandkeep_gateway_var_lib_t", "file", "read"),
    ("sandkeep-files reads a home", FILES, "user_home_t", "file", "read"),
    ("sandkeep-files reads the machine's settings", FILES, "etc_t", "file", "open"),
    ("sandkeep-files reads a sandbox's image", FILES, "container_ro_file_t", "file", "read"),
    ("sandkeep-files executes a sandbox's file", FILES, "container_file_t", "file", "execute"),
    ("sandkeep-files executes a program", FILES, "bin_t", "file", "execute"),
    ("sandkeep-files traces a sandbox", FILES, "container_t", "process", "ptrace"),
    ("sandkeep-files calls the agent", FILES, AGENT, "unix_stream_socket", "connectto"),
    ("sandkeep-imager makes a socket", IMAGER, IMAGER, "tcp_socket", "create"),
    ("sandkeep-imager asks a name server", IMAGER, IMAGER, "udp_socket", "create"),
    ("sandkeep-imager asks the network's state", IMAGER, IMAGER, "netlink_route_socket", "create"),
    ("sandkeep-imager opens a sandbox's file", IMAGER, "container_file_t", "file", "open"),
    ("sandkeep-imager writes to the file that it has", IMAGER, "container_file_t", "file", "write"),
    ("sandkeep-imager looks into a sandbox's folder", IMAGER, "container_file_t", "dir", "search"),
    ("sandkeep-imager opens the machine's settings", IMAGER, "etc_t", "file", "open"),
    ("sandkeep-imager reads what the agent keeps", IMAGER, "sandkeep_agent_var_lib_t", "file", "read"),
    ("sandkeep-imager reads a home", IMAGER, "user_home_t", "file", "read"),
    ("sandkeep-imager executes a program", IMAGER, "bin_t", "file", "execute"),
    ("sandkeep-imager traces sandkeep-files", IMAGER, FILES, "process", "ptrace"),
    ("sandkeep-imager calls the agent", IMAGER, AGENT, "unix_stream_socket", "connectto"),
    ("the gateway traces a sandbox", GATEWAY, "container_t", "process", "ptrace"),
    ("a sandbox reads what the agent keeps", "container_t", "sandkeep_agent_var_lib_t", "file", "read"),
    ("a sandbox connects to the agent", "container_t", AGENT, "unix_stream_socket", "connectto"),
]
ALLOWED = [
    ("the gateway connects to the agent", GATEWAY, AGENT, "unix_stream_socket", "connectto"),
    ("the agent takes descriptors from an init", AGENT, "container_t", "process", "ptrace"),
    ("the gateway binds its port", GATEWAY, "sandkeep_port_t", "tcp_socket", "name_bind"),
    ("sandkeep-files opens a sandbox's file", FILES, "container_file_t", "file", "open"),
    ("sandkeep-imager reads the file that it has", IMAGER, "container_file_t", "file", "read"),
]


def allows(host, source, target, kind, permission):
    role = "object_r" if not re.search(r"sandkeep_(agent|gateway|files|imager)_t$|container_t$", target) else "system_r"
    answer = host.run(f"compute_av system_u:system_r:{source}:s0 system_u:{role}:{target}:s0 {kind}")
    allowed = re.search(r"^allowed=(.*)", answer, re.MULTILINE)
    assert allowed, answer
    return permission in allowed[1].split()


def test_each_process_is_in_its_domain(host, alice, label):
    assert alice.run(label, "true").exit_code == 0
    found = host.run("ps -eo label,comm")
    for domain, name in ((GATEWAY, "sandkeep-gatewa"), (AGENT, "sandkeep-agent"), (FILES, "sandkeep-files"),
                         ("container_t", "sandkeep-init")):
        assert re.search(rf":{domain}:\S* +{name}", found), found
    levels = re.findall(r":container_t:(\S+) +sandkeep-init", found)
    assert levels and all(re.fullmatch(r"s0:c\d+,c\d+", level) for level in levels), found


def test_files_and_pictures_go_their_way_in_domains_of_their_own(host, alice, label):
    # In which an imager runs, the kernel says: a picture is looked at in no time.
    kind = host.run("python3 -c \"import ctypes as c; s = c.CDLL('libselinux.so.1'); out = c.c_char_p(); "
                    f"s.security_compute_create(b'system_u:system_r:{AGENT}:s0', b'system_u:object_r:sandkeep_imager_exec_t:s0', "
                    "s.string_to_security_class(b'process'), c.byref(out)); print(out.value.decode())\"")
    assert f":{IMAGER}:" in kind, kind
    assert "sandkeep_imager_exec_t" in host.run("ls -Z /usr/libexec/sandkeep/sandkeep-imager")
    alice.output(label, "mkdir d; echo text >d/file; ln -s file d/link; mkfifo d/fifo")
    put(alice, label, "picture.png", noise(40, 30))
    result, picture = present(alice, label, "picture.png")
    assert picture is not None, result
    assert alice.call("read_file", sandbox=label, path="d/file").content[1]["text"] == "text\n"
    assert not alice.call("edit_file", sandbox=label, path="d/file", old_text="text", new_text="words").is_error
    assert "d/" in alice.call("list_files", sandbox=label).text
    assert fetch(alice, link_in(alice.call("present_file", sandbox=label, path="d/file"))).body == b"words\n"
    assert fetch(alice, link_in(alice.call("present_file", sandbox=label, path="d"))).status == 200
    assert not alice.call("delete_file", sandbox=label, path="d", recursive=True).is_error
    assert alice.output(label, "ls") == "picture.png\n"


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

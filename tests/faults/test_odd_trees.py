"""Workspaces that no program was written for: more files than a list has, ten thousand levels, what nobody may read, names that are no text.

Whatever is asked of them is answered, costs nobody else anything, and loses no file. SANDKEEP_MANY_FILES says how many are many.
"""

import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import time
import zipfile

import pytest
from mcp_client import McpClient
from stack import AGENT_HOME, Stack, wait_for
from test_files import fetch, link_in

# More than a search looks at.
MANY = int(os.environ.get("SANDKEEP_MANY_FILES", "100000"))
MAKE_MANY = f"""mkdir d && cd d && python3 -c '
import os
for number in range({MANY}):
    os.close(os.open(f"{{number:07}}", os.O_CREAT))
open("last", "w").write("kept")'"""
LEVELS = 10_000
# Folder by folder, since no path is that long.
MAKE_DEEP = f"""python3 -c '
import os
for _ in range({LEVELS}):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").write("here")'"""
FIND_BOTTOM = f"""python3 -c '
import os
for _ in range({LEVELS}):
    os.chdir("d")
print(open("bottom").read())'"""


@pytest.fixture(scope="module")
def own():
    """A stack of its own: here nothing else is swept or measured."""
    with Stack({"SANDBOX_DISK": "20g"}) as stack, McpClient(stack.url, stack.key, timeout=300) as client:
        client.output("beside", "true")
        yield stack, client


def quick(client):
    began = time.monotonic()
    assert client.run("beside", "true").exit_code == 0
    return time.monotonic() - began < 5


def test_more_files_than_anybody_lists(own):
    _, client = own
    client.output("many", MAKE_MANY, timeout_seconds=300, wait_seconds=280)
    assert quick(client)
    listed = client.call("list_files", sandbox="many", path="d")
    assert not listed.is_error and len(listed.text) < 50_000, listed
    assert "kept" in client.call("read_file", sandbox="many", path="d/last").text
    assert not client.call("write_file", sandbox="many", path="d/more", content="x").is_error
    assert quick(client)
    assert client.output("many", "ls d | wc -l").strip() == str(MANY + 2)
    gone = client.call("delete_file", sandbox="many", path="d", recursive=True)
    assert gone.is_error or f"with {MANY + 2} entries in it" in gone.text.replace(",", ""), gone
    assert quick(client)
    wait_for("all of it to go", lambda: client.run("many", "ls").output == "" or
             client.call("delete_file", sandbox="many", path="d", recursive=True) is None, 180)


def test_who_removes_them_waits_for_none_of_them(own):
    stack, client = own
    before = set(stack.volumes())
    client.output("gone", MAKE_MANY, timeout_seconds=300, wait_seconds=280)
    (volume,) = set(stack.volumes()) - before
    told = client.call("remove_sandbox", sandbox="gone", files=True)
    assert not told.is_error and "Removed, with all files" in told.text, told
    stack.kill_agent()  # With its work hardly begun.
    assert volume not in stack.volumes()
    stack.start_agent()
    assert client.output("gone", "ls -A") == ""
    removed = pathlib.Path(AGENT_HOME, "containers/storage/volumes/.sandkeep-removed")
    wait_for("its files to go", lambda: not any(path.name.startswith(volume) for path in removed.iterdir()), 180)


def test_one_that_cannot_be_deleted_keeps_no_other(own):
    stack, client = own
    client.output("first", "true")  # So that the engine's storage is there.
    removed = pathlib.Path(AGENT_HOME, "containers/storage/volumes/.sandkeep-removed")
    subprocess.run(["install", "-d", "-m", "0700", "-o", "sandkeep", "-g", "sandkeep", removed], check=True)
    folders = [removed / f"sandkeep-{letter * 20}.gone" for letter in "abcdefgh"]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("x")
    subprocess.run(["chown", "-R", "sandkeep:sandkeep", *folders], check=True)
    stuck = folders[3]
    subprocess.run(["chattr", "+i", stuck / "file"], check=True)
    try:
        stack.kill_agent()
        stack.start_agent()
        wait_for("the others to go", lambda: [folder for folder in folders if folder.exists()] == [stuck], 120)
        assert "unshare rm" in stack.log("agent")
    finally:
        subprocess.run(["chattr", "-i", stuck / "file"], check=True)
        shutil.rmtree(stuck)


def test_ten_thousand_levels(own):
    stack, client = own
    agent = stack.agent.pid
    client.output("deep", MAKE_DEEP, timeout_seconds=120)
    listed = client.call("list_files", sandbox="deep", pattern="**/bottom")
    assert not listed.is_error and quick(client)
    assert client.call("read_file", sandbox="deep", path="d/" * 2500 + "bottom").is_error
    presented = client.call("present_file", sandbox="deep", path="d")
    assert not presented.is_error and "more than an archive can" in presented.text, presented
    assert fetch(client, link_in(presented)).status == 413
    assert quick(client)
    assert client.output("deep", FIND_BOTTOM) == "here\n", "nothing of it was lost by being looked at"
    assert stack.agent.poll() is None and stack.agent.pid == agent
    stack.kill_agent()
    stack.start_agent()
    assert client.output("deep", FIND_BOTTOM) == "here\n"
    refused = client.call("delete_file", sandbox="deep", path="d", recursive=True)
    assert refused.is_error and "nest too deeply" in refused.text and "with a command" in refused.text, refused


def test_what_its_owner_closed_and_names_that_are_no_text(own):
    stack, client = own
    client.output("odd", "mkdir closed && echo inside >closed/f && chown 54321 closed closed/f && chmod 000 closed closed/f; "
                         "echo a >$'caf\\xe9.txt'; mkdir $'\\xff\\xfe'; echo b >$'\\xff\\xfe/x'; echo c >$'tab\\tesc\\e[2J'")
    listed = client.call("list_files", sandbox="odd", pattern="**")
    assert "closed/f" in listed.text and "caf" in listed.text, listed
    assert "\x1b" not in listed.text
    assert "inside" in client.call("read_file", sandbox="odd", path="closed/f").text
    archive = io.BytesIO(fetch(client, link_in(client.call("present_file", sandbox="odd", path="."))).body)
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None and len([n for n in packed.namelist() if not n.endswith("/")]) == 4, packed.namelist()
    tar = io.BytesIO(fetch(client, link_in(client.call("present_file", sandbox="odd", path=".", format="tar"))).body)
    with tarfile.open(fileobj=tar) as packed:
        assert len([member for member in packed if member.isfile()]) == 4
    resources = client.request("resources/list")
    assert "result" in resources
    assert client.output("odd", "cat closed/f $'caf\\xe9.txt' $'\\xff\\xfe/x' | sort | tr -d '\\n'") == "abinside"
    assert client.output("odd", "ls | wc -l").strip() == "4"

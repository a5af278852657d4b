"""A file gets out by a signed link and by nothing else, and only a regular file of the workspace does."""

import hashlib
import io
import os
import re
import stat
import subprocess
import tarfile
import urllib.parse
import zipfile

import pytest
from mcp_client import McpClient
from stack import Stack, podman

LINK = re.compile(r"\((http://[^)\s]+/dl/[^)\s]+)\)")


def link_in(result):
    found = LINK.search(result.text)
    assert found, result
    return urllib.parse.urlsplit(found.group(1)).path


def fetch(client, path, method="GET", **headers):
    """Without the access key: the link is the permission."""
    return client.send(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})


def test_a_text_file_is_shown_and_linked(alice, label):
    alice.output(label, "printf 'line\\r\\nlast' >notes.txt")
    result = alice.call("present_file", sandbox=label, path="notes.txt", caption="My notes")
    assert "line" in result.text and "he person doesn't see this result" in result.text
    answer = fetch(alice, link_in(result))
    assert (answer.status, answer.body) == (200, b"line\r\nlast")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_path_below_workspace_is_the_same_file(alice, label):
    alice.output(label, "mkdir -p d; echo x >d/f.txt")
    for path in ("d/f.txt", "/workspace/d/f.txt", "./d//f.txt"):
        assert not alice.call("present_file", sandbox=label, path=path).is_error, path


def test_binary_files_arrive_whole(alice, label):
    digest = alice.output(label, "head -c 3000000 /dev/urandom >data.bin; sha256sum <data.bin").split()[0]
    path = link_in(alice.call("present_file", sandbox=label, path="data.bin"))
    answer = fetch(alice, path)
    assert hashlib.sha256(answer.body).hexdigest() == digest
    part = fetch(alice, path, Range="bytes=10-19")
    assert (part.status, part.body) == (206, answer.body[10:20])
    assert fetch(alice, path, Range="bytes=3000000-").status == 416
    head = fetch(alice, path, "HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (200, "3000000", b"")


def test_a_picture_is_attached_and_linked(alice, label):
    alice.output(label, "base64 -d >dot.png <<<iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
    result = alice.call("present_file", sandbox=label, path="dot.png")
    assert [part["mimeType"] for part in result.content if part["type"] == "image"] == ["image/png"]
    assert fetch(alice, link_in(result)).status == 200


def test_names_in_any_script_keep_their_name(alice, label):
    name = "Übersicht 琥珀 'q\" (1).txt"
    alice.output(label, f"cat >$'{name.replace(chr(39), chr(92) + chr(39))}' <<<x")
    path = link_in(alice.call("present_file", sandbox=label, path=name))
    answer = fetch(alice, path)
    assert answer.status == 200
    assert urllib.parse.quote(name, safe="()").split("%20")[0].encode() in answer.headers["content-disposition"].encode()


WAYS_OUT = {
    "../etc/passwd": "without .. in it", "up/../../etc/passwd": "without .. in it", "/workspace/../etc/passwd": "without .. in it",
    "/etc/passwd": "cp -- /etc/passwd /workspace/", "link": "symlink", "dir-link/passwd": "symlink", "proc-root/etc/passwd": "symlink",
    "dangling": "symlink", "fifo": "not a regular file", "socket": "not a regular file", "device": "not a regular file",
    "a\0b": "without NUL", "missing": "There is no file",
}
MAKE_WAYS_OUT = "ln -sf /etc/passwd link; ln -sfn /etc dir-link; mkdir -p up; rm -f fifo socket; mkfifo fifo; ln -sf nowhere dangling; " \
                "ln -sfn /proc/self/root proc-root; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'"


@pytest.fixture(scope="module")
def ways_out(stack):
    """A workspace with one of each; the device is made by the host's root, as no sandbox's may."""
    with McpClient(stack.url, stack.key) as client:
        before = set(stack.volumes())
        client.output("ways-out", MAKE_WAYS_OUT)
        (volume,) = set(stack.volumes()) - before
        data = podman("volume", "inspect", "--format", "{{.Mountpoint}}", volume).strip()
        os.mknod(f"{data}/device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        assert client.output("ways-out", "stat -c %F device") == "character special file\n"
    return "ways-out"


@pytest.mark.parametrize("path", WAYS_OUT)
def test_ways_out_of_the_workspace_are_refused(alice, ways_out, path):
    result = alice.call("present_file", sandbox=ways_out, path=path)
    assert result.is_error and WAYS_OUT[path] in result.text, result
    assert "root:" not in result.text and len(result.content) == 1


def test_a_name_that_is_not_utf8_is_answered(alice, label):
    alice.output(label, "echo x >$'caf\\xe9.txt'")
    body = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"present_file","arguments":{"sandbox":"' + \
        label.encode() + b'","path":"caf\xe9.txt"}}}'
    assert alice.post(body).status == 400, "JSON is UTF-8"
    listing = alice.call("present_file", sandbox=label, path="caf.txt")
    assert listing.is_error


def test_a_file_outside_is_refused_with_the_line_that_copies_it(alice, label):
    alice.output(label, "echo x >/tmp/report.txt")
    result = alice.call("present_file", sandbox=label, path="/tmp/report.txt")
    assert result.is_error and "cp " in result.text and "/workspace" in result.text


def test_a_missing_file_names_the_nearest(alice, label):
    alice.output(label, "echo x >report-final.txt")
    result = alice.call("present_file", sandbox=label, path="report_final.txt")
    assert result.is_error and "report-final.txt" in result.text


def test_a_name_is_found_though_it_is_written_in_another_normal_form(alice, label):
    """As it comes from a Mac: the accent is a character of its own."""
    alice.output(label, r"mkdir $'Me\u0301moire' && echo bonjour >$'Me\u0301moire/re\u0301sume\u0301.txt' && cp $'Me\u0301moire/re\u0301sume\u0301.txt' .")
    shown = alice.call("present_file", sandbox=label, path="r\u00e9sum\u00e9.txt")
    assert not shown.is_error and fetch(alice, link_in(shown)).body == b"bonjour\n"
    assert "bonjour" in alice.call("read_file", sandbox=label, path="r\u00e9sum\u00e9.txt").text
    assert "sum" in alice.call("list_files", sandbox=label, path="M\u00e9moire").text
    assert not alice.call("edit_file", sandbox=label, path="r\u00e9sum\u00e9.txt", old_text="jour", new_text="soir").is_error
    assert alice.output(label, r"cat $'re\u0301sume\u0301.txt'; ls | wc -l") == "bonsoir\n2\n"
    assert not alice.call("delete_file", sandbox=label, path="r\u00e9sum\u00e9.txt").is_error
    assert alice.output(label, "ls | wc -l") == "1\n"


def test_a_link_with_any_character_altered_is_the_same_404(alice, label):
    alice.output(label, "echo x >f.txt")
    path = link_in(alice.call("present_file", sandbox=label, path="f.txt"))
    assert fetch(alice, path).status == 200
    plain = fetch(alice, "/dl/1/x/y-aaaaaaaaaaaaaaaa/z")
    for at in range(len("/dl/"), len(path)):
        if path[at] == "/":
            continue
        other = "A" if path[at] != "A" else "B"
        answer = fetch(alice, path[:at] + other + path[at + 1:])
        assert (answer.status, answer.body) == (404, plain.body), path[:at] + "*"


def test_an_expired_link_says_so():
    with Stack(gateway_settings={"SANDBOX_LINK_TTL": "1"}) as stack, McpClient(stack.url, stack.key) as client:
        client.output("brief", "echo x >f.txt")
        path = link_in(client.call("present_file", sandbox="brief", path="f.txt"))
        from stack import wait_for
        answer = wait_for("the link to expire", lambda: (a := fetch(client, path)).status == 410 and a, 10)
        assert b"again" in answer.body


def test_another_principals_file_cannot_be_presented(alice, bob, label):
    alice.output(label, "echo hers >f.txt")
    assert bob.call("present_file", sandbox=label, path="f.txt").is_error


def test_a_folder_comes_as_an_archive_that_any_program_opens(alice, label, tmp_path):
    alice.output(label, "mkdir -p 'my site/sub/empty'; cd 'my site'; seq 1 200000 >sub/n.txt; head -c 3000000 /dev/urandom >r.bin; "
                        "printf x >Übersicht.txt; printf y >'a\\..\\evil'; printf z >$'new\nline'; : >nothing; ln -s /etc/passwd link; "
                        "mkfifo fifo; touch -d '2021-02-03 04:05:06' nothing; chmod 755 r.bin")
    path = link_in(alice.call("present_file", sandbox=label, path="my site"))
    head = fetch(alice, path, "HEAD")
    assert (head.status, head.headers["content-type"]) == (200, "application/zip")
    assert "my site.zip" in head.headers["content-disposition"]
    (tmp_path / "a.zip").write_bytes(fetch(alice, path).body)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted([
            "sub/", "sub/empty/", "sub/n.txt", "r.bin", "Übersicht.txt", "a_.._evil", "new_line", "nothing"])
        assert archive.read("sub/n.txt").decode() == "".join(f"{n}\n" for n in range(1, 200001))
        assert archive.getinfo("r.bin").external_attr >> 16 & 0o777 == 0o755
        assert archive.getinfo("nothing").date_time == (2021, 2, 3, 4, 5, 6)
        digest = alice.output(label, "sha256sum <'my site/r.bin'").split()[0]
        assert hashlib.sha256(archive.read("r.bin")).hexdigest() == digest
    whole = fetch(alice, link_in(alice.call("present_file", sandbox=label, path="/workspace")))
    assert "workspace.zip" in whole.headers["content-disposition"]
    assert "my site/sub/n.txt" in zipfile.ZipFile(io.BytesIO(whole.body)).namelist()
    alice.output(label, "rm -r 'my site'")
    assert fetch(alice, path).status == 404


def test_a_folder_of_more_files_than_one_listing_has(alice, label):
    alice.output(label, "mkdir many; cd many; seq 1 2300 | xargs touch")
    body = fetch(alice, link_in(alice.call("present_file", sandbox=label, path="many"))).body
    assert len(zipfile.ZipFile(io.BytesIO(body)).namelist()) == 2300


def test_a_folder_of_more_files_than_an_archive_holds_says_so_before_it_begins(alice, label):
    alice.output(label, "mkdir many; cd many; seq 1 10000 | xargs touch")
    presented = alice.call("present_file", sandbox=label, path="many")
    assert not presented.is_error and "more than an archive can" in presented.text, presented
    refused = fetch(alice, link_in(presented))
    assert refused.status == 413 and b"pack it in the sandbox" in refused.body, refused
    page = fetch(alice, link_in(presented), Accept="text/html")
    assert page.status == 200 and b"Not shown: " in page.body and b"?download" not in page.body
    assert fetch(alice, link_in(presented), "HEAD").status == 200
    alice.output(label, "rm many/9999; tar cf many.tar many")
    assert len(zipfile.ZipFile(io.BytesIO(fetch(alice, link_in(presented)).body)).namelist()) == 9999
    body = fetch(alice, link_in(alice.call("present_file", sandbox=label, path="many.tar"))).body
    assert len(tarfile.open(fileobj=io.BytesIO(body)).getnames()) == 10000


def test_folders_with_a_dot_count_for_an_archive_too(alice, label):
    alice.output(label, "mkdir -p project/.venv/lib; cd project/.venv/lib; seq 1 10000 | xargs touch")
    presented = alice.call("present_file", sandbox=label, path="project")
    assert not presented.is_error and "more than an archive can" in presented.text, presented
    assert fetch(alice, link_in(presented)).status == 413
    alice.output(label, "rm project/.venv/lib/1")
    names = zipfile.ZipFile(io.BytesIO(fetch(alice, link_in(presented)).body)).namelist()
    assert len(names) == 9999 + 2 and ".venv/lib/2" in names


ESCAPES = "mkdir -p t/sub/empty; cd t; printf x >'a\\..\\evil'; printf c >C:evil; printf n >$'new\\nline'; printf d >-rf; " \
          "ln -s /etc/passwd link; ln -s .. up; mkfifo fifo; printf u >Übersicht; printf s >sub/f; chmod 750 sub/f"


@pytest.mark.parametrize("format", ["zip", "tar"])
def test_nothing_in_an_archive_leaves_the_folder_it_is_unpacked_into(alice, label, tmp_path, format):
    alice.output(label, ESCAPES)
    result = alice.call("present_file", sandbox=label, path="t", format=format)
    answer = fetch(alice, link_in(result))
    assert f"t.{format}" in answer.headers["content-disposition"] and f"t.{format}, a folder as an archive" in result.text
    file, out = tmp_path / f"t.{format}", tmp_path / "out"
    file.write_bytes(answer.body)
    out.mkdir()
    unpack = {"zip": ["unzip", "-q", file], "tar": ["tar", "-xf", file]}[format]
    subprocess.run(unpack, cwd=out, check=True, capture_output=True)
    names = sorted(os.path.relpath(os.path.join(top, name), out) for top, folders, files in os.walk(out) for name in folders + files)
    assert names == sorted(["-rf", "C_evil", "a_.._evil", "new_line", "sub", "sub/empty", "sub/f", "Übersicht"])
    assert sorted(os.listdir(tmp_path)) == ["out", file.name]
    assert stat.S_IMODE(os.stat(out / "sub" / "f").st_mode) == 0o750


def test_a_tar_keeps_names_and_contents_of_any_length(alice, label):
    deep = "/".join(["Ordner" * 10] * 5)
    alice.output(label, f"mkdir -p 'many/{deep}'; cd many; seq 1 100000 >'{deep}/琥珀.txt'; : >nothing; head -c 511 /dev/urandom >odd")
    body = fetch(alice, link_in(alice.call("present_file", sandbox=label, path="many", format="tar"))).body
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        members = {member.name: member for member in archive}
        assert members["nothing"].size == 0 and members["odd"].size == 511
        assert archive.extractfile(f"{deep}/琥珀.txt").read().decode() == "".join(f"{n}\n" for n in range(1, 100001))
        digest = alice.output(label, "sha256sum <many/odd").split()[0]
        assert hashlib.sha256(archive.extractfile("odd").read()).hexdigest() == digest

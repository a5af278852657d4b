"""write_file, read_file, edit_file, list_files, delete_file on real volumes: exact, whole, and never anywhere else."""

import base64
import concurrent.futures
import hashlib
import io
import secrets
import tarfile

import pytest
from mcp_client import McpClient
from test_files import fetch, link_in


def text_of(result):
    """What follows the block of facts."""
    return result.content[1]["text"]


def test_a_first_write_makes_the_sandbox(alice, label):
    result = alice.call("write_file", sandbox=label, path="src/main.py", content="print('hi')\n")
    assert result.first_line.endswith("[new]") and "Made src/main.py, 12 bytes." in result.text, result
    assert alice.output(label, "python3 src/main.py; stat -c '%u:%g %a' src src/main.py").splitlines() == \
        ["hi", "0:0 755", "0:0 644"]


@pytest.mark.parametrize("content", ["", "x", "no feed", "crlf\r\nlf\ncr\r", "tab\tnul\0bell\7", "Ωж漢🎉\u202etfel", "\n" * 1000])
def test_any_text_arrives_to_the_byte(alice, shared_label, content):
    assert not alice.call("write_file", sandbox=shared_label, path="exact.txt", content=content).is_error
    digest = alice.output(shared_label, "sha256sum <exact.txt").split()[0]
    assert digest == hashlib.sha256(content.encode()).hexdigest()


def test_bytes_arrive_too_and_large_ones(alice, shared_label):
    data = secrets.token_bytes(3_000_000)
    result = alice.call("write_file", sandbox=shared_label, path="b/data.bin", encoding="base64",
                        content=base64.b64encode(data).decode())
    assert "3.0 MB" in result.text
    assert alice.output(shared_label, "sha256sum <b/data.bin").split()[0] == hashlib.sha256(data).hexdigest()
    binary = alice.call("read_file", sandbox=shared_label, path="b/data.bin")
    assert "is binary" in binary.text and data[:16].hex(" ") in binary.text


def test_a_replaced_file_keeps_owner_and_mode_and_old_readers_their_file(alice, label):
    alice.output(label, "echo old >f; chown 1000:1000 f; chmod 700 f; exec 3<f; sleep 600 <&3 & disown")
    alice.call("write_file", sandbox=label, path="f", content="new\n")
    assert alice.output(label, "stat -c '%u:%g %a' f; cat f; cat /proc/$(pgrep -x sleep)/fd/0").split() == \
        ["1000:1000", "700", "new", "old"]


def test_appending_from_several_sides_loses_nothing(stack, alice, label):
    alice.call("write_file", sandbox=label, path="log", content="0\n")

    def append(number):
        with McpClient(stack.url, stack.key) as client:
            return client.call("write_file", sandbox=label, path="log", content=f"{number}\n", append=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(append, range(1, 9)))
    kept = {int(line) for line in alice.output(label, "cat log").split()}
    assert kept == {0} | {n for n, result in enumerate(results, 1) if not result.is_error}
    assert len(kept) > 4


def test_two_edits_at_once_both_land_or_say_why(stack, alice, label):
    alice.call("write_file", sandbox=label, path="f", content="a0 b0 c0 d0\n")

    def edit(letter):
        with McpClient(stack.url, stack.key) as client:
            return client.call("edit_file", sandbox=label, path="f", old_text=letter + "0", new_text=letter + "1")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(edit, "abcd"))
    text = alice.output(label, "cat f")
    for letter, result in zip("abcd", results):
        assert (letter + "1" in text) != result.is_error, (text, result)


def test_an_edit_changes_nothing_else(alice, label):
    alice.output(label, "printf 'one\\r\\ntwo \\xe9\\r\\nlast' >f; chmod 755 f")
    assert "at line 2" in alice.call("edit_file", sandbox=label, path="f", old_text="two", new_text="zwei").text
    assert alice.output(label, "od -An -v -tx1 f | tr -d ' \\n'; echo; stat -c %a f").split() == [b"one\r\nzwei \xe9\r\nlast".hex(), "755"]
    refused = alice.call("edit_file", sandbox=label, path="f", old_text="one\nzwei", new_text="x")
    assert refused.is_error and "\\r\\n" in refused.text


def test_reading_by_lines(alice, label):
    alice.output(label, "seq 1 5000 >n; printf 'a\\r\\nb' >crlf")
    result = alice.call("read_file", sandbox=label, path="n", offset=4990, limit=5)
    assert text_of(result) == "4990\n4991\n4992\n4993\n4994\n" and "offset 4995" in result.text
    assert text_of(alice.call("read_file", sandbox=label, path="n")).count("\n") == 2000
    whole = alice.call("read_file", sandbox=label, path="/workspace/crlf")
    assert text_of(whole) == "a\r\nb" and "no line feed at the end" in whole.text


def test_listing_is_newest_first_and_bounded(alice, label):
    alice.output(label, "mkdir -p src/deep .hidden; touch -d '2 days ago' src/old.py; touch -d yesterday src/deep/mid.py; "
                        "touch src/new.py; touch .hidden/x.py; ln -s /etc link; mkfifo fifo; mkdir many; cd many; seq 1 700 | xargs touch")
    python = alice.call("list_files", sandbox=label, pattern="**/*.py").rest
    assert [line.split()[-1] for line in python.split("\n") if line] == ["src/new.py", "src/deep/mid.py", "src/old.py"]
    top = alice.call("list_files", sandbox=label).rest
    assert "folder  src/" in top and "link or device  link" in top and ".hidden/" in top
    many = alice.call("list_files", sandbox=label, path="many")
    assert "of many" in many.text and many.text.count("\n") < 210
    assert "Nothing matches" in alice.call("list_files", sandbox=label, pattern="*.zzz").text


def test_deleting(alice, label):
    alice.output(label, "mkdir -p d/e keep; touch d/e/f d/g keep/k; ln -s ../keep d/link")
    assert alice.call("delete_file", sandbox=label, path="d").is_error
    assert "with 4 entries in it" in alice.call("delete_file", sandbox=label, path="d", recursive=True).text
    assert alice.output(label, "ls; ls keep").split() == ["keep", "k"]
    gone = alice.call("delete_file", sandbox=label, path="kepp")
    assert gone.is_error and "There is no file" in gone.text


@pytest.mark.parametrize("path", ["link", "dir-link/new", "up/../../etc/new", "/etc/passwd", "proc-root/tmp/new", "fifo", "up",
                                  "x" * 256, "/".join(["d" * 200] * 21)])
def test_no_way_out_of_the_workspace(alice, shared_label, path):
    alice.run(shared_label, "ln -sf /etc/passwd link; ln -sfn /etc dir-link; mkdir -p up; rm -f fifo; mkfifo fifo; "
                            "ln -sfn /proc/self/root proc-root; cp /etc/passwd /tmp/before")
    for tool, more in (("write_file", {"content": "evil"}), ("read_file", {}),
                       ("edit_file", {"old_text": "root", "new_text": "evil"})):
        result = alice.call(tool, sandbox=shared_label, path=path, **more)
        assert result.is_error and "root:" not in result.text, (tool, result)
    assert alice.output(shared_label, "cmp /etc/passwd /tmp/before; ls /tmp/new /etc/new 2>&1 | grep -c 'No such'").split() == ["2"]


@pytest.mark.parametrize("name", ["new\nline", "q'u\"o`te", "100%", "a\u202eb", "漢字" * 42, "-rf", "$(touch pwned)", "x" * 255])
def test_names_of_any_kind(alice, shared_label, name):
    assert not alice.call("write_file", sandbox=shared_label, path=f"names/{name}", content="here").is_error
    assert text_of(alice.call("read_file", sandbox=shared_label, path=f"names/{name}")) == "here"
    assert alice.output(shared_label, "ls -A names | wc -l; cat names/*").split()[-1] == "here"
    assert not alice.call("delete_file", sandbox=shared_label, path=f"names/{name}").is_error
    assert alice.output(shared_label, "ls -A names | wc -l").strip() == "0"


def test_the_shell_that_waits_is_none_that_began_before_a_write(alice, label):
    """Its start-up files may be ones that the write changed: here by a link of the sandbox's own."""
    alice.output(label, "ln -sf /workspace/profile /root/.bash_profile")
    alice.output(label, "true")
    alice.call("write_file", sandbox=label, path="profile", content="export FROM_OUTSIDE=1\n")
    assert alice.output(label, "echo ${FROM_OUTSIDE:-0}").strip() == "1"
    alice.call("delete_file", sandbox=label, path="profile")
    assert alice.output(label, "echo ${FROM_OUTSIDE:-0}").strip() == "0"


def test_every_users_files_are_its_files_whatever_the_mode(alice, label):
    """Made by root, by a user of its own and by a number without a name, each for its owner alone: to every way in and out."""
    alice.output(label, "useradd -m ann; mkdir d; for who in 0 $(id -u ann) 54321; do printf \"of $who\\n\" >d/$who.txt; "
                        "chown $who:$who d/$who.txt; done; chmod 600 d/*; chown 54321 d; chmod 700 d")
    owners = alice.output(label, "ls d").replace(".txt", "").split()
    assert len(owners) == 3
    assert all(f"{who}.txt" in alice.call("list_files", sandbox=label, path="d").text for who in owners)
    archive = link_in(alice.call("present_file", sandbox=label, path="d", format="tar"))
    with tarfile.open(fileobj=io.BytesIO(fetch(alice, archive).body)) as tar:
        assert sorted(member.name for member in tar if member.isfile()) == sorted(f"{who}.txt" for who in owners)
    for who in owners:
        path, text = f"d/{who}.txt", f"of {who}\n"
        assert text_of(alice.call("read_file", sandbox=label, path=path)) == text
        assert fetch(alice, link_in(alice.call("present_file", sandbox=label, path=path))).body.decode() == text
        assert not alice.call("edit_file", sandbox=label, path=path, old_text="of", new_text="still of").is_error
        assert alice.output(label, f"cat {path}; stat -c '%u %a' {path}").split() == ["still", "of", who, who, "600"]
        assert not alice.call("delete_file", sandbox=label, path=path).is_error
    assert alice.output(label, "ls -A d") == ""


def test_nobody_elses_files_are_reached(alice, bob, label):
    alice.call("write_file", sandbox=label, path="f", content="hers")
    assert bob.call("read_file", sandbox=label, path="f").is_error
    bob.call("write_file", sandbox=label, path="f", content="his")
    assert text_of(alice.call("read_file", sandbox=label, path="f")) == "hers"


def test_no_leftovers_are_seen(alice, label):
    for _ in range(3):
        alice.call("write_file", sandbox=label, path="f", content="x" * 100000)
    assert alice.output(label, "ls -A").split() == ["f"]


def test_files_are_resources_too(either_era, label):
    either_era.output(label, "mkdir d; printf 'x\\ny' >'d/a b.txt'; printf '\\0\\377' >z.bin")
    page, uris = either_era.request("resources/list")["result"], []
    uris += [resource["uri"] for resource in page["resources"]]
    assert f"sandkeep://{label}/d/a%20b.txt" in uris and f"sandkeep://{label}/z.bin" in uris, uris
    templates = either_era.request("resources/templates/list")["result"]["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["sandkeep://{sandbox}/{+path}"]
    text = either_era.request("resources/read", {"uri": f"sandkeep://{label}/d/a%20b.txt"})["result"]["contents"][0]
    assert text["text"] == "x\ny"
    blob = either_era.request("resources/read", {"uri": f"sandkeep://{label}/z.bin"})["result"]["contents"][0]
    assert base64.b64decode(blob["blob"]) == b"\0\xff"
    assert "error" in either_era.request("resources/read", {"uri": f"sandkeep://{label}/../etc/passwd"})

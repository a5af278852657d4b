"""remove_sandbox: processes and packages go, files only if told; and what is gone never comes back by an old link."""

import concurrent.futures
import urllib.parse

from mcp_client import McpClient
from stack import wait_for
from test_files import fetch, link_in
from test_uploads import open_upload, put


def test_its_files_stay_and_the_rest_goes(stack, alice, label):
    alice.output(label, "echo kept >f.txt; echo gone >/opt/packages")
    link = link_in(alice.call("present_file", sandbox=label, path="f.txt"))
    containers = len(stack.containers())
    told = alice.call("remove_sandbox", sandbox=label)
    assert not told.is_error and "what was installed is gone" in told.text and "are kept" in told.text, told
    assert len(stack.containers()) < containers
    assert fetch(alice, link).body == b"kept\n"
    assert "only /workspace left" in alice.call("remove_sandbox", sandbox=label).text
    again = alice.run(label, "cat f.txt; ls /opt/packages")
    assert "[rebuilt]" in again.first_line and again.output.startswith("kept\n") and "No such file" in again.output, again
    assert fetch(alice, link).body == b"kept\n"


def test_an_old_link_never_serves_the_labels_next_files(stack, alice, label):
    alice.output(label, "echo first >f.txt")
    volumes = len(stack.volumes())
    link = link_in(alice.call("present_file", sandbox=label, path="f.txt"))
    assert fetch(alice, link).status == 200
    told = alice.call("remove_sandbox", sandbox=label, files=True)
    assert not told.is_error and "every link" in told.text, told
    assert len(stack.volumes()) < volumes
    assert fetch(alice, link).status == 404
    assert "nothing was removed" in alice.call("remove_sandbox", sandbox=label, files=True).text

    again = alice.run(label, "ls -A; echo second >f.txt")
    assert "[new]" in again.first_line and again.output == "", again
    assert fetch(alice, link).status == 404
    fresh = link_in(alice.call("present_file", sandbox=label, path="f.txt"))
    assert fresh != link and fetch(alice, fresh).body == b"second\n"


def test_an_upload_page_ends_with_the_files_that_it_was_for(alice, label):
    alice.output(label, "echo first >f.txt")
    name, url = open_upload(alice, label)
    assert put(alice, url, "one.txt", b"1").status == 201
    alice.call("remove_sandbox", sandbox=label, files=True)
    assert put(alice, url, "two.txt", b"2").status == 410
    assert "[new]" in alice.run(label, "true").first_line
    assert put(alice, url, "three.txt", b"3").status == 410
    page = alice.send("GET", urllib.parse.urlsplit(url).path)
    assert (page.status, b"over" in page.body) == (410, True)
    assert "over" in alice.call("wait_upload", sandbox=label, upload=name).text
    assert alice.output(label, "ls -A") == ""


def test_who_waits_for_a_command_in_it_is_told(stack, alice, label):
    started = alice.run(label, "echo begun; sleep 600", wait_seconds=0)
    assert "[running]" in started.first_line, started
    with McpClient(stack.url, stack.key) as other, concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(other.call, "wait_command", sandbox=label, wait_seconds=60)
        told = alice.call("remove_sandbox", sandbox=label)
        assert "1 command that ran in it was ended" in told.text, told
        assert "[cause removed]" in waiting.result(timeout=30).first_line


def test_nobody_removes_somebody_elses(stack, alice, bob, label):
    alice.output(label, "echo hers >f.txt")
    assert "nothing was removed" in bob.call("remove_sandbox", sandbox=label, files=True).text
    key = wait_for("her sandbox", lambda: [word for word in alice.call("sandbox_info", sandbox=label).text.split()
                                           if word.startswith(label[:24]) and len(word) > len(label)])[0]
    assert "nothing was removed" in bob.call("remove_sandbox", sandbox=key, files=True).text
    assert alice.output(label, "cat f.txt") == "hers\n"

"""Which sandbox a label reaches, what survives in it, and what never crosses from one to another."""

from stack import podman, wait_for


def hostname(client, label):
    return client.output(label, "cat /etc/hostname /proc/sys/kernel/hostname | sort -u")


def test_the_same_label_is_the_same_sandbox(alice, label):
    first = alice.run(label, "hostname")
    assert "[new]" in first.first_line
    again = alice.run(label, "hostname")
    assert again.output == first.output
    assert "[new]" not in again.first_line


def test_another_label_is_another_sandbox(alice, label):
    assert hostname(alice, label) != hostname(alice, label + "-b")


def test_spelling_does_not_make_a_new_sandbox(alice, label):
    here = hostname(alice, label)
    assert hostname(alice, label.upper().replace("-", " ")) == here


def test_two_principals_never_share_a_label(alice, bob, label):
    alice.output(label, "echo hers >/workspace/mine")
    result = bob.run(label, "ls /workspace")
    assert "[new]" in result.first_line and result.output == ""
    assert hostname(alice, label) != hostname(bob, label)


def test_files_survive_a_container_that_was_removed_behind_our_back(stack, alice, label):
    before = set(stack.containers())
    alice.output(label, "echo kept >/workspace/file; echo lost >/tmp/file")
    (mine,) = set(stack.containers()) - before
    podman("rm", "-f", "-t", "0", mine)

    result = alice.run(label, "cat /workspace/file; cat /tmp/file")
    assert "[rebuilt]" in result.first_line, result
    assert result.output.startswith("kept\n") and "No such file" in result.output


def test_a_container_that_is_killed_under_a_command_is_said(stack, alice, label):
    import threading
    before = set(stack.containers())
    alice.run(label, "true")
    (mine,) = set(stack.containers()) - before
    results = []
    from mcp_client import McpClient

    def run():
        with McpClient(stack.url, stack.key) as other:
            results.append(other.run(label, "touch /workspace/up; sleep 100"))
    thread = threading.Thread(target=run)
    thread.start()
    wait_for("the command to run", lambda: alice.run(label, "test -e /workspace/up").exit_code == 0)
    podman("rm", "-f", "-t", "0", mine)
    thread.join(30)
    assert results and "[cause removed]" in results[0].first_line, results
    assert alice.run(label, "true").exit_code == 0


def test_labels_that_name_nothing_are_refused_with_a_way_out(alice):
    for bad in ("", "x" * 65, "!!!", "---"):
        result = alice.run(bad, "true")
        assert result.is_error and "label" in result.text, bad
    missing = alice.call("run_command", command="true")
    assert missing.is_error
    assert "two" in missing.text and "digits" in missing.text, "says how to mint one"


def test_a_missing_label_names_this_principals_own(alice, bob, label):
    alice.run(label, "true")
    assert label in alice.call("run_command", command="true").text
    assert label not in bob.call("run_command", command="true").text


def test_sandbox_info_needs_no_label_and_hides_credentials(alice, label):
    alice.run(label, "true")
    text = alice.call("sandbox_info").text
    assert label in text and "<redacted>" in text
    assert alice.key not in text

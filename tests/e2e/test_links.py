"""Links live as long as they say: keys rotate, links are revoked, beside a running gateway."""

import subprocess

import pytest
from mcp_client import McpClient
from stack import Stack, podman, wait_for
from test_files import fetch, link_in


@pytest.fixture(scope="module")
def own():
    """A stack of its own: rotating ends everybody's links."""
    with Stack() as stack, McpClient(stack.url, stack.key) as client:
        client.output("links", "echo 0123456789 >f.txt")
        yield stack, client


def new_link(client):
    path = link_in(client.call("present_file", sandbox="links", path="f.txt"))
    assert fetch(client, path).status == 200
    return path


def test_a_rotation_leaves_links_their_overlap_and_now_none(own):
    stack, client = own
    before = new_link(client)
    stack.links("rotate")
    after = new_link(client)
    assert fetch(client, before).status == 200
    stack.links("rotate", "--now")
    wait_for("both to end", lambda: {fetch(client, before).status, fetch(client, after).status} == {404}, 10)
    new_link(client)


def test_one_link_or_all_of_a_name_are_revoked(own):
    stack, client = own
    one = new_link(client)
    # Links of one second are one link.
    other = wait_for("another link", lambda: (link := new_link(client)) != one and link, 10)
    stack.links("revoke", f"http://anything{one}")
    wait_for("it to end", lambda: fetch(client, one).status == 404, 10)
    assert fetch(client, other).status == 200
    stack.links("revoke", "alice")
    wait_for("all to end", lambda: fetch(client, other).status == 404, 10)
    new_link(client)


def test_a_wrong_word_is_told_how(own):
    stack, _ = own
    with pytest.raises(subprocess.CalledProcessError):
        stack.links("revoke", "nobody")


def test_links_work_whatever_state_the_sandbox_is_in(own):
    stack, client = own
    path = new_link(client)
    podman("rm", "-f", "-t", "0", *stack.containers())
    assert fetch(client, path).body == b"0123456789\n"
